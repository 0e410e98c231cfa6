"""Benchmarks of reading streams."""
