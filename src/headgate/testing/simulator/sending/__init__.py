"""Simulations of sends, and their checks."""
