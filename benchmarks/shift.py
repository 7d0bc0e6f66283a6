"""What `rank-models shift` costs: `python -m benchmarks.shift [TEXTS]`, and with an encoder `... --encoder DIR FILE`.

Without an encoder: two sets of made-up texts, 100,000 each, against the bare imports of what it uses, each in a process
of its own, one thread. With one: 20,000 texts of a file (the first column of each line), against sentence-transformers
with the same folder, in turn, in one process, one thread.
"""

from __future__ import annotations

import gzip
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

IMPORTS = "import numpy, scipy.sparse, sklearn.decomposition, sklearn.feature_extraction.text, sklearn.linear_model"
MOST_TIMES, MOST_AGAINST = 60.0, 1.3


def write(path: Path, texts: int, seed: int, first: int) -> None:
    """Texts of 4 to 40 words, which are distributed as words are (Zipf), from a word on."""
    rng = np.random.default_rng(seed)
    with path.open("w", encoding="utf-8") as file:
        file.write("text\n")
        for length in rng.integers(4, 41, size=texts):
            file.write(" ".join(f"w{first + n}" for n in rng.zipf(1.4, size=length) % 50_000) + "\n")


def seconds(*command: str) -> float:
    """Return the time of a process, with one thread."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *command], check=True, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    return time.perf_counter() - began


def words(texts: int) -> None:
    """Everything but an encoder."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{name}.csv") for name in ("train", "new")]
        for n, file in enumerate(files):
            write(file, texts, n, 3 * n)
        bare = min(seconds("-c", IMPORTS) for _ in range(3))
        times = seconds("-m", "ranker", "shift", *map(str, files), "--quiet")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    print(f"bare imports {bare:.2f} s; 2 x {texts:,} texts {times:.1f} s")
    print(f"{times / bare:.1f} times the bare imports (at most {MOST_TIMES:g})")
    print(f"peak memory {peak:.2f} GB")


def encoder(folder: str, file: str, count: int) -> None:
    """An encoder, against sentence-transformers."""
    import torch
    from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found, unused-ignore]

    from ranker.sources.hf.sentences import Encoder

    torch.set_num_threads(1)
    with gzip.open(file, "rt", encoding="utf-8") if file.endswith(".gz") else open(file, encoding="utf-8") as lines:
        texts = list(dict.fromkeys(line.split("\t")[0].strip() for line in lines))
    while len(texts) < count:  # no text twice: ours would be computed once
        texts += [f"{text} {len(texts)}" for text in texts]
    ours, theirs = Encoder.load(folder), SentenceTransformer(folder, device="cpu")
    ours.vectors(texts[:200]), theirs.encode(texts[:200], show_progress_bar=False)
    began = time.perf_counter()
    vectors = ours.vectors(texts[:count])
    middle = time.perf_counter()
    expected = theirs.encode(texts[:count], show_progress_bar=False)
    ended = time.perf_counter()
    unit = [matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in (vectors, expected)]
    print(f"{count:,} texts: ours {middle - began:.1f} s, sentence-transformers {ended - middle:.1f} s")
    print(f"{(middle - began) / (ended - middle):.2f} times theirs (at most {MOST_AGAINST:g})")
    print(f"the greatest difference of vectors of length 1: {np.abs(unit[0] - unit[1]).max():.1e}")


def main(arguments: list[str]) -> None:
    """Parse the arguments, and measure."""
    if arguments[:1] == ["--encoder"]:
        encoder(arguments[1], arguments[2], int(arguments[3]) if len(arguments) > 3 else 20_000)
    else:
        words(int(arguments[0]) if arguments else 100_000)


if __name__ == "__main__":
    main(sys.argv[1:])
