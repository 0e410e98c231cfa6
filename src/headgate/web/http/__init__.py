"""The HTTP server: static files, headers, limits and health."""
