"""Reminders, targets and runs in the API."""
