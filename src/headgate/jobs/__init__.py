"""Durable jobs: wake-ups with a kind and a key, carried out once, whatever crashes on the way."""
