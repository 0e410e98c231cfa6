"""`headgate channel`, `explain` and `failed`."""
