"""From plans to platforms: reminders, their runs, and the sending of every message."""
