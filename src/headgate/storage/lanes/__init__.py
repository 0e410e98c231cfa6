"""The tables of lanes, and what accounts cost."""
