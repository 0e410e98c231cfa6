"""Channels: discovery, settings, and what people ask for."""
