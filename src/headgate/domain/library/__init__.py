"""Rules of the library: which files are one thing, when it is complete, and what it looks like."""
