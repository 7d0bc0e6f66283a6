"""`rank-models label` with a pool of more rows than models are asked about first."""

import io
import subprocess
import sys

import pytest

from ranker import load_suite
from ranker.runtime import worker

ROWS, FIRST = 1_050, 1_000
WHO = ("doctor", "actor", "judge", "lawyer", "senator", "artist", "author")
TEXTS = [
    (f"The {WHO[n % 7]} near the {WHO[n // 7 % 7]}s saw {n} birds.", f"The {WHO[n // 7 % 7]}s saw {n} birds.")
    for n in range(ROWS)
]
MODELS = [str(load_suite(["hans-sub-mini"]).models[index].source.path) for index in (0, -1)]
SAID = f"the models first predict {FIRST} of the {ROWS} rows of the pool"


@pytest.fixture
def calls(monkeypatch):
    """Record the texts of each order from now on, one for each model that was loaded."""
    calls = []
    answered = worker.answer_blocks
    monkeypatch.setattr(
        worker, "answer_blocks", lambda model, name, order, advance: (
            calls.append([row.segments for row in order.examples]) or answered(model, name, order, advance)
        ),
    )  # fmt: skip
    return calls


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A pool, in a folder that programs run in."""
    (tmp_path / "pool.csv").write_text("premise,hypothesis\n" + "".join(f"{a},{b}\n" for a, b in TEXTS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(rank_models, monkeypatch):
    """The program with two embedded models, in this process: stdout and stderr."""

    def called(*arguments, store="store", keys=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{key}\n" for key in keys)))
        status, out, err = rank_models(
            *arguments, "--models", *MODELS, "--store", store, "--workers", "1", "--no-isolate"
        )
        assert not status
        return out, err

    return called


def label(run, output="labels.csv", keys="1q", **options):
    """A session: the texts that it showed, and what it said on stderr."""
    out, err = run("label", "--pool", "pool.csv", "-o", output, keys=keys, **options)
    return [text for text in TEXTS if all(segment in out for segment in text)], err


@pytest.mark.more
def test_models_are_asked_about_a_thousand_rows_first(folder, run, calls):
    """Seeded ones, the same for all models and in every store; in the next session none, and no model is loaded."""
    first, err = label(run)
    assert err.startswith(SAID)
    assert [len(rows) for rows in calls] == [FIRST, FIRST]
    assert calls[0] == calls[1]
    assert set(calls[0]) < set(TEXTS)
    assert calls[0] != TEXTS[:FIRST]
    assert len(first) == 2
    assert set(first) <= set(calls[0])
    before = list(calls)
    calls.clear()
    again, err = label(run, output="other.csv", store="other")
    assert (again, err.startswith(SAID)) == (first, True)  # a busy machine adds a line with the seconds that it takes
    assert calls == before
    calls.clear()
    going_on, err = label(run, keys="q")
    assert going_on == first[1:]  # it goes on with the row that waits
    assert err.startswith(SAID)
    assert calls == []
    code = "import sys\nfrom ranker.cli import main\ntry: main()\nfinally: assert 'torch' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", code, "label", "--pool", "pool.csv", "-o", "labels.csv", "--models", *MODELS, "--store",
         "store"], input="q\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, first[1][0] in done.stdout) == (0, True), done.stderr


@pytest.mark.more
def test_once_all_rows_are_predicted_all_are_used(folder, run, calls):
    """Rows that others have labelled are always among them, and answers that were given before stay."""
    label(run)
    remaining = min({*TEXTS} - {*calls[0]})
    with (folder / "others.csv").open("w") as file:
        file.write("premise,hypothesis,label\n" + ",".join(remaining) + ",entailment\n")
    calls.clear()
    _, err = run("label", "--pool", "pool.csv", "-o", "labels.csv", "--labelled", "others.csv", keys="q")
    assert err.startswith(f"the models first predict {FIRST + 1} of the {ROWS} rows")
    assert calls == [[remaining], [remaining]]
    calls.clear()
    run("run", "--data", "others.csv", "--pool", "pool.csv", "--attribution", "none")
    assert [len(rows) for rows in calls] == [ROWS - FIRST - 1] * 2
    calls.clear()
    _, err = label(run, keys="2q")
    assert (err, calls) == ("", [])
    assert len((folder / "labels.csv").read_text().splitlines()) == 3
