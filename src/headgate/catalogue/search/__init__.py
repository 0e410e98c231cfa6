"""Search in the library: indexing, finding, and verifying the index."""
