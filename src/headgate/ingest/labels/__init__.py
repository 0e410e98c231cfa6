"""Labelling items by rules, in the background."""
