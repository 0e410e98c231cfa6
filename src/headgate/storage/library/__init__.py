"""What is known of stored files: what is inside, and how an item looks."""
