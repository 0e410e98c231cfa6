"""The tables of reminders: plans, targets and media."""
