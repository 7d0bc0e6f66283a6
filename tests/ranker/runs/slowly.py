"""`rank-models` with networks that need some time for each row, and note in a file, argv[1], how many they ran."""

import os
import sys
import time

from transformers import PreTrainedModel

from ranker.cli import main
from ranker.sources.hf.networks import LoadedNetwork

SECONDS_A_ROW = 0.2

WINDOW = 200
"""Tokens of some seconds, as of a network that is as slow as this."""


def slow_down(file: str) -> None:
    """Make each forward pass last as long as its rows demand, and note its rows."""
    inner, call, depth = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), PreTrainedModel.__call__, [0]

    def slow(network, *values, **options):
        depth[0] += 1
        try:
            output = call(network, *values, **options)
        finally:
            depth[0] -= 1
        if not depth[0]:  # a network may be made of several
            inputs = [*values, *(value for value in options.values() if hasattr(value, "shape"))]
            time.sleep(SECONDS_A_ROW * len(inputs[0]))
            os.write(inner, f"{time.monotonic()} {len(inputs[0])}\n".encode())
        return output

    PreTrainedModel.__call__ = slow
    LoadedNetwork.window = lambda network, passes=1: WINDOW


if __name__ == "__main__":
    slow_down(sys.argv[1])
    main(sys.argv[2:])
