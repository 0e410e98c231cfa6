"""What leaves: reminders, their runs, and the one sender of each account."""
