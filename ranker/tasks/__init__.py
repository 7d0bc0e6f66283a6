"""Tasks: types of answers, and their scores."""
