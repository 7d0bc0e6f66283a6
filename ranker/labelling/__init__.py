"""Labelling rows one after the other, as a class without input and output."""
