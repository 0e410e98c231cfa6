"""From what a person types to the thing that is meant."""
