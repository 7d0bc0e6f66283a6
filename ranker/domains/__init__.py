"""Analyses over several sets of rows."""
