"""`headgate run`."""
