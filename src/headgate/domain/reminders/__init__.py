"""Rules of reminders: when they send, how long that takes, and how runs end."""
