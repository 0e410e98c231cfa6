"""Headgate follows channels, catches everything once, and sends at a safe pace."""

__version__ = "0.1.0"
