"""Stored content: spools, stores of objects, blobs by SHA-256, their collector, and room on the disk."""
