"""Feeds and series: polling, sweeping, and accepting entries."""
