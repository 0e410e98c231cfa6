"""Pages of series, feeds and their sources."""
