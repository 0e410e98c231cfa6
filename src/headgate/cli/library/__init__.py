"""`headgate library`."""
