"""`headgate reminder` and `target`."""
