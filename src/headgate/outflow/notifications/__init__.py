"""Notifications: what users follow, their list, and pushes."""
