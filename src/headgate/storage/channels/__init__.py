"""The tables of channels: following them, their settings, and what people ask for."""
