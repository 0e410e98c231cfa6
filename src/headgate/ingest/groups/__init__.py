"""Applying the rules that group items to what is there."""
