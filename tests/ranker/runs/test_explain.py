import gc
import json
import re
import shutil
import weakref
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from goldens import PageReader
from refusals import refuses

from factors import BUILTIN, Attributions, Example, Span, factor
from factors.check import cases
from ranker.attribution.settings import Settings, SHAPSettings
from ranker.datasets import sets
from ranker.errors import ModelError, UnknownName, UsageError
from ranker.report.explain import FORMATS, render
from ranker.results.explanation import Explanation
from ranker.runs.collect import ModelResponses, RunResponses
from ranker.runs.explain import explain
from ranker.runtime.base import Answer
from ranker.scoring.score import Evidence
from ranker.scoring.views import NEEDS_LABEL, View, pick_informative, words_of
from ranker.sources import suites
from ranker.sources.hf.classifiers import TextClassifier
from ranker.tasks.classes import ClassificationTask, ClassProbabilities

NLI = ClassificationTask("nli", ("non-entailment", "entailment"), shortcut=1)
ROW, EXAMPLE = cases("control")["a pair"]
"""Unless the tall nurse slept, ...: a row of one token a word, toward label 1; marked: nurse slept."""


class Canned:
    """A model whose row is known, in the place of one that is asked for it."""

    def __init__(self, name, row=ROW, task=NLI):
        self.name, self.task, self.row = name, task, row
        self.votes_only = False
        self.asked = []

    def made_of(self, request):
        """The canned row, or the canned failure."""
        self.asked.append(request.settings)
        if isinstance(self.row, Exception):
            raise self.row
        rows = [self.row for _ in request.examples]
        return Answer(answers(rows), rows)


def collected(plan, runtime):
    """Answer for canned models, in the form of `collect`."""
    answered, failures = [], {}
    assert not plan.hidden_word_requests  # which nothing is shown of
    for model in plan.inspected.models:
        try:
            requests = {name: model.made_of(request) for name, request in plan.questions(model).items()}
            answered.append(ModelResponses(model, "", requests, ()))
        except ModelError as error:
            failures[model.name] = str(error)
    return RunResponses(tuple(answered), failures)


def answers(rows):
    """The answers that attributions are of."""
    return ClassProbabilities(np.array([row.probs for row in rows]))


def explained(*models, example=EXAMPLE, **options):
    """An explanation of canned models."""
    models = models or (Canned("one"),)
    inputs = SimpleNamespace(models=models, precomputed=False, infos=())
    evidence = Evidence(
        options.pop("attribution", None), options.pop("factors", None), shortcut=options.pop("shortcut", None)
    )
    with patch("ranker.runs.explain.inspect_models", lambda _: inputs), patch("ranker.runs.explain.collect", collected):
        return explain(models, example, task=models[0].task, evidence=evidence, **options)


@pytest.fixture(scope="module")
def real():
    """Two embedded models on an embedded example, with real attributions; of their networks none is left in memory."""
    networks = weakref.WeakSet()
    load = TextClassifier.load
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            TextClassifier, "load", lambda *args, **options: networks.add((c := load(*args, **options)).model) or c
        )
        loaded = sets.load("hans-sub")
        explanation = explain(suites.load(["hans-sub-mini"]).models[:2], loaded.examples[0], task=loaded.task)
    gc.collect()
    assert not networks
    return explanation


def test_a_words_score_is_the_sum_of_its_tokens_toward_the_label():
    """Scores of words are those of the row; toward the other label they change their signs."""
    words = explained(toward=1).readings[0].words
    assert [w.score for w in words if w.span] == ROW.word_scores.tolist()
    turned = explained(toward=0).readings[0].words
    assert [w.score for w in turned] == [-w.score for w in words]


def test_words_and_special_tokens_stand_in_the_order_of_the_input():
    """[CLS] before the premise, a separator behind each segment; marks are on the words that they touch."""
    words = words_of(ROW, EXAMPLE)
    first, second = "[CLS] Unless the tall nurse slept , the clerk drew a map . [SEP]", "The nurse slept . [SEP]"
    assert " ".join(w.text for w in words) == f"{first} {second}"
    assert [w.segment for w in words] == [0] * 14 + [1] * 5
    assert [w.text for w in words if w.marks] == ["nurse", "slept", "nurse", "slept"]


