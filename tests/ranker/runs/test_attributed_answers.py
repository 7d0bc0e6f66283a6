"""Whole runs in which tags and spans are attributed: factors, the store, and explanations."""

import json

import numpy as np
import pytest
from conftest import make_checkpoint
from goldens import PageReader
from refusals import refuses
from tag_guest import Tagger, WeighedTask, Weigher, tags_of, weight
from tag_guest import TagTask as PlainTask

from factors import BUILTIN, Example
from ranker import Evidence, attribute, decide, rank
from ranker.attribution.settings import SHAPSettings
from ranker.datasets.sets import LabelledDataset
from ranker.errors import UsageError
from ranker.progress import silent
from ranker.report import render
from ranker.runs.collect import run_models
from ranker.runs.explain import explain
from ranker.runs.inspected import inspect_models
from ranker.runs.rows import RowsFile
from ranker.runtime.base import Request
from ranker.runtime.executors.processes import Processes
from ranker.runtime.executors.serial import Serial
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import BLOCK
from ranker.runtime.upkeep import verify
from ranker.scoring.score import UNATTRIBUTED
from ranker.sources.hf.extractors import SpanExtractor
from ranker.sources.hf.taggers import Tagger as HFTagger
from ranker.tasks.tags import TagTask
from ranker.tasks.texts import SpanTask

pytestmark = pytest.mark.usefixtures("registered_tags")

TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
TASK = WeighedTask("tags")
TEXTS = [f"{a} saw {b} near it" for a in ("ann", "bob", "cat", "dan") for b in ("apes", "bats", "dogs")]
ROWS = [Example(str(n), (text,), tags_of("a", Example("", (text,)))) for n, text in enumerate(TEXTS)]
GENERIC = [BUILTIN["CONCENTRATION"], BUILTIN["STOP-SHARE"]]


def weighers(tmp_path, *names):
    """Linear taggers, which note the rows that they encode in one file."""
    return [Weigher(name, "", str(tmp_path / "encoded")) for name in names]


def dataset(rows=ROWS):
    """Rows as a set."""
    return LabelledDataset("rows", TASK, tuple(rows), len(rows))


@pytest.mark.more
def test_a_decision_measures_factors_of_the_prediction(tmp_path):
    """Of words that weigh w in a sum, w is the score: the factors are known; the others say why they are left out."""
    runtime = Runtime(store=tmp_path / "store")
    evidence = Evidence(factors=[*GENERIC, BUILTIN["CONTENT-TRUE"], BUILTIN["CONF"], BUILTIN["SUM-DIFF"]])
    ranking = decide(weighers(tmp_path, "a", "b"), dataset(), evidence=evidence, runtime=runtime)
    table = ranking.table
    assert ranking.header.attribution == "shap"
    assert [method.name for method in table.methods] == ["EXACT", "CONCENTRATION", "STOP-SHARE"]
    assert {*ranking.header.left_out} == {"CONTENT-TRUE", "CONF", "SUM-DIFF"}
    for model, values in zip(table.models, table.values[:, 1], strict=True):
        for row, value in zip(ROWS, values, strict=True):
            weights = np.abs([weight(word) for word in row.segments[0].split(" ")])
            expected = np.sum((weights / weights.sum()) ** 2) if "B" in tags_of(model, row) else np.nan
            assert value == pytest.approx(expected, abs=1e-9, nan_ok=True)
    undefined = sum(not all("B" in tags_of(name, row) for name in "ab") for row in ROWS)
    assert 0 < undefined < len(ROWS)
    assert table.dropped["CONCENTRATION"] == {UNATTRIBUTED: undefined}
    quality = ranking.header.quality["a"]
    assert (quality.over_tolerance, quality.truncated, quality.error_median) == (0, 0, pytest.approx(0, abs=1e-12))
    encoded = (tmp_path / "encoded").read_text()
    again = decide(weighers(tmp_path, "a", "b"), dataset(), evidence=evidence, runtime=runtime)
    np.testing.assert_array_equal(again.table.values, table.values)
    assert (tmp_path / "encoded").read_text() == encoded


@pytest.mark.more
def test_a_page_explains_the_rows_that_taggers_answer_most_differently(tmp_path):
    """Each with the reference, the models' answers and their words' scores; none where nothing is attributed."""
    models = weighers(tmp_path, "a", "b", "z")
    ranking = decide(models, dataset(), evidence=Evidence(factors=GENERIC))
    differing = sorted(ROWS, key=lambda row: -len({tags_of(name, row) for name in "abz"}))
    assert [example.example.id for example in ranking.examples] == [row.id for row in differing[:3]]
    for example in ranking.examples:
        row = ROWS[int(example.example.id)]
        assert example.label == TASK.show(row.target)
        predicted = {reading.name: reading.predicted for reading in example.readings}
        assert predicted == {name: TASK.show(tags_of(name, row)) for name in "abz"}
        scores = [word.score for word in example.readings[0].words]
        assert scores == pytest.approx([weight(word) for word in row.segments[0].split(" ")])
    assert "What the models look at" in render(ranking, "html")
    plain = decide(models, dataset())
    assert (plain.examples, "What the models look at" in render(plain, "html")) == ((), False)


