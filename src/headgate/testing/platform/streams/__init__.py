"""The messages of the simulated platform: storing, reading and delivering them."""