def test_the_default_label_is_the_shortcuts():
    """The last label stands in if the task names none."""
    assert explained().toward == "entailment"
    assert explained(Canned("x", task=ClassificationTask("nli", ("yes", "no"), shortcut=0))).toward == "yes"
    assert explained(Canned("x", task=ClassificationTask("nli", ("yes", "no")))).toward == "no"


def test_a_declared_label_of_the_shortcut_is_that_of_the_factors():
    """Without one, factors of the shortcut are left out of an explanation; with one they are measured."""
    canned = Canned("x", task=ClassificationTask("nli", ("yes", "no")))
    assert "SUM-DIFF" in explained(canned).left_out
    assert "SUM-DIFF" not in explained(canned, shortcut="yes").left_out


def test_every_factor_reads_its_own_label_whatever_is_shown():
    """CONST is about the true label 0: minus the marked scores of the premise, and `toward` does not matter."""
    marked = ROW.word_scores[[3, 4]].sum()
    for toward in (0, 1):
        assert explained(toward=toward).readings[0].factors["CONST"] == pytest.approx(-marked)


def test_factors_that_do_not_apply_are_left_out_with_their_reason():
    """A mark that the example has not, and a factor for designed sets on another."""
    left_out = explained().left_out
    assert left_out["SWAP-AVG"] == "no example has the mark 'swapped'"
    assert "IRREG" in left_out
    assert "CONST" not in left_out


def test_without_a_label_what_needs_it_has_no_value():
    """ACC, CONF-GT, NLL and CONST depend on the true label; every other value is what it is with the label."""
    labelled, unknown = explained().readings[0], explained(example=replace(EXAMPLE, target=None)).readings[0]
    assert {name for name, reason in unknown.undefined.items() if reason == NEEDS_LABEL} == {
        "ACC", "CONF-GT", "NLL", "CONST",
    }  # fmt: skip
    defined = set(labelled.factors) - set(unknown.undefined)
    assert {name: unknown.factors[name] for name in defined} == {name: labelled.factors[name] for name in defined}
    assert explained(example=replace(EXAMPLE, target=None)).label is None


def test_a_row_without_a_label_is_no_row_of_the_last_one():
    """A label of -1 is that of rows that have none."""
    explanation = explained(example=replace(EXAMPLE, target=None))
    assert explanation.label is None
    assert explanation.readings[0].undefined["ACC"] == NEEDS_LABEL


def test_a_target_that_is_no_class_is_refused():
    """Before a label is looked up by it."""
    with refuses(UsageError, option="target", value=5):
        explained(attribution=SHAPSettings(target=5, output="logit"), toward=1)


def test_the_words_that_a_factor_reads_are_found():
    """Words are those that a factor depends on: the marked ones of the premise, or shared ones for INDEX-DIFF."""
    for name, words in (
        ("CONST", ["nurse", "slept"]),
        ("INDEX-DIFF", ["the", "nurse", "slept", "the", "The", "nurse", "slept"]),
    ):
        reading = explained(designed=name).readings[0]
        assert [w.text for w in reading.words if w.read] == words
    assert not any(w.read for w in explained(designed=None).readings[0].words)


def test_a_maximum_reads_every_word_that_could_be_it():
    """Not only the one that is the greatest here."""
    reading = explained(designed="MAX-DIFF").readings[0]
    assert all(w.read for w in reading.words if w.span)


def test_a_word_whose_score_makes_a_factor_undefined_is_read():
    """Here those of every word: the factor has a value only where no score is greater than these are."""

    @factor("BOUNDED", higher_is_better=True, explains="true")
    def bounded(attributions, example):
        return 1.0 if abs(attributions.scores).max() <= abs(ROW.scores).max() else float("nan")

    reading = explained(factors=[bounded.factor], designed="BOUNDED").readings[0]
    assert all(w.read for w in reading.words if w.span)


