"""The tables of users, sessions and tokens."""
