"""A pool of warm subprocesses with limits, for code that reads what strangers made."""
