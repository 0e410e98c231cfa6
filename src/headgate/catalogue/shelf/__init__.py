"""The library as people see it: rows, groups, views."""
