"""The job that writes the index of search."""
