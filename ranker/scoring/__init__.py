"""Factors to a table, and a table to what it says of methods and of models."""
