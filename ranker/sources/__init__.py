"""Where the answers of models come from."""