def test_the_telling_examples_are_those_that_models_disagree_on():
    """The most divided first, of equals the first; where the designed factor reads a mark, only those that have it."""
    yes, no = ROW, replace(ROW, probs=ROW.probs[::-1].copy())
    plain = Example("plain", EXAMPLE.segments, 0)
    examples = [replace(EXAMPLE, id="agreed"), plain, replace(EXAMPLE, id="one"), replace(EXAMPLE, id="two")]
    rows = {"a": [yes, yes, yes, yes], "b": [yes, no, yes, no], "c": [yes, no, no, no], "d": [yes, yes, yes, yes]}

    def chosen(designed):
        view = View(NLI, Settings(), [BUILTIN["ACC"], BUILTIN["CONST"]], designed)
        places = pick_informative([answers(model) for model in rows.values()], examples, view)
        return [
            view.explanation(examples[n], {name: (model[n].predicted, model[n]) for name, model in rows.items()})
            for n in places
        ]

    assert [disagreement.example.id for disagreement in chosen(None)] == ["plain", "two", "one"]
    assert [disagreement.example.id for disagreement in chosen("CONST")] == ["two", "one", "agreed"]
    first = chosen("CONST")[0]
    assert [reading.predicted for reading in first.readings] == [explained().labels[n] for n in (1, 0, 0, 1)]
    assert [w.text for w in first.readings[0].words if w.read] == ["nurse", "slept"]
    assert [w.text for w in first.readings[0].words if w.read and w.segment == 1] == []


def test_a_factor_that_raises_keeps_its_message():
    """One cell is undefined, the others are there."""

    @factor("RISKY", higher_is_better=True, explains="true")
    def risky(attributions, example):
        return 1 / 0

    reading = explained(factors=[risky.factor, BUILTIN["ACC"]]).readings[0]
    assert reading.factors["RISKY"] is None
    assert reading.undefined == {"RISKY": "ZeroDivisionError: division by zero"}
    assert reading.factors["ACC"] == 0.0


def test_a_model_that_fails_is_listed_and_the_others_are_explained():
    """With none left there is nothing to explain."""
    broken = Canned("broken", ModelError("no weights"))
    explanation = explained(Canned("one"), broken)
    assert [reading.name for reading in explanation.readings] == ["one"]
    assert explanation.failures == {"broken": "no weights"}
    with refuses(ModelError, place="broken"):
        explained(broken)


def test_three_labels_cannot_be_turned():
    """The margin of one label says nothing about a third: it is shown toward its own, and any other is refused."""
    model = Canned(
        "x", replace(ROW, probs=np.array([0.2, 0.3, 0.5])), ClassificationTask("t", ("a", "b", "c"), shortcut=2)
    )
    explanation = explained(model, attribution=SHAPSettings(target=1))
    assert (explanation.toward, ROW.target) == ("b", 1)
    assert explanation.readings[0].factors["ACC"] == 0.0
    assert explanation.left_out["SUM-DIFF"].startswith("is about c, and what is attributed is b")
    with refuses(UsageError, option="toward", value="a", allowed=("b",)):
        explained(model, attribution=SHAPSettings(target=1), toward=0)


@pytest.mark.parametrize(("toward", "label"), [(None, 2), (0, 0)])
def test_of_three_labels_the_shortcuts_is_attributed_or_the_one_asked_for(toward, label):
    """So a factor about the shortcut's label can be measured without a setting."""
    row = replace(ROW, probs=np.array([0.2, 0.3, 0.5]), target=label)
    model = Canned("x", row, ClassificationTask("t", ("a", "b", "c"), shortcut=2))
    explanation = explained(model, toward=toward)
    assert (model.asked[-1].target, explanation.toward) == (label, "abc"[label])
    assert ("SUM-DIFF" in explanation.left_out) == (label != 2)


def test_a_logit_is_shown_toward_its_own_label():
    """Evidence against the one logit does not speak for the other."""
    settings = SHAPSettings(output="logit", target=0)
    assert explained(Canned("x", ROW.toward(0)), attribution=settings).toward == "non-entailment"
    with refuses(UsageError, option="toward", value="entailment", allowed=("non-entailment",)):
        explained(Canned("x", ROW.toward(0)), attribution=settings, toward=1)


@pytest.mark.parametrize(("designed", "marked"), [("SHARED-AVG", True), ("CONST", False)])
def test_words_of_a_designed_factor_that_needs_no_label_are_marked_without_one(designed, marked):
    """SHARED-AVG is about the shortcut's label, which is known; CONST about the true one."""
    (reading,) = explained(Canned("x"), designed=designed, example=replace(EXAMPLE, target=None)).readings
    assert any(word.read for word in reading.words) == marked


