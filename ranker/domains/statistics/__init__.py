"""Statistics of this room: arrays in, arrays out."""
