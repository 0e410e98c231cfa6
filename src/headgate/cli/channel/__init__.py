"""`headgate channel`, `explain` and `miss`."""
