"""`headgate follow`, `notifications` and `push`."""
