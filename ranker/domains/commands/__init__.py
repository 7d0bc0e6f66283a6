"""The commands of this room, which an entry point of `rank_models.commands` names."""

COMMANDS = {
    "compare": "Say who leads over many sets, or what changed.",
    "shift": "Say how far new domains are from the training data.",
}
"""Command -> its line in the list. `NAME.py` beside this file defines NAME."""
