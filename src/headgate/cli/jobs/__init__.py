"""`headgate jobs`."""
