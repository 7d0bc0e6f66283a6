"""Analyses over several sets of rows."""
"""Analyses over several domains: how far they lie apart, and who leads over many of them."""
