"""Creators and tags: rules, what they read, what people said, and what is yet to be labelled."""
