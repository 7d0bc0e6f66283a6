import json

import numpy as np
import pytest
from refusals import refuses

from ranker import TextSource, load_set, load_suite, shift
from ranker.domains.runs.shift import ReadOptions, ShiftRequest, answer_request, compare_sets
from ranker.domains.statistics import summaries
from ranker.errors import Assumption, DataError, ModelError, UnknownName, UsageError

ABOUT = {
    "sport": ["match", "team", "goal", "player", "league", "coach", "season", "score"],
    "law": ["court", "judge", "trial", "lawyer", "sentence", "verdict", "appeal", "jury"],
}


def rows(about, size, seed=0, **fields):
    """Texts of one topic."""
    rng = np.random.default_rng(seed)
    return [
        {"text": " ".join(rng.choice(ABOUT[about], size=9)), "label": ["yes", "no"][n % 2]} | fields
        for n in range(size)
    ]


def write(path, lines):
    """A JSON lines file."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_files_sets_and_rows_in_memory_are_compared(tmp_path):
    """Whatever names rows; a set is called by its file, without endings."""
    file = write(tmp_path / "law.train.jsonl", rows("law", 40))
    shifts = shift(file, str(file), load_set("paws"), "hans-sub", rows("sport", 40))
    assert [domain.name for domain in shifts.domains] == ["law 1", "law 2", "paws", "hans-sub", "rows in memory"]
    assert shifts.pair("law 1", "law 2").measure("repeated").value == pytest.approx(1.0)
    assert shifts.pair("law 1", "law 2").verdict == "near"
    assert shifts.domains[0].labels == {"no": 0.5, "yes": 0.5}
    assert shifts.pair("law 1", "rows in memory").verdict == "far"
    assert shifts.pair("law 1", "rows in memory").reason.endswith("so it counts as a far set of one task.")
    unlabelled = [{"text": row["text"]} for row in rows("sport", 40)]
    assert shift(file, unlabelled).new[0].verdict == "other"


def test_two_sets_of_one_name_are_refused(tmp_path):
    """A number may make a name that is there already."""
    file, other_file = write(tmp_path / "x.jsonl", rows("law", 30)), write(tmp_path / "x 1.jsonl", rows("law", 30))
    with refuses(UsageError, value="x 1"):
        shift(file, file, other_file)


def test_labels_need_not_be_there(tmp_path):
    """Nor ids, which may be there twice."""
    plain = [{"id": "x", "text": row["text"]} for row in rows("law", 30)]
    shifts = shift(plain, rows("sport", 30))
    assert shifts.domains[0].labels == {}
    assert shifts.new[0].measure("label_shift").value is None


def test_a_column_splits_a_set():
    """The first value is in-domain, or another set before it; rows without a value are counted."""
    mixed = [*rows("law", 30, where="court"), *rows("sport", 30, 1, where="pitch"), *rows("law", 5, 2, where=" ")]
    alone = shift(mixed, by="where")
    assert [(domain.name, domain.rows) for domain in alone.domains] == [("court", 30), ("pitch", 30)]
    assert Assumption("5 of 65 rows of rows in memory have no 'where', and are in no set.") == alone.notes[0]
    assert isinstance(alone.notes[0], Assumption)
    behind = shift(rows("law", 40, 3), mixed, by="where")
    assert [domain.name for domain in behind.domains] == ["rows in memory", "court", "pitch"]
    assert [pair.verdict for pair in behind.new][1] == "far"


def test_topics_are_found():
    """Two topics without a common word: each row is in the part of its own, which ten words stand for."""
    mixed = [row for pair in zip(rows("law", 60), rows("sport", 60), strict=True) for row in pair]
    topics = compare_sets(ShiftRequest([mixed], topics=2)).domains
    assert [len(topic.examples) for topic in topics] == [60, 60]
    for topic in topics:
        about = next(words for words in ABOUT.values() if topic.words[0] in words)
        assert {*topic.words[:8]} == {*about}
        assert all(row.segments[0].split()[0] in about for row in topic.examples)
    by_name = shift(mixed, topics=2)
    assert by_name.domains[0].name == " ".join(topics[0].words[:3])
    assert by_name.domains[0].words == topics[0].words


def test_the_same_seed_gives_the_same():
    """Topics, draws and all."""
    mixed = [*rows("law", 40), *rows("sport", 40)]
    assert shift(mixed, topics=2, seed=3).to_dict() == shift(mixed, topics=2, seed=3).to_dict()


def test_its_rows_and_its_frame():
    """A row for each measure of each pair, and what a notebook shows."""
    shifts = shift("hans-sub", "hans-con")
    assert repr(shifts) == "hans-sub and 1 other domain\nhans-con: far"
    frame = shifts.to_frame()
    assert frame.loc["hans-sub", "hans-con", "mmd"]["value"] == shifts.pairs[0].measure("mmd").value
    assert shifts.in_words()[0]["verdict"] == "far"
    assert "hans-con" in shifts._repr_html_()


@pytest.mark.parametrize(
    ("texts", "options", "option", "value"),
    [
        (["hans-sub"], {}, "", 1),
        (["hans-sub"] * 21, {}, "", 21),
        (["hans-sub"] * 3, {"by": "x"}, "by", 3),
        (["hans-sub"], {"by": "x", "topics": 2}, "by", "x"),
        (["hans-sub"], {"topics": 1}, "topics", 1),
        (["hans-sub"], {"by": "x"}, "by", "x"),
        ([[{"text": "a", "y": "1"}]], {"by": "x"}, "by", "x"),
        ([[{"text": "a", "y": "1"}]], {"by": "y"}, "by", 1),
        ([[{"text": "a b"}, {"text": "c"}]], {"topics": 2}, "topics", None),
    ],
)
def test_what_cannot_be_compared_is_refused(texts, options, option, value):
    """The error names the parameter."""
    with refuses(UsageError, option=option, value=value):
        shift(*texts, **options)


def test_a_file_without_texts_is_refused(tmp_path):
    """Empty, of blank texts, without a column of texts, or not there."""
    good = write(tmp_path / "good.jsonl", rows("law", 30))
    for name, lines, place in (("empty", [], ""), ("blank", [{"text": " "}], ""), ("other", [{"x": "a"}], ", line 1")):
        bad = write(tmp_path / f"{name}.jsonl", lines)
        with refuses(DataError, place=f"{bad}{place}"):
            shift(good, bad)
    with refuses(DataError, place="nowhere.jsonl"):
        shift(good, "nowhere.jsonl")


def test_columns_may_be_named(tmp_path):
    """The same for all files that have them."""
    file = write(tmp_path / "a.jsonl", [{"body": row["text"], "y": row["label"]} for row in rows("law", 30)])
    shifts = answer_request(
        ShiftRequest([file, rows("sport", 30)], reading=ReadOptions({"text": ["body"], "label": ["y"]}))
    )
    assert shifts.domains[0].labels == {"no": 0.5, "yes": 0.5}


def test_summaries_are_measured_where_a_column_holds_them(tmp_path):
    """Of each set, and of its parts; a row without one is refused with its place."""
    texts = [{"document": f"{row['text']} . {row['text']}", "summary": row["text"][:12]} for row in rows("law", 40)]
    file = write(tmp_path / "a.jsonl", texts)
    reading = ReadOptions({"text": ["document"], "summary": ["summary"]})
    shifts = answer_request(ShiftRequest([file, file], reading=reading))
    measured = {summary.name: summary.value for summary in shifts.domains[0].summaries}
    assert list(measured) == list(summaries.MEASURES)
    assert measured["document_length"] == pytest.approx(19)
    assert measured["document_diversity"] < 1
    halves = [text | {"half": n % 2} for n, text in enumerate(texts)]
    parts = answer_request(ShiftRequest([write(tmp_path / "b.jsonl", halves)], by="half", reading=reading))
    mean = np.mean([domain.summaries[1].value for domain in parts.domains])
    assert mean == pytest.approx(measured["summary_length"])
    bad = write(tmp_path / "bad.jsonl", [{"document": "a", "summary": None}])
    with refuses(DataError, option="summary", place=f"{bad}, line 1"):
        answer_request(ShiftRequest([file, bad], reading=reading))


class WordGuess(TextSource):
    """A model that goes by one word."""

    def labels(self):
        """Two."""
        return ("no", "yes")

    def content(self):
        """The model's word."""
        return self.name

    def probabilities(self, texts):
        """Sure of itself."""
        return np.array([[0.1, 0.9] if self.name in text else [0.9, 0.1] for (text,) in texts])


