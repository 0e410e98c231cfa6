"""Frozen values and pure rules. Nothing here waits, reads the clock or touches a disk."""
