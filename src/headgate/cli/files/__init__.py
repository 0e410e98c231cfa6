"""Commands for stored files: verify, back up, restore."""
