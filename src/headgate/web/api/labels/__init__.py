"""Creators and tags: what people say of items, names in use, and the rules that read them."""
