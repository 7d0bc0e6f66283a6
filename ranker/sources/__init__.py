"""Sources of the answers of models."""
