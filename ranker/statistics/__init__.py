"""Rankings of models from scores, and from labels of a pool, with their uncertainty: arrays in, arrays out."""
