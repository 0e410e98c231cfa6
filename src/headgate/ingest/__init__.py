"""From sightings to items of the library."""