@pytest.mark.more
def test_nothing_is_attributed_unasked(tmp_path):
    """Neither in a decision nor in a ranking, where models may be unable to; a named factor asks for it."""
    models = [*weighers(tmp_path, "a"), Tagger("plain")]
    assert decide(models, dataset()).header.attribution == "none"
    assert rank(models, dataset(), probe=3).header.attribution == "none"
    ranking = rank(weighers(tmp_path, "a", "b", "c"), dataset(), probe=3, evidence=Evidence(factors=GENERIC))
    assert (ranking.header.attribution, ranking.header.failures) == ("shap", {})
    failures = decide([*models, *weighers(tmp_path, "d")], dataset(), evidence=Evidence("shap")).header.failures
    assert failures == {"plain": "plain answers to whole texts only; set `attribution` to `none`"}


@pytest.mark.more
@pytest.mark.parametrize("executor", [Serial(), Processes(2)])
def test_attributions_are_stored_beside_answers(tmp_path, executor):
    """Attributions come back as they were, from this process or another, and a second run encodes no row."""
    requests = [[Request(ROWS), Request(ROWS, SHAPSettings())]]
    runtime = Runtime(store=tmp_path / "store", executor=executor, progress=silent)
    for _ in range(2):
        replies, failures = run_models(inspect_models(weighers(tmp_path, "a")), TASK, requests, runtime)
        assert not failures
        tags, attributed = replies["a"].answers
        assert list(tags.predictions.values) == [tags_of("a", row) for row in ROWS]
        for row, attribution in zip(ROWS, attributed.attributions, strict=True):
            weights = [weight(word) for word in row.segments[0].split(" ")]
            answered = "B" in tags_of("a", row)
            assert attribution.undefined == (not answered)
            expected = weights if answered else np.full(len(weights), np.nan)
            np.testing.assert_allclose(attribution.word_scores, expected, atol=1e-12)
    assert (tmp_path / "encoded").read_text().split() == [row.id for row in ROWS]
    assert not verify(tmp_path / "store")[1]


@pytest.mark.more
def test_a_killed_model_goes_on_behind_what_is_stored(tmp_path):
    """At most one block is computed twice, and nothing that is stored."""
    rows = [Example(str(n), (f"ann saw row {n}",)) for n in range(3 * BLOCK)]
    models = weighers(tmp_path, "a")
    killed = Weigher("a", str(2 * BLOCK + 3), models[0].file)
    runtime = Runtime(store=tmp_path / "store", executor=Processes(1), progress=silent)
    requests = [[Request(rows, SHAPSettings())]]
    _, failures = run_models(inspect_models([killed]), TASK, requests, runtime)
    assert list(failures) == ["a"]
    before = (tmp_path / "encoded").read_text().split()
    replies, failures = run_models(inspect_models(models), TASK, requests, runtime)
    after = (tmp_path / "encoded").read_text().split()[len(before) :]
    assert (len(before), failures) == (2 * BLOCK + 3, {})
    assert len({*before} & {*after}) <= BLOCK
    assert {*before} | {*after} == {row.id for row in rows}
    assert len(after) <= 2 * BLOCK
    assert len(replies["a"].answers[0].attributions) == len(rows)
    run_models(inspect_models(models), TASK, requests, runtime)
    assert (tmp_path / "encoded").read_text().split() == [*before, *after]


def test_an_explanation_shows_answers_and_the_words_behind_them(tmp_path):
    """The words of a tagger that finds nothing have no scores, and its factors say why."""
    explanation = explain(weighers(tmp_path, "b", "z"), ROWS[1], task=TASK, evidence=Evidence(factors=GENERIC))
    first, second = explanation.readings
    assert (explanation.label, explanation.labels, explanation.toward) == ("B O O O O", (), TASK.outputs[0])
    assert [reading.predicted for reading in explanation.readings] == ["O O B O O", "O O O O O"]
    assert (first.probabilities, first.probability, first.wordless) == ({}, None, None)
    assert [word.score for word in first.words] == pytest.approx([weight(w) for w in ROWS[1].segments[0].split(" ")])
    assert (first.within_tolerance, second.within_tolerance, second.scored) == (True, True, False)
    assert second.undefined == dict.fromkeys(("CONCENTRATION", "STOP-SHARE"), UNATTRIBUTED)
    assert type(explanation).from_dict(json.loads(json.dumps(explanation.to_dict()))).to_dict() == explanation.to_dict()
    plain = explain([Tagger("b")], ROWS[1], task=PlainTask("plain"), evidence=Evidence("none"))
    assert (plain.readings[0].predicted, plain.readings[0].scored) == ("O O B O O", False)
    with refuses(UsageError, option="attribution", value="shap", allowed=("none",)):
        explain([Tagger("b")], ROWS[1], task=PlainTask("plain"))


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    """A tiny BERT with tags."""
    folder = tmp_path_factory.mktemp("tagger")
    return make_checkpoint(folder, "bert", TAGS, "TokenClassification", 3, initializer_range=0.5)


