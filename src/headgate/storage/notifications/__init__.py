"""The tables of notifications: follows, what users were told, and pushes."""
