"""Groups of items: what people do with them, and what they show."""
