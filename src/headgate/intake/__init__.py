"""From platforms to sightings: which streams to read, reading them, and listening to them."""
