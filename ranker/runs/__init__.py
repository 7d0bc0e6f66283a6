"""Steps from models and rows to an answer, one file each, and one file for each question."""
