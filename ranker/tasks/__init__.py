"""What an answer is, and how good it is."""
