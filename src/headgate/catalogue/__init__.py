"""The library that people browse: items, groups, series and their search."""
