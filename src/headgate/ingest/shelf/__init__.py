"""Rows of the library that a job keeps up to date."""
