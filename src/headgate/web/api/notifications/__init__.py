"""Notifications, follows and push addresses in the API."""
