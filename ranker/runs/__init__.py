"""The flow, from models and rows to an answer: a file a step, and one for each question."""
