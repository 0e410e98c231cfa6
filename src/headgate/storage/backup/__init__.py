"""Backups: making one, its file, and restoring it."""
