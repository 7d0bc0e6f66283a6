"""Checkpoints in the formats of Hugging Face: folders, hub ids, PEFT adapters."""
