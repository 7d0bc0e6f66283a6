"""Sets of texts read, split, and put to models."""
