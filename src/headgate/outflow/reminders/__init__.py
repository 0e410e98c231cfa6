"""Reminders: plans, when they send, and the runs that they make."""
