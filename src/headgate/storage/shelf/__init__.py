"""The library as it is shown: groups, and one row for each thing, derived from items."""
