"""The program, called in this process with files: what it said, and the JSON that it wrote."""

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ranker.cli import main


@dataclass(frozen=True)
class Ended:
    """How a call ended.

    Attributes:
        status: the exit status; None where it ended in an error that nobody had foreseen.
        said: what it wrote to stderr, or that error.
        found: the JSON; {} where none was written.
    """

    status: int | None
    said: str
    found: dict[str, Any]

    @property
    def refused(self) -> bool:
        """Whether it ended in one line that says why; or in a line for each model that is left out."""
        *others, last = self.said.splitlines() or [""]
        named = all(" is left out: " in line for line in others)
        known = last.startswith("rank-models: ") or (self.status == 1 and " is left out: " in last)
        return self.status in (1, 2) and named and known

    @property
    def failed(self) -> set[str]:
        """The models that are left out, and named."""
        return {*self.found["header"]["failures"]} if self.found else set()

    @property
    def accuracies(self) -> dict[str, float]:
        """Model -> its accuracy on the labelled rows."""
        return {model["name"]: model["outcome"] for model in self.found["decision"]["models"]}

    @property
    def paired(self) -> list[int]:
        """How many rows each two models were compared on."""
        return [pair["rows"] for pair in self.found["decision"]["versus"]]


def called(*arguments: object, output: Path | None = None) -> Ended:
    """Call the program; with `output` it is asked for JSON there."""
    typed = [str(argument) for argument in arguments]
    if output is not None:
        output.unlink(missing_ok=True)
        typed += ["--format", "json", "-o", str(output)]
    status: int | None = None
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            main(typed)
        except SystemExit as stop:
            status = stop.code or 0 if isinstance(stop.code, int | None) else 1
        except Exception as error:  # a traceback, which is a fault wherever it comes from
            err.write(f"{type(error).__name__}: {str(error)[:200]}\n")
    there = output is not None and output.exists()
    return Ended(status, err.getvalue(), json.loads(output.read_text(encoding="utf-8")) if there else {})
