"""Readers of archive formats; only the subprocesses of the sandbox import these."""
