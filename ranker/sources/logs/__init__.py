"""Logs of lm-evaluation-harness and Inspect."""
