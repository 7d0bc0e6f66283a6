"""Published tables of numbers, and the answers that users' commands give for them."""

import json
import tempfile
from pathlib import Path

import pytest

from ranker.cli import main

TABLES = Path(__file__).parents[3] / "docs" / "results" / "tables"


def answered(command, *arguments):
    """Return the JSON that a command writes; names of published tables stand for their files."""
    files = {file.name: str(file) for file in TABLES.iterdir()}
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "answer.json")
        with pytest.raises(SystemExit) as stop:
            main([command, *(files.get(argument, argument) for argument in arguments), "-o", str(output)])
        assert not stop.value.code
        return json.loads(output.read_text(encoding="utf-8"))
