"""Benchmarks of the product beside alternatives: ratios, measured side by side in one process."""
