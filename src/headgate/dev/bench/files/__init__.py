"""Benchmarks of stored files."""
