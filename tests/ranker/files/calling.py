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
    """End of a call: its status (None for an unforeseen error), stderr or that error, and its JSON ({} for none)."""

    status: int | None
    message: str
    json: dict[str, Any]

    @property
    def refused(self) -> bool:
        """True if the call ended in one line that says why, or in a line for each model that is left out.

        Below a question stand the ways to read the file, which are indented.
        """
        *omissions, last = [line for line in self.message.splitlines() if not line.startswith("  ")] or [""]
        named_models = all(" is left out: " in line for line in omissions)
        stated = last.startswith("rank-models: ") or (self.status == 1 and " is left out: " in last)
        return self.status in (1, 2) and named_models and stated

    @property
    def failed(self) -> set[str]:
        """The models that are left out, and named."""
        return {*self.json["header"]["failures"]} if self.json else set()

    @property
    def accuracies(self) -> dict[str, float]:
        """Model -> its accuracy on the labelled rows."""
        return {model["name"]: model["outcome"] for model in self.json["decision"]["models"]}

    @property
    def paired(self) -> list[int]:
        """Number of rows on which each two models were compared."""
        return [pair["rows"] for pair in self.json["decision"]["versus"]]


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
    saved = output is not None and output.exists()
    return Ended(status, err.getvalue(), json.loads(output.read_text(encoding="utf-8")) if saved else {})