@pytest.mark.parametrize("colour", [False, True])
def test_a_terminal_shows_controls_and_does_not_obey_them(colour):
    """Ids come from files and tokens from a checkpoint's tokenizer."""
    hostile = "a\x1b]0;owned\x07\u202eb"
    row = replace(ROW, tokens=tuple(hostile if i == 0 else token for i, token in enumerate(ROW.tokens)))
    explanation = explained(Canned(hostile, row), example=replace(EXAMPLE, id=hostile))
    text = render(explanation, "terminal", colour)
    assert "a\\u001b]0;owned\\u0007\\u202eb" in text
    assert not {"\x07", "\u202e", "\x1b]"} & {*text, *(text[i : i + 2] for i in range(len(text)))}


def test_an_unknown_backend_or_format_is_met_with_the_near_one():
    """Names are looked up before anything is run."""
    with refuses(UnknownName, value="igg"):
        explained(attribution="igg")
    with refuses(UnknownName, value="htm"):
        render(explained(), "htm")


def test_real_models_are_explained(real):
    """Two checkpoints read the same words, with scores of their own, and every factor that applies has a value."""
    first_reading, second_reading = real.readings
    texts = [[w.text for w in reading.words if w.span] for reading in real.readings]
    assert texts[0] == texts[1] == [real.example.text(word) for word in real.example.words]
    assert [w.score for w in first_reading.words] != [w.score for w in second_reading.words]
    assert sum(first_reading.probabilities.values()) == pytest.approx(1)
    assert None not in [first_reading.factors[name] for name in ("ACC", "SUM-DIFF", "FIRST-TOK", "ABS-SUM-DIFF")]


# ---- the command


@pytest.fixture
def run(rank_models):
    """`rank-models explain` on embedded data and models: arguments -> (exit status, stdout, stderr)."""

    def call(*arguments, ood=("--ood", "hans-sub")):
        return rank_models("explain", *ood, "--quiet", *arguments)

    return call


ONE = suites.load(["hans-sub-mini"]).models[0].source.path
PAIR = ("--text", "The poets near the bridge ran.", "--text", "The bridge ran.")


@pytest.mark.more
def test_a_set_is_found_whatever_its_case(run):
    """With the embedded suite that is made for it."""
    assert run(*PAIR, "--attribution", "none", ood=("--ood", "HANS-SUB"))[0] == 0


def test_an_example_is_explained_by_its_id(run, real):
    """The example's own label is known, and one model is enough."""
    status, out, _ = run("--id", real.example.id, "--models", ONE)
    assert status == 0
    assert out.startswith(f"{real.example.id}: {real.label}\n")
    assert "ACC" in out
    assert NEEDS_LABEL not in out


ROWS = [
    {"premise": "The poets ran.", "hypothesis": "The poets slept.", "label": "neutral"},
    {"premise": "The poets near the bridge ran.", "hypothesis": "The bridge ran.", "label": "neutral"},
]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("labels", "known_set", "label", "designed"),
    [
        (True, (), "non-entailment", None),
        (True, ("--task", "nli"), "non-entailment", None),
        (False, ("--task", "nli"), None, None),
        (False, ("--ood", "hans-sub"), None, "INDEX-DIFF"),
        (False, ("--ood", "HANS-SUB"), None, "INDEX-DIFF"),
    ],
)
def test_a_row_of_a_file_is_explained_like_one_of_a_set(run, tmp_path, labels, known_set, label, designed):
    """By its line where it has no id; without labels where the task is named, and like a set's where that is."""
    file = tmp_path / "rows.jsonl"
    rows = [{key: text for key, text in row.items() if labels or key != "label"} for row in ROWS]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    status, out, _ = run("--data", file, "--id", 2, "--models", ONE, "--format", "json", ood=known_set)
    assert status == 0
    report = json.loads(out)
    assert report["example"]["segments"] == [ROWS[1]["premise"], ROWS[1]["hypothesis"]]
    assert (report["example"]["label"], report["designed"]) == (label, designed)


@pytest.mark.parametrize(
    ("number", "says"),
    [(1, "non-entailment"), (2, "label unknown"), (3, "entailment"), (4, "non-entailment"), (5, "label unknown")],
)
def test_a_row_of_a_half_filled_file_is_the_one_of_its_number(run, tmp_path, number, says):
    """Each has the label of its own line, though the fourth is the first again, and the fifth has its text."""
    rows = ["The poets ran.,The poets slept.,neutral", "A poet ran.,It ran.,", "A cook ran.,A cook ran.,entailment"]
    rows += [rows[0], rows[0].removesuffix("neutral"), ""]
    (tmp_path / "rows.csv").write_text("\n".join(["premise,hypothesis,label", *rows]))
    out = run("--data", tmp_path / "rows.csv", "--id", number, "--models", ONE, "--attribution", "none", ood=())[1]
    assert out.startswith(f"{number}: {says}\n")


