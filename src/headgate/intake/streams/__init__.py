"""Streams: checking heads, reading pages, listening, and storing what was seen."""
