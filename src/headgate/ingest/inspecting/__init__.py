"""Looks inside stored files: what an archive holds, how many volumes it has, and how the item looks."""
