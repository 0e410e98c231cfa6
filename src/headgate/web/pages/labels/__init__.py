"""Pages of creators and tags."""
