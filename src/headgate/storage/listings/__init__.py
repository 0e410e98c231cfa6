"""The tables of listings: feeds and series, their hosts, and their chapters."""
