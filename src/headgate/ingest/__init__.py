"""From a fetched file to a stored, understood thing."""
