"""`headgate account`."""
