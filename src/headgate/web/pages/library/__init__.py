"""The library: the list, what is done with its rows, and the views that people saved."""
