"""`rank-models label --task label-sets`: people tick the labels of a row."""

import json
import re
import shlex

import numpy as np
import pytest
from test_label import kept, plain
from test_label_web import served_in

ROWS, LABELS = 30, ("anger", "joy", "love", "sadness")
MODELS = ("one.csv", "two.csv", "three.csv")
SETS = ("--task", "label-sets", "--separator", ";")
KEYS = dict(zip(LABELS, "1234", strict=True))


def write_sets(folder):
    """A pool, and the labels that three systems give, the first nearest to the truth; the truth of each row."""
    rng = np.random.default_rng(3)
    truth = {f"Row {n}": [label for label in LABELS if rng.random() < 0.4] for n in range(ROWS)}
    (folder / "pool.csv").write_text("id,text\n" + "".join(f"r{n},{text}\n" for n, text in enumerate(truth)))
    for name, wrong in zip(MODELS, (0.1, 0.3, 0.5), strict=True):
        predicted = [[label for label in LABELS if (label in has) != (rng.random() < wrong)] for has in truth.values()]
        lines = "".join(f"r{n},{';'.join(labels) or '[]'}\n" for n, labels in enumerate(predicted))
        (folder / name).write_text(f"id,prediction\n{lines}")
    return truth


@pytest.fixture
def folder(tmp_path):
    """A folder with these."""
    (tmp_path / "truth.json").write_text(json.dumps(write_sets(tmp_path)))
    return tmp_path


def ticked(folder, keys, *flags):
    """A session: exit status, stdout, stderr."""
    return plain(folder, keys, *SETS, *flags, models=MODELS)


ROW = re.compile(r"^Row \d+$", re.MULTILINE)


@pytest.mark.more
def test_boxes_are_ticked_by_keys(folder, monkeypatch, rank_models):
    """Each row has the labels that were ticked and not unticked, none too; the report reads the file."""
    truth = json.loads((folder / "truth.json").read_text())
    for _ in range(6):
        row = ROW.search(ticked(folder, ["q"], "--shortfall", "0")[1])[0]
        keys = [KEYS[label] for label in truth[row]]
        _, out, _ = ticked(folder, [*keys, "1", "1", "t", "q"], "--shortfall", "0")
        assert "[ ] 1 anger  [ ] 2 joy  [ ] 3 love  [ ] 4 sadness  t save" in out
        assert f"your answer: {json.dumps(truth[row])}" in out
    rows = kept(folder)
    assert {row["text"]: json.loads(row["label"]) for row in rows} == {row["text"]: truth[row["text"]] for row in rows}
    assert len(rows) == 6
    assert "[]" in {row["label"] for row in rows}
    (command,) = [line.removeprefix("report: ") for line in out.splitlines() if line.startswith("report: ")]
    monkeypatch.chdir(folder)
    status, output, err = rank_models(*shlex.split(command)[1:], "--format", "json")
    assert status == 0, err
    decision = json.loads(output)["decision"]
    assert len(decision["rows"]) == 6
    assert decision["models"][0]["name"] == out.split("(P(best)")[0].split()[-1]


def test_undo_reveal_and_no_boxes(folder):
    """A row that is taken back has no tick; what models said is shown after; the answer now is typed."""
    _, out, _ = ticked(folder, ["1", "2", "t", "u", "t", "v", "t", "joy;love", "2", "q"])
    assert out.count("[x] 1 anger  [x] 2 joy") == 1
    (row,) = kept(folder)
    assert (row["label"], row["changed_to"]) == ("[]", '["joy", "love"]')
    assert "one: " in out
    assert "[ ] 1 anger  [x] 2 joy" in out[out.rindex("your answer now: [") :]


@pytest.mark.more
def test_the_page_ticks_as_the_terminal_does(folder, monkeypatch):
    """The same boxes with the same keys; the same file."""
    _, out, _ = ticked(folder, ["1", "3", "t", "4", "t", "q"])
    expected = [(row["id"], row["label"]) for row in kept(folder)]
    (folder / "labels.csv").unlink()

    def visit(page):
        state = page.state()
        assert [(box["label"], box["key"]) for box in state["boxes"]] == [*KEYS.items()]
        assert (state["labels"], state["noun"]) == ([], "Row")
        assert page.change("answer", '["joy", "joy"]', status=409)["message"] == "the label 'joy' stands twice"
        page.change("answer", '["love", "anger"]')
        page.change("answer", '["sadness"]')

    assert served_in(folder, monkeypatch, visit)(*SETS, models=MODELS) == 0
    assert [(row["id"], row["label"]) for row in kept(folder)] == expected


def test_more_labels_than_keys_are_refused(folder):
    """A terminal has no key for each; in one line."""
    for name in MODELS:
        labels = ";".join(f"label {n}" for n in range(60))
        (folder / name).write_text("id,prediction\n" + "".join(f"r{n},{labels}\n" for n in range(ROWS)))
    (folder / "one.csv").write_text("id,prediction\n" + "".join(f"r{n},label 1\n" for n in range(ROWS)))
    status, _, err = ticked(folder, ["q"])
    assert status == 2
    assert "a terminal has keys for 54 labels (got 60)" in err