def test_rows_without_labels_are_read_by_the_models_own(run, tmp_path):
    """The task is theirs; the label is not known."""
    (tmp_path / "rows.csv").write_text("premise,hypothesis\nThe poets ran.,The poets slept.\n")
    arguments = ("--data", tmp_path / "rows.csv", "--id", 1, "--models", ONE, "--attribution", "none")
    status, out, _ = run(*arguments, ood=())
    assert (status, out.splitlines()[0]) == (0, "1: label unknown")


def test_a_text_of_ones_own_has_no_label(run):
    """What needs one has no value."""
    assert NEEDS_LABEL in run(*PAIR, "--models", ONE)[1]


def test_the_label_that_scores_speak_for_can_be_chosen(run):
    """Toward the other label every score changes its sign."""
    common = (*PAIR, "--models", ONE, "--format", "json", "--factors", "MAX-DIFF")
    first, second = (json.loads(run(*common, *flags)[1]) for flags in ((), ("--toward", "non-entailment")))
    words = [[word["score"] for word in answer["models"][0]["words"]] for answer in (first, second)]
    assert words[0] == [-score for score in words[1]]
    assert first["models"][0]["factors"] == second["models"][0]["factors"]


@pytest.mark.more
def test_a_page_is_written_to_a_file(run, tmp_path):
    """`-o x.html` is a page and leaves stdout empty; no models named means the embedded suite."""
    status, out, _ = run(*PAIR, "-o", tmp_path / "x.html")
    assert (status, out) == (0, "")
    headings = [tag for tag, _ in PageReader((tmp_path / "x.html").read_text()).tags if tag == "h2"]
    assert len(headings) == len(suites.load(["hans-sub-mini"]).models)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name one example: `--id ID`, or `--text TEXT` (twice for a pair)"),
        ((*PAIR, "--id", "x"), "name one example: `--id ID`, or `--text TEXT` (twice for a pair)"),
        (("--id", "x"), "`--id`: hans-sub has no example 'x'; its ids are like "),
        (
            ("--text", "One.", "--text", "bad \udcff"),
            "`--text`: example text: '\\udcff' is half of a character, and no text",
        ),
        (("--data", "x.csv"), "name one example: "),
        (("--data", "x.csv", *PAIR), "`--text` is an example by itself; name a row of `--data` with `--id`"),
        (("--data", "x.csv", "--data-dir", "y", "--id", "x"), "`--data-dir` is for `--ood`, without `--data`"),
        (("--task", "nli", "--id", "x"), "`--task` is for the rows of `--data FILE`"),
        (("--text", "One."), "`--text` must be given 2 times for hans-sub (got 1)"),
        ((*PAIR, "--toward", "entailmen"), "there is no label of nli 'entailmen'; did you mean entailment?"),
        ((*PAIR, "--toward", "maybe"), "there is no label of nli 'maybe'; known: "),
        ((*PAIR, "--format", "htm"), "there is no format of explanations 'htm'; did you mean html?"),
        ((*PAIR, "--attribution", "igg"), "there is no attribution backend 'igg'; did you mean ig?"),
        ((*PAIR, "--models", "nowhere"), "`--models`: no file, directory, suite.json or hub id"),
    ],
)
def test_wrong_arguments_get_one_line(run, arguments, message):
    """Refused before any model is loaded, with what would be right."""
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"rank-models: {message}")
    assert err.count("\n") == 1


def test_words_that_share_a_token_are_seen(classifier):
    """One [UNK] of two emoji: the first has its score, and neither is past a limit."""
    example = Example("a", ("Fine \N{PARTY POPPER}\N{PARTY POPPER}",), 1)
    (encoding,) = classifier("bert").encode([example])
    scores = np.arange(len(encoding.ids)) / 10
    columns = (encoding.tokens, encoding.segment, encoding.word, encoding.offsets, scores)
    words = words_of(Attributions(np.array([0.3, 0.7]), 1, *columns), example)
    by_text = [(word.text, word.score) for word in words if word.span]
    assert [text for text, _ in by_text] == ["Fine", "\N{PARTY POPPER}", "\N{PARTY POPPER}"]
    assert by_text[1][1] > 0
    assert by_text[2][1] == 0


