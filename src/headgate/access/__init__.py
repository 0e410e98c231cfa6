"""Who may use Headgate: users, passwords, sessions and tokens."""
