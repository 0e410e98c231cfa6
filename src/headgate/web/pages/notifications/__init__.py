"""Pages of notifications, follows and push addresses."""
