"""Analyses over several sets of rows: how far they lie apart, and who leads over many of them."""
