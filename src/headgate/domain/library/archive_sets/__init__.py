"""Volumes of one archive as one set: which names mean volumes, which belong together, and what is missing."""
