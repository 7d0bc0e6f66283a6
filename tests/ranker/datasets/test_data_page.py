"""docs/data.md and own-set.md: files are read, messages come, and what they list is what there is."""

import json
import re
from pathlib import Path

import pytest
from conftest import make_checkpoint

from factors import Span
from ranker import labelled
from ranker.commands.program import flags, insert_flags
from ranker.commands.run import run
from ranker.datasets import sets
from ranker.datasets.cards import read_card
from ranker.datasets.readers import USUAL
from ranker.errors import RankModelsError
from ranker.limits import LIMITS
from ranker.runs.rows import RowsFile
from ranker.sources.base import ModelInfo
from ranker.sources.hf.kind import Checkpoint
from ranker.tasks.classes import ClassificationTask

MOOD = ClassificationTask("mood", ("negative", "positive"))
DOCS = Path(__file__).parents[3] / "docs"
PAGE = "".join((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("data", "own-set"))
FILES = dict(re.findall(r"(?ms)^```\w+\n# file: (\S+)\n(.*?)^```", PAGE))
MESSAGES = re.search(r"(?ms)^One line, with file and line number.*?^```\n(.*?)^```", PAGE)[1].splitlines()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files of the page, where it says."""
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return tmp_path


def test_the_rows_are_read(folder):
    """Columns, labels and task are found; marks come along."""
    assert [example.target for example in labelled(Path("mine.csv")).examples] == [0, 1]
    marked = labelled(Path("marked.jsonl")).examples
    assert [example.marks for example in marked] == [{"cue": (Span(0, 9, 14),)}, {}]
    assert marked[0].text(Span(0, 9, 14)) == "never"


def test_rationales_are_read(folder):
    """Spans of one annotator, words of the other, who named none on the second row."""
    rows = labelled(Path("named.jsonl"), MOOD, columns={"rationale": ["first", "second"]}).examples
    words = [{mark: [row.text(span) for span in spans] for mark, spans in row.marks.items()} for row in rows]
    assert words == [{"rationale": ["Great"], "rationale-2": ["Great", "lovely"]}, {"rationale": ["poor"]}]


def test_single_texts_are_read_by_the_models_own_labels(folder):
    """The row without a label is left out; the page's own task has the labels of its rows."""
    columns = {"text": "review", "label": "mood"}
    mood = ModelInfo(Checkpoint("mood", "mood"), ("negative", "neutral", "positive"))
    rows = RowsFile(Path("reviews.csv"), columns=columns).labelled([mood])
    assert [example.target for example in rows.examples] == [2, 1, 0]
    assert rows.notes == ("1 row has no label yet, and counts only in a pool (`pool`).",)


def test_the_code_runs(folder):
    """With three models whose configurations name the labels of the rows."""
    for seed, name in enumerate(("mood-a", "mood-b", "mood-c")):
        make_checkpoint(folder / name, labels=("positive", "neutral", "negative"), seed=seed)
    names: dict[str, object] = {}
    (code,) = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE)
    exec(code, names)
    assert [row.target for row in names["rows"].examples] == [2, 1, 0]


def test_the_set_is_loaded(folder):
    """By its folder or the one above; three of its marks come from the rule, one from its row."""
    loaded = sets.load("turned", include=[Path("sets")])
    assert sets.load("turned", include=[Path("sets/turned")]) == loaded
    texts = [example.text(span) for example in loaded.examples for span in example.marks["control"]]
    assert texts == ["Unless", "Because", "never", "Of course"]
    assert (loaded.designed, loaded.population) == ("CONST", 4)


def test_the_layout_is_read(folder):
    """Another file, other names, other numbers, and only the rows that belong to the set."""
    fragment = re.search(r"(?ms)^```toml\n(files = .*?)^```", PAGE)[1]
    top, layout = fragment.split("[[layouts]]")
    card = Path("sets/turned/card.toml")
    card.write_text(top + FILES["sets/turned/card.toml"] + "\n[[layouts]]" + layout, encoding="utf-8")
    assert read_card(card).layouts[0].columns == ("before", "after", "gold", "key", "split")
    below = Path("data/turned")
    below.mkdir(parents=True)
    (below / "turned.tsv").write_text(
        "before\tafter\tgold\tkey\tsplit\nIf so.\tSo.\t1\ta\thard\nSo.\tSo.\t0\tb\teasy\n", encoding="utf-8"
    )
    (example,) = sets.load("turned", Path("data"), [Path("sets")]).examples
    assert (example.id, example.segments, example.target) == ("a", ("If so.", "So."), 0)


WRONG = {
    "got 'maybe'": ("mine.csv", FILES["mine.csv"].replace("ran.,entailment", "ran.,maybe")),
    "no column": ("mine.csv", FILES["mine.csv"].replace("premise,hypothesis", "before,after")),
    "no JSON": ("mine.jsonl", FILES["marked.jsonl"].splitlines(keepends=True)[1] * 6 + '{"premise": '),
    "not UTF-8": ("mine.tsv", "text\tlabel\ncaf\xe9\t1\n"),
    "spans that overlap": (
        "mine.jsonl",
        FILES["named.jsonl"].replace("positive", "neutral").replace("[[0, 5]]", "[[2, 11], [0, 5]]"),
    ),
    "mark 'cue'": (
        "mine.jsonl",
        "".join(
            json.dumps({"id": key, "text": "The maid never ran.", "label": 0, **marks}) + "\n"
            for key, marks in zip("abcd", [{}] * 3 + [{"marks": {"cue": [[0, 9, 140]]}}], strict=True)
        ),
    ),
}


@pytest.mark.parametrize("part", WRONG)
def test_the_messages_come_as_they_stand(folder, part):
    """Word for word, as the command line says them."""
    name, content = WRONG[part]
    Path(name).write_text(content, encoding="latin-1")
    with pytest.raises(RankModelsError) as caught:
        labelled(Path(name), task="nli", columns={"rationale": "first"} if '"first"' in content else None)
    assert insert_flags(str(caught.value), flags(run)) in MESSAGES
    assert part in str(caught.value)


def test_every_message_is_tried():
    """The last one is of a name."""
    with pytest.raises(RankModelsError) as caught:
        sets.load("hans-subs")
    assert str(caught.value) == MESSAGES[-1]
    assert len(MESSAGES) == len(WRONG) + 1


@pytest.mark.parametrize("name", sets.names())
def test_every_set_has_its_line(name):
    """With a file name and a folder that its card knows."""
    (line,) = re.findall(rf"(?m)^\| `{name}` \|.*$", PAGE)
    card = sets.cards()[name]
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    folders = re.findall(r"`DIR/([^`]*)/`", cells[-1])
    assert set(folders) <= set(card.folders)
    assert "same" in cells[3] or set(re.findall(r"`([^`]+)`", cells[3])) <= set(card.files)


def test_limits_and_usual_names_are_those_of_the_reader():
    """Nothing that is listed has changed, and nothing is missing."""
    assert (LIMITS.file, LIMITS.line, LIMITS.cell) == (512 << 20, 1 << 20, 100_000)
    assert "At most 512 MiB unpacked, 1 MiB a line, 100,000 characters a text" in " ".join(PAGE.split())
    for names in USUAL["text"][1:] + USUAL["label"] + USUAL["id"]:
        assert all(f"`{column}`" in PAGE for column in names)
