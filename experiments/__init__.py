"""Make suites of models, and reproduce the published tables with them."""
