"""`headgate series`, `feed` and `hosts`."""
