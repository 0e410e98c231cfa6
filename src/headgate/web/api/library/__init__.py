"""The library: what is on the shelf, and saved views of it."""