def labelled(about, size, word, seed=0):
    """Rows in which a word means yes."""
    return [row | {"label": "yes" if word in row["text"] else "no"} for row in rows(about, size, seed)]


def test_models_lose_what_their_accuracies_say(tmp_path):
    """One model goes by a word that is in-domain alone; rows without a label are asked about, too."""
    home, away = labelled("law", 60, "court"), labelled("sport", 60, "goal")
    unknown = [{"text": row["text"]} for row in rows("sport", 40, 5)]
    files = [
        write(tmp_path / f"{name}.jsonl", rows) for name, rows in (("home", home), ("away", away), ("new", unknown))
    ]
    shifts = shift(*files, models=[WordGuess("court"), WordGuess("judge")])
    assert shifts.metric == "ACC"
    yes = np.mean([row["label"] == "yes" for row in away])
    assert shifts.score("home", "court").value == pytest.approx(1.0)
    assert shifts.score("away", "court").value == pytest.approx(1 - yes)
    assert shifts.score("new", "court") is None
    wrong = np.mean([("judge" in row["text"]) != (row["label"] == "yes") for row in home])
    assert shifts.drop("away") == pytest.approx((yes + (1 - wrong) - (1 - yes)) / 2)


def test_labels_of_another_task_are_refused(tmp_path):
    """In one line that names the set; and numbers that a model counts otherwise."""
    home = write(tmp_path / "home.jsonl", labelled("law", 30, "court"))
    other_file = write(tmp_path / "other.jsonl", [row | {"label": "maybe"} for row in rows("sport", 30)])
    with refuses(DataError, place="other"):
        shift(home, other_file, models=[WordGuess("court")])
    with refuses(UnknownName, value="x"):
        shift(home, other_file, models=[WordGuess("court")], task="x")


