"""From plans to platforms: reminders, their runs, and the one sender of each account."""
