"""Records that are saved and shown; nothing here computes them."""
