"""What every kind of source is told: how models are loaded and run."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from typing import Literal

from ranker.errors import UsageError


@dataclass(frozen=True)
class ModelOptions:
    """How models are loaded and run.

    Attributes:
        device: a torch device ("cpu", "cuda", "cuda:1", "mps").
        dtype: "float32", "bfloat16", or "auto": bfloat16 where the device has units for it, for backends that give
            nearly the same scores in it; IG does not within its tolerance.
        token_budget: tokens a batch; None takes what is fast on the device. It changes no number.
        trust_remote_code: the names of the models whose checkpoints may run code that they bring.
        allow_pickle: load weights that are not safetensors.
        label_map: for checkpoints whose labels have no names, and that bring no map of their own.
        workers: processes that run models side by side, or "auto": as many as there is work, cores and memory for. It
            changes the last digits of numbers.
            A script that asks for several begins its work under ``if __name__ == "__main__":``.

    Raises:
        UsageError: no worker.
    """

    device: str = "cpu"
    dtype: str = "float32"
    token_budget: int | None = None
    trust_remote_code: frozenset[str] = frozenset()
    allow_pickle: bool = False
    label_map: dict[str, str] | None = None
    workers: int | Literal["auto"] = 1

    def __post_init__(self) -> None:
        if self.workers != "auto" and self.workers < 1:
            raise UsageError(f"`--workers` must be at least 1 (got {self.workers})")

    def dtype_of(self, bfloat16: bool) -> str:
        """The number format of rows: "auto" is settled by the device, and by whether they are as good in bfloat16."""
        if self.dtype != "auto":
            return self.dtype
        from ranker.sources.hf.devices import resolve

        return resolve("auto", self.device) if bfloat16 else "float32"


def version(package: str) -> str | None:
    """A package's version, whatever device it was built for; None where it is not installed.

    Example:
        >>> version("torch") == metadata.version("torch").partition("+")[0], version("no-such-package")
        (True, None)
    """
    try:
        return metadata.version(package).partition("+")[0]
    except metadata.PackageNotFoundError:
        return None
