"""Fetching: what settings keep is downloaded, verified and stored once."""
