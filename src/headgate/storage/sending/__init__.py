"""The tables of runs: making them, sending them, and what people decide about them."""
