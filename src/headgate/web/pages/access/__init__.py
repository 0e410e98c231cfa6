"""Pages to sign in, and of the user's own account."""
