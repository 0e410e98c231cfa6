"""Accounts on platforms: signing them in, what they see, how fast they send."""
