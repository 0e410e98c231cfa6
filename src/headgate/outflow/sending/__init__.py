"""Sending: the one sender of each account, and what people do to runs."""
