"""Series, feeds and their sources in the API."""
