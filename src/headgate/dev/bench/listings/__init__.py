"""Benchmarks of polling listings and feeds."""
