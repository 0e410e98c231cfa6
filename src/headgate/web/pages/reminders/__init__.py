"""Pages of reminders and runs."""
