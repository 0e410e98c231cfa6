"""Solid shapes of real complexity, and the files that people print from."""
