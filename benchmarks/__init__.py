"""What the product takes, next to how it is done without it: ratios, measured side by side in one process."""
