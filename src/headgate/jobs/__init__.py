"""Durable jobs: wake-ups with a kind and a key, carried out once, whoever dies on the way."""
