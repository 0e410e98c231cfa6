"""Rules of streams: when to read them, what a reading proves, and what is kept."""
