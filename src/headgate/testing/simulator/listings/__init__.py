"""Simulations of listings, and their checks."""
