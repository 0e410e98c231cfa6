"""Rules of notifications: quiet hours, digests, and addresses."""
