"""Results of this room, as records."""
