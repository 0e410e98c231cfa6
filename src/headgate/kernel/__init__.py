"""The ground everything stands on: clock, randomness, ids, settings, logs, metrics."""
