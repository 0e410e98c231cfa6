"""What the simulated world is made of: texts, pictures and archives."""
