"""The readers under bytes that atheris finds by what they reach in the code; `test_fuzz.py` has the same promise.

    python tests/ranker/atheris_readers.py card -runs=20000

The first argument is a reader of `test_fuzz.READERS`, the others are libFuzzer's. It starts from the files that were
faults once, and stops at the first that is neither a result nor one line.
"""

import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[2]
# where pytest finds what tests share
sys.path += [
    str(ROOT),
    *(
        str(ROOT / "tests" / place)
        for place in ("", "ranker/report", "ranker/runtime", "ranker/scoring", "ranker/sources/logs")
    ),
]

with atheris.instrument_imports(include=["ranker", "experiments", "factors"]):
    import test_fuzz


def main() -> None:
    """Fuzz one reader."""
    reader = test_fuzz.READERS[sys.argv[1]]
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        for number, (name, content) in enumerate(test_fuzz.FOUND):
            if name == sys.argv[1]:
                (corpus / str(number)).write_bytes(content)

        def once(fuzzed: bytes) -> None:
            test_fuzz.holds(reader, Path(folder) / "input", fuzzed)

        atheris.Setup([sys.argv[0], *sys.argv[2:], str(corpus)], once)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
