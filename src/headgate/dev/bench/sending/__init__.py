"""Benchmarks of sending."""
