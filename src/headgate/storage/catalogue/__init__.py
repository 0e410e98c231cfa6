"""The tables of the library: items and where they were seen."""