@pytest.fixture(scope="module")
def extractor(tmp_path_factory):
    """A tiny BERT that answers questions."""
    return make_checkpoint(
        tmp_path_factory.mktemp("extractor"), "bert", None, "QuestionAnswering", 3, initializer_range=0.5
    )


def shown(rank_models, *flags):
    """Print what `explain` prints."""
    status, out, _ = rank_models("explain", *flags)
    assert not status
    return out


@pytest.fixture
def files(tmp_path):
    """Rows of tags and of questions."""
    words = ["The", "old", "judge", "saw", "an", "actor"]
    tags, dev = tmp_path / "gold.jsonl", tmp_path / "dev.json"
    tags.write_text(json.dumps({"id": "t1", "tokens": words, "tags": ["O", "O", "B-PER", "O", "B-LOC", "I-LOC"]}))
    question = {"id": "q1", "question": "Who danced?", "answers": [{"text": "The judge"}]}
    paragraph = {"context": "The judge danced near an actor.", "qas": [question]}
    dev.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    return tags, dev


@pytest.mark.more
def test_explain_shows_tags_and_spans_in_every_format(tagger, extractor, files, rank_models):
    """The reference, the prediction, each word's score as `attribute` has it, and what is explained."""
    tags, dev = files
    cases = [
        (tags, TagTask("tags"), "t1", tagger, HFTagger, "PER judge, LOC an actor"),
        (dev, SpanTask("spans"), "q1", extractor, SpanExtractor, "The judge"),
    ]
    for file, task, row, model, loads, reference in cases:
        common = ("--data", file, "--task", task.name, "--id", row, "--models", model)
        common += ("--attribution", "occlusion:hide=mask")
        content = json.loads(shown(rank_models, *common, "--format", "json"))
        (example,) = RowsFile(file, task).labelled().examples
        loaded = loads.load(model)
        (attribution,) = attribute(loaded, [example], "occlusion:hide=mask")
        (predicted,) = next(loaded.predict([example])).values
        (reading,) = content["models"]
        assert not attribution.undefined
        assert (content["example"]["label"], content["toward"]) == (reference, task.outputs[0])
        assert (reading["predicted"], reading["probabilities"]) == (task.show(predicted, example.segments), {})
        scores = [word["score"] for word in reading["words"] if word["span"]]
        assert scores == pytest.approx(attribution.word_scores.tolist())
        text, page = shown(rank_models, *common), PageReader(shown(rank_models, *common, "--format", "html")).text
        for part in (f"{row}: {reference}", reading["predicted"], task.outputs[0]):
            assert part in " ".join(text.split())
            assert part in " ".join(page.split())
        assert f"judge({attribution.word_scores[[example.text(w) for w in example.words].index('judge')]:+.2f})" in text
        assert "with probability" not in text.partition("\n\n")[0]


def test_a_text_of_ones_own_is_tagged_and_explained(tagger, rank_models):
    """With the task named; words are split at blanks, and no reference is known."""
    common = ("--text", "The old judge saw an actor", "--models", tagger, "--attribution", "occlusion:hide=mask")
    text = shown(rank_models, "--task", "tags", *common)
    assert text.startswith("text: label unknown\n")
    (example,) = [Example("text", ("The old judge saw an actor",))]
    (attribution,) = attribute(HFTagger.load(tagger), [example], "occlusion:hide=mask")
    assert f"judge({attribution.word_scores[2]:+.2f})" in text
    status, _, err = rank_models("explain", *common)
    assert status
    assert "`--task NAME` is needed (tags, spans, text, number, ranking, label-sets)" in err


def test_a_label_cannot_be_explained_of_answers_that_are_none(tagger, files, rank_models):
    """The option is of labels."""
    status, _, err = rank_models(
        "explain", "--data", str(files[0]), "--task=tags", "--id=t1", "--toward=PER", "--models", str(tagger)
    )
    assert status
    assert "is for answers that are labels, and answers to tags are judged by ROW-F1" in err