def test_a_task_that_has_the_labels_of_all_sets_is_named():
    """The task is named if the models' labels are three, and one of a new set's two counts for two of theirs."""

    class Three(WordGuess):
        def labels(self):
            return ("contradiction", "entailment", "neutral")

        def probabilities(self, texts):
            return np.array([[0.2, 0.1, 0.7] if self.name in text else [0.1, 0.6, 0.3] for (text,) in texts])

    home = [row | {"label": ["entailment", "neutral", "contradiction"][n % 3]} for n, row in enumerate(rows("law", 60))]
    away = [row | {"label": ["entailment", "non-entailment"][n % 2]} for n, row in enumerate(rows("sport", 40))]
    with refuses(DataError, place="rows in memory 2"):
        shift(home, away, models=[Three("goal")])
    shifts = shift(home, away, models=[Three("goal")], task="nli")
    accuracy = np.mean([("goal" in row["text"]) == (row["label"] == "non-entailment") for row in away])
    assert shifts.score("rows in memory 2", "goal").value == pytest.approx(accuracy)


def test_a_model_that_fails_is_listed(tmp_path):
    """The others are asked; where none is left, it is an error."""

    class Broken(WordGuess):
        def probabilities(self, texts):
            raise RuntimeError("no memory")

    home, away = labelled("law", 30, "court"), labelled("sport", 30, "goal")
    shifts = shift(home, away, models=[WordGuess("court"), Broken("broken")])
    assert shifts.models == ("court",)
    assert "no memory" in shifts.failures["broken"]
    with refuses(ModelError, place="broken"):
        shift(home, away, models=[Broken("broken")])


def test_the_task_of_an_ood_set_is_known():
    """An OOD set brings its task."""
    sets = [load_set(name, limit=60) for name in ("hans-sub", "hans-con")]
    shifts = shift(*sets, models=load_suite(["hans-sub-mini"]).models[-1:])
    assert shifts.score("hans-sub", "inoc-4000").value > 0.9 > shifts.score("hans-con", "inoc-4000").value


def test_labels_that_a_task_counts_as_one_are_one():
    """Neutral and contradiction are non-entailment in HANS: so 20 of 60 are entailment, and half of HANS-CON."""
    three = [
        row | {"label": ["entailment", "Neutral", "contradiction"][n % 3]} for n, row in enumerate(rows("law", 60))
    ]
    two = [row | {"label": ["entailment", "non-entailment"][n % 2]} for n, row in enumerate(rows("sport", 40))]
    other_rows = [row | {"label": ["good", "neutral"][n % 2]} for n, row in enumerate(rows("sport", 40))]
    for shifts in (shift(three, load_set("hans-con", limit=60)), shift(three, two, task="nli")):
        assert shifts.domains[0].labels == {"entailment": 1 / 3, "non-entailment": 2 / 3}
        assert shifts.new[0].measure("label_shift").value == pytest.approx(1 / 6)
    assert shift(three, two).new[0].measure("label_shift").value == pytest.approx(2 / 3), "no task is known"
    assert shift(other_rows, three).domains[0].labels == {"good": 0.5, "neutral": 0.5}
    with refuses(UnknownName, value="x"):
        shift(three, two, task="x")