@pytest.fixture
def moods(tmp_path):
    """Two models that say good and bad, and one that says three things."""
    checkpoints = []
    for name, labels in {"one": ("bad", "good"), "two": ("Bad", "Good"), "three": ("bad", "so-so", "good")}.items():
        shutil.copytree(ONE, tmp_path / name)
        config = json.loads((tmp_path / name / "config.json").read_text())
        config |= {"id2label": dict(enumerate(labels)), "label2id": {label: n for n, label in enumerate(labels)}}
        (tmp_path / name / "config.json").write_text(json.dumps(config))
        checkpoints.append(tmp_path / name)
    return checkpoints


def test_a_text_of_ones_own_is_explained_by_ones_own_models(run, moods):
    """No set is named: the task is that of the models' own labels, and the label to explain is one of them."""
    first, second, _ = moods
    common = ("--text", "What a waste of time.", "--models", first, second, "--factors", "ACC,CONF,MAX-DIFF")
    status, out, err = run(*common, "--toward", "BAD", ood=())
    assert (status, err) == (0, "")
    assert "one: " in out
    assert "two: " in out
    assert "'bad'" in out
    assert "'good'" not in out
    assert out.startswith("text: label unknown\n")
    assert run(*common, "--attribution", "none", ood=())[0] == 0


def test_a_pair_of_ones_own_is_of_the_known_task_with_the_models_labels(run):
    """So that the shortcut's label is explained, as with the set; two texts are a pair."""
    by_set = run(*PAIR, "--models", ONE, "--factors", "ACC", "--format", "json")[1]
    by_models = run(*PAIR, "--models", ONE, "--factors", "ACC", "--format", "json", ood=())[1]
    assert json.loads(by_models)["models"] == json.loads(by_set)["models"]


def test_a_text_of_ones_own_that_no_models_are_for(run, moods):
    """One line each: no models, models that differ, a label of none, three texts."""
    first, _, third = moods
    for arguments, message in (
        (("--text", "x"), "`--models A B` are needed to explain a text of your own"),
        (
            ("--text", "x", "--models", first, third),
            "the labels of the models differ: one says bad, good; three says bad",
        ),
        (
            ("--text", "x", "--toward", "meh", "--models", first),
            "there is no label of own labels 'meh'; known: bad, good",
        ),
        ((*PAIR, "--text", "x", "--models", first), "`--text` must be given 1 or 2 times (got 3)"),
    ):
        status, out, err = run(*arguments, ood=())
        assert (status, out) == (2, "")
        assert err.startswith(f"rank-models: {message}")
        assert err.count("\n") == 1


def test_a_broken_model_beside_a_good_one(run, tmp_path):
    """The good one is explained, the broken one listed, and the exit status tells of it."""
    (tmp_path / "broken").mkdir()
    status, out, _ = run(*PAIR, "--models", ONE, tmp_path / "broken")
    assert status == 1
    assert "broken FAILED: " in out


# ---- formats


def test_the_terminal_writes_scores_out_where_there_is_no_colour():
    """Words with scores and marks, the verdict, each factor's value, and no escape code."""
    text = render(explained(), "terminal")
    assert "\x1b" not in text
    assert f"Unless({ROW.word_scores[0]:+.2f})" in text
    assert f"nurse({ROW.word_scores[3]:+.2f}, control)" in text
    assert "one: entailment with probability 0.700, wrong" in text
    assert [*["SUM-DIFF", "shortcut", "lower"], f"{BUILTIN['SUM-DIFF'].score(ROW, EXAMPLE):.3f}"] in [
        line.split() for line in text.splitlines()
    ]


def test_the_terminal_colours_by_sign_and_strength():
    """The strongest word has the full colour of its sign; nothing is written out."""
    text = render(explained(), "terminal", colour=True)
    strongest = max(ROW.scores, key=abs)
    full = "70;140;230" if strongest > 0 else "240;150;60"
    assert text.count(f"48;2;{full}m") == 2  # the legend's swatch and the word
    assert "(+" not in text.replace("for (+)", "")


