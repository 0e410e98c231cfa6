"""Hands out stored content: a file, a whole item as a zip, a file from inside an archive."""
