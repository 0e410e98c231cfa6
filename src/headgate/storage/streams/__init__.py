"""The tables of streams: when each is checked, how far it was read, and what failed."""
