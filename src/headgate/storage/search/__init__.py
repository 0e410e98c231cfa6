"""The index of search: what it is made of, its documents and words, and finding in it."""
