"""Simulations of reading streams, and their checks."""
