"""Groups of items: who is in them, what they are called, and what shows them."""
