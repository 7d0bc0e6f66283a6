"""Obtain, store, resample, report: from checkpoints and examples to a ranking."""