def test_the_text_of_an_example_is_kept_as_it_is():
    """Colours change no character: punctuation stays at its word, white space between words stays."""
    words = render(explained(), "terminal", colour=True)
    plain = "".join(part.partition("m")[2] if i else part for i, part in enumerate(words.split("\x1b[")))
    assert "  [CLS] Unless the tall nurse slept, the clerk drew a map. [SEP]\n" in plain
    assert "  The nurse slept. [SEP]\n" in plain


def test_the_page_is_one_file_without_scripts_or_addresses():
    """Everything that it needs is in it."""
    page = PageReader(text := render(explained(), "html"))
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object"}
    assert not any(key.startswith("on") or key in ("src", "href") for _, attrs in page.tags for key in attrs)
    assert "http" not in text
    assert "@import" not in text


def test_the_page_escapes_what_users_wrote():
    """A text, a model's name or a message with markup in it is shown, and not obeyed."""
    evil = '<script>alert("x")</script>'
    example = Example(evil, (f"A {evil} ran.", "It & ran."), 1)
    subjects = (Canned(evil), Canned("b", ModelError(evil)))
    page = PageReader(render(explained(*subjects, example=example, attribution="none"), "html"))
    assert "script" not in {tag for tag, _ in page.tags}
    assert page.text.count(evil) >= 4  # the title twice, the model's heading and column, the failure
    assert "It & ran." in page.text


def test_the_page_shows_special_tokens_that_look_like_tags():
    """RoBERTa's <s> is text, and strikes nothing through."""
    roberta = replace(ROW, tokens=("<s>", *ROW.tokens[1:]))
    page = PageReader(render(explained(Canned("one", roberta)), "html"))
    assert "s" not in {tag for tag, _ in page.tags}
    assert "<s>" in page.text


def test_the_page_says_a_words_score_without_colour():
    """Each word's title is its score, and a marked word's class and title say so."""
    spans = [attrs for tag, attrs in PageReader(render(explained(), "html")).tags if tag == "span" and "title" in attrs]
    assert len(spans) == len(ROW.tokens)
    assert spans[4] == {**spans[4], "class": "word mark", "title": f"{ROW.word_scores[3]:+.2f}, control"}


def test_words_past_the_models_limit_are_told():
    """A note counts words that were not seen, and they are no zeros."""
    cut, _ = cases("control")["cut off after three words"]
    explanation = explained(Canned("short", cut))
    assert "slept(not seen, control)" in render(explanation, "terminal")
    assert "short: words past its limit: 13." in render(explanation, "terminal")
    assert len(re.findall('class="[^"]*unseen', render(explanation, "html"))) == 13
    assert "NaN" not in render(explanation, "json")


def test_predictions_alone_have_words_without_scores():
    """With `none` the words are shown as they are, and baselines have their values."""
    bare = replace(ROW, tokens=(), **{n: getattr(ROW, n)[:0] for n in ("segment", "word", "offsets", "scores")})
    text = render(explained(Canned("one", bare), attribution="none"), "terminal")
    assert "  Unless the tall nurse slept" in text
    assert "not seen" not in text
    assert "MAX-DIFF" not in text
    assert "CONF-GT" in text


def test_json_is_complete_and_stable(real):
    """Words, probabilities and factors of every model, as plain JSON."""
    report = json.loads(render(real, "json"))
    assert report["schema_version"] == 1
    assert [model["name"] for model in report["models"]] == [reading.name for reading in real.readings]
    first = report["models"][0]
    assert set(first["probabilities"]) == set(real.labels)
    word = next(word for word in first["words"] if word["span"])
    assert real.example.text(Span(word["segment"], *word["span"])) == word["text"]
    assert first["factors"]["SUM-DIFF"] == real.readings[0].factors["SUM-DIFF"]
    assert "control" not in first["words"][0]["marks"]


@pytest.mark.parametrize("field", ["label", "toward"])
def test_a_saved_label_must_be_one_of_the_labels(real, field):
    """The true label, which may be unknown, and the one of the scores are among the labels."""
    content = real.to_dict()
    (content["example"] if field == "label" else content)[field] = "maybe"
    with pytest.raises(ValueError, match=rf"^`{field}` must be one of non-entailment, entailment \(got 'maybe'\)$"):
        Explanation.from_dict(content)
    content = real.to_dict()
    content["example"]["label"] = None
    assert Explanation.from_dict(content).label is None


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_deterministic_text(real, name):
    """The same explanation gives the same characters, ended by a newline."""
    assert render(real, name) == render(real, name)
    assert render(real, name).endswith("\n")
