"""Rules of feeds and series: entries, chapters, and when to poll."""
