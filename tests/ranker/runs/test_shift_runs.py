import json

import numpy as np
import pytest

from ranker import load_set, shift
from ranker.errors import DataError, UsageError
from ranker.runs.shift import Reading, domains, shift_of
from ranker.statistics import summaries

ABOUT = {
    "sport": ["match", "team", "goal", "player", "league", "coach", "season", "score"],
    "law": ["court", "judge", "trial", "lawyer", "sentence", "verdict", "appeal", "jury"],
}


def rows(about, size, seed=0, **more):
    """Texts of one topic."""
    rng = np.random.default_rng(seed)
    return [
        {"text": " ".join(rng.choice(ABOUT[about], size=9)), "label": ["yes", "no"][n % 2]} | more for n in range(size)
    ]


def write(path, lines):
    """A JSON lines file."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_files_sets_and_rows_in_memory_are_compared(tmp_path):
    """Whatever names rows; a set is called by its file, without endings."""
    file = write(tmp_path / "law.train.jsonl", rows("law", 40))
    found = shift(file, str(file), load_set("paws"), "hans-sub", rows("sport", 40))
    assert [one.name for one in found.domains] == ["law 1", "law 2", "paws", "hans-sub", "rows in memory"]
    assert found.pair("law 1", "law 2").measure("repeated").value == 1.0
    assert found.pair("law 1", "law 2").verdict == "near"
    assert found.domains[0].labels == {"no": 0.5, "yes": 0.5}
    assert found.pair("law 1", "rows in memory").verdict == "other"


def test_labels_need_not_be_there(tmp_path):
    """Nor ids, which may be there twice."""
    plain = [{"id": "x", "text": row["text"]} for row in rows("law", 30)]
    found = shift(plain, rows("sport", 30))
    assert found.domains[0].labels == {}
    assert found.new[0].measure("label_shift").value is None


def test_a_column_splits_a_set():
    """Alone, its first value is in-domain; behind another set, that is. A row without a value is left out."""
    mixed = [*rows("law", 30, where="court"), *rows("sport", 30, 1, where="pitch"), *rows("law", 5, 2, where=" ")]
    alone = shift(mixed, by="where")
    assert [(one.name, one.rows) for one in alone.domains] == [("court", 30), ("pitch", 30)]
    behind = shift(rows("law", 40, 3), mixed, by="where")
    assert [one.name for one in behind.domains] == ["rows in memory", "court", "pitch"]
    assert [pair.verdict for pair in behind.new][1] == "other"


def test_topics_are_found():
    """Two topics without a common word: each row is in the part of its own, which ten words stand for."""
    mixed = [row for pair in zip(rows("law", 60), rows("sport", 60), strict=True) for row in pair]
    found = domains([mixed], None, 2, Reading())
    assert [len(one.examples) for one in found] == [60, 60]
    for one in found:
        about = next(words for words in ABOUT.values() if one.words[0] in words)
        assert {*one.words[:8]} == {*about}
        assert all(row.segments[0].split()[0] in about for row in one.examples)
    named = shift(mixed, topics=2)
    assert named.domains[0].name == " ".join(found[0].words[:3])
    assert named.domains[0].words == found[0].words


def test_the_same_seed_gives_the_same():
    """Topics, draws and all; the map, too."""
    mixed = [*rows("law", 40), *rows("sport", 40)]
    assert shift(mixed, topics=2, seed=3).to_dict() == shift(mixed, topics=2, seed=3).to_dict()
    places = shift("hans-sub", "hans-con", "paws").places
    far = [np.hypot(*np.subtract(places["hans-sub"], places[name])) for name in ("hans-con", "paws")]
    assert far[0] < far[1] / 2


def test_its_rows_and_its_frame():
    """A row for each measure of each pair, and what a notebook shows."""
    found = shift("hans-sub", "hans-con")
    assert repr(found) == "hans-sub and 1 other domain\nhans-con: far"
    frame = found.to_frame()
    assert frame.loc["hans-sub", "hans-con", "mmd"]["value"] == found.pairs[0].measure("mmd").value
    assert found.in_words()[0]["verdict"] == "far"
    assert "hans-con" in found._repr_html_()


@pytest.mark.parametrize(
    ("texts", "given", "said"),
    [
        (["hans-sub"], {}, "two sets or more are needed, up to 20: in-domain rows, and new ones (got 1)"),
        (["hans-sub"] * 21, {}, "two sets or more are needed, up to 20: in-domain rows, and new ones (got 21)"),
        (["hans-sub"] * 3, {"by": "x"}, "`by` splits one set: name it alone, or after the in-domain one (got 3)"),
        (["hans-sub"], {"by": "x", "topics": 2}, "`by` and `topics` both split a set: give one of them"),
        (["hans-sub"], {"topics": 1}, "`topics` must be between 2 and 20 (got 1)"),
        (["hans-sub"], {"by": "x"}, "`by`: hans-sub is no file whose columns are known"),
        ([[{"text": "a", "y": "1"}]], {"by": "x"}, "`by`: rows in memory has no column 'x' (columns: text, y)"),
        (
            [[{"text": "a", "y": "1"}]],
            {"by": "y"},
            "`by` must name a column with 2 to 20 values (got 1 in rows in memory: 1)",
        ),
        ([[{"text": "a b"}, {"text": "c"}]], {"topics": 2}, "`topics` must be at most the 0 words"),
    ],
)
def test_what_cannot_be_compared_is_refused(texts, given, said):
    """In one line that names the parameter."""
    with pytest.raises(UsageError) as refused:
        shift(*texts, **given)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_without_texts_is_refused(tmp_path):
    """Empty, of blank texts, without a column of texts, or not there."""
    good = write(tmp_path / "good.jsonl", rows("law", 30))
    for name, lines, said in (
        ("empty", [], "holds no row"),
        ("blank", [{"text": " "}], "holds no row with a text"),
        ("other", [{"x": "a"}], "no column has a usual name for the text"),
    ):
        bad = write(tmp_path / f"{name}.jsonl", lines)
        with pytest.raises(DataError, match=said):
            shift(good, bad)
    with pytest.raises(UsageError, match="nowhere"):
        shift(good, "nowhere.jsonl")


def test_columns_may_be_named(tmp_path):
    """The same for all files that have them."""
    file = write(tmp_path / "a.jsonl", [{"body": row["text"], "y": row["label"]} for row in rows("law", 30)])
    found = shift_of([file, rows("sport", 30)], reading=Reading({"text": ["body"], "label": ["y"]}))
    assert found.domains[0].labels == {"no": 0.5, "yes": 0.5}


def test_summaries_are_measured_where_a_column_holds_them(tmp_path):
    """Of each set, and of its parts; a row without one is refused with its place."""
    texts = [{"document": f"{row['text']} . {row['text']}", "summary": row["text"][:12]} for row in rows("law", 40)]
    file = write(tmp_path / "a.jsonl", texts)
    of = Reading({"text": ["document"], "summary": ["summary"]})
    found = shift_of([file, file], reading=of)
    measured = {one.name: one.value for one in found.domains[0].summaries}
    assert list(measured) == list(summaries.MEASURES)
    assert measured["document_length"] == 19
    assert measured["document_diversity"] < 1
    halves = [text | {"half": n % 2} for n, text in enumerate(texts)]
    parts = shift_of([write(tmp_path / "b.jsonl", halves)], by="half", reading=of)
    mean = np.mean([one.summaries[1].value for one in parts.domains])
    assert mean == pytest.approx(measured["summary_length"])
    bad = write(tmp_path / "bad.jsonl", [{"document": "a", "summary": None}])
    with pytest.raises(DataError, match="line 1: the column 'summary' must hold a summary"):
        shift_of([file, bad], reading=of)
