"""Words for people: what reasons and states are called."""
