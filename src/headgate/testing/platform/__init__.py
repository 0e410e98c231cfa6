"""The simulated platform."""
