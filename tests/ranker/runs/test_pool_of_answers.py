"""Decisions from a few references and a pool of texts, through files: ANCHORS and AGREEMENT."""

import csv
import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from columns import write_columns
from refusals import refuses
from rouge_score.rouge_scorer import RougeScorer

from ranker import decide
from ranker.errors import Question, RankModelsError, UnknownName, UsageError
from ranker.runs.likeness import _entry
from ranker.runs.pool import LEAST_COMPARED_ROWS, MAX_COMPARED_ROWS, most_compared
from ranker.runs.rows import RowsFile
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store
from ranker.sources.base import SourceOptions
from ranker.sources.suites import Suite, load
from ranker.sources.tables.options import TableOptions
from ranker.statistics.likeness import Anchors, infer_differences
from ranker.statistics.matches import Matches, draw
from ranker.tasks.text_scores import MATCHED_BLEU
from ranker.tasks.texts import SpanTask, TextTask

WORDS = "a big old dog cat tree ran sat fell to from over the town river house slowly again".split()  # noqa: SIM905
RIGHT = {"best": 0.9, "good": 0.7, "fair": 0.5, "poor": 0.2}
KNOWN = 6


@pytest.fixture
def files(tmp_path):
    """(rows with references, pool, models' files, references, answers): each model keeps a share of the words."""
    rng = random.Random(0)
    ids = [f"r{n}" for n in range(40)]
    references = [" ".join(rng.choices(WORDS, k=8)) for _ in ids]
    answers = {
        name: [" ".join(w if rng.random() < share else rng.choice(WORDS) for w in text.split()) for text in references]
        for name, share in RIGHT.items()
    }
    answers["poor"][3] = ""
    texts = [f"document {name}" for name in ids]
    write_columns(tmp_path / "rows.csv", id=ids[:KNOWN], text=texts[:KNOWN], reference=references[:KNOWN])
    write_columns(tmp_path / "pool.csv", id=ids, text=texts)
    models = [write_columns(tmp_path / f"{name}.csv", id=ids, prediction=answer) for name, answer in answers.items()]
    return tmp_path / "rows.csv", tmp_path / "pool.csv", models, references, answers


def rouge(answer, reference):
    """ROUGE-L by rouge-score; 0 where either is empty."""
    return RougeScorer(["rougeL"]).score(reference, answer)["rougeL"].fmeasure if answer and reference else 0.0


def expected(references, answers):
    """Compute ANCHORS of the answers from their likeness, by a plain loop."""
    names, size = list(answers), len(references)
    similarity = np.zeros((len(names), len(names), size))
    for m, of_model in enumerate(names):
        for k, of_other in enumerate(names):
            for row in range(size):
                similarity[m, k, row] = m != k and rouge(answers[of_model][row], answers[of_other][row])
    outcomes = np.array([[rouge(answers[name][row], references[row]) for row in range(KNOWN)] for name in names])
    anchors = Anchors(similarity)
    return names, anchors, infer_differences(anchors, outcomes, range(KNOWN), domain=True), outcomes


def test_a_pool_of_texts_orders_models_by_anchors(files):
    """Order and probabilities are those of the likeness of all answers; the outcomes those of the references."""
    rows, pool, models, references, answers = files
    decision = decide(models, RowsFile(rows, "text"), pool=RowsFile(Path(pool))).decision
    names, _, posterior, outcomes = expected(references, answers)
    order = np.argsort(-posterior.score)
    assert (decision.method, decision.names) == ("ANCHORS", tuple(names[place] for place in order))
    assert np.array(decision.p_beats) == pytest.approx(posterior.beats()[np.ix_(order, order)], abs=1e-9)
    assert [model.outcome for model in decision.models] == pytest.approx(outcomes.mean(axis=1)[order].tolist())
    assert decision.names == tuple(RIGHT)
    assert "The pool adds 34 rows, read without labels." in decision.notes


def test_declared_families_count_if_each_model_has_one(files):
    """As the answers tell with these families; without one of the names they are found."""
    rows, pool, models, references, answers = files
    suite = load(models).models
    declared = dict(zip(answers, "xyyx", strict=True))
    of_families = [replace(model, source=replace(model.source, family=declared[model.name])) for model in suite]
    names, anchors, found_families, outcomes = expected(references, answers)
    of_declared = infer_differences(
        replace(anchors, declared=(*declared.values(),)), outcomes, range(KNOWN), domain=True
    )
    unnamed = [suite[0], *of_families[1:]]
    assert abs(of_declared.beats() - found_families.beats()).max() > 1e-4
    for of_suite, posterior in ((of_families, of_declared), (unnamed, found_families)):
        decision = decide(
            Suite("models", of_suite), RowsFile(rows, "text"), pool=pool, runtime=Runtime(store=None)
        ).decision
        order = [names.index(name) for name in decision.names]
        assert np.array(decision.p_beats) == pytest.approx(posterior.beats()[np.ix_(order, order)], abs=1e-9)
    (note,) = [note for note in decision.notes if "answer alike" in note]
    assert note == "3 of 4 models answer alike: best, good, fair. If they err alike, the order is theirs."


def test_agreement_needs_no_reference(files):
    """Agreement ranks by the mean likeness to the others' answers, and says what that puts first."""
    rows, pool, models, references, answers = files
    decision = decide(models, RowsFile(rows, "text"), pool=RowsFile(Path(pool)), method="agreement").decision
    names, anchors, _, _ = expected(references, answers)
    assert decision.method == "AGREEMENT"
    assert [model.score for model in decision.models] == pytest.approx(sorted(anchors.mean_agreement, reverse=True))
    assert "AGREEMENT sees no label, and puts models first that err alike." in decision.notes


def test_without_a_pool_the_methods_of_one_are_refused(files):
    """As those of labels are; and those of labels are none here."""
    rows, pool, models, _, _ = files
    with refuses(UsageError, option="method", value="ANCHORS"):
        decide(models, RowsFile(rows, "text"), method="anchors")
    with refuses(UnknownName, value="SURROGATE"):
        decide(models, RowsFile(rows, "text"), pool=RowsFile(Path(pool)), method="SURROGATE")


def test_a_metric_may_be_named_as_the_method_too(files):
    """By its name, whichever the task's default is."""
    rows, _, models, _, _ = files
    ranking = decide(models, RowsFile(rows, "text"), metric="token-f1", method="token-f1")
    assert (ranking.header.metric, ranking.decision.method) == ("TOKEN-F1", "TOKEN-F1")


@pytest.mark.more
def test_of_a_large_pool_some_rows_are_compared_the_same_ones_each_time(files, tmp_path):
    """The labelled rows are among them, and a second run, or another order of the rows, gives the same numbers."""
    rows, _, models, _, answers = files
    ids = [f"r{n}" for n in range(KNOWN)] + [f"s{n}" for n in range(3 * MAX_COMPARED_ROWS)]
    rng = random.Random(1)
    write_columns(tmp_path / "large.csv", id=ids, text=[f"document {name}" for name in ids])
    for path, answer in zip(models, answers.values(), strict=True):
        unlabelled_texts = [" ".join(rng.choices(WORDS, k=8)) for _ in ids[KNOWN:]]
        with open(path, "w", newline="") as file:
            csv.writer(file).writerows(
                [("id", "prediction"), *zip(ids, answer[:KNOWN] + unlabelled_texts, strict=True)]
            )
    write_columns(tmp_path / "turned.csv", id=ids[::-1], text=[f"document {name}" for name in ids[::-1]])
    first, second, turned = (
        decide(models, RowsFile(rows, "text"), pool=RowsFile(tmp_path / name)).decision
        for name in ("large.csv", "large.csv", "turned.csv")
    )
    (note,) = [note for note in first.notes if note.startswith("The pool adds")]
    count, total = (int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", note.partition(" rows")[0]))
    assert MAX_COMPARED_ROWS - KNOWN <= count <= MAX_COMPARED_ROWS
    assert total == 3 * MAX_COMPARED_ROWS
    assert first == second
    assert [model.p_best for model in turned.models] == pytest.approx([model.p_best for model in first.models])


def test_bleu_beside_a_pool_is_that_of_its_matches(files):
    """Order and P are those of right sequences by a plain loop, and the reported value is that of the labelled rows."""
    rows, pool, models, references, answers = files
    metric, names = TextTask("text").metric_named("bleu"), list(answers)
    alike = np.array(
        [
            [metric.statistics(answers[name], [(text,) for text in answers[other_name]]) for other_name in names]
            for name in names
        ]
    )
    families = tuple(map(str, expected(references, answers)[1].families.tolist()))
    labelled = np.array(
        [metric.statistics(answers[name][:KNOWN], [(text,) for text in references[:KNOWN]]) for name in names]
    )
    evidence = Matches(alike, labelled, np.arange(KNOWN), *MATCHED_BLEU[:2], metric.value, families)
    belief = draw(evidence, np.random.default_rng(0))
    ranking = decide(load(models), RowsFile(rows, task=TextTask("text")), pool=pool, metric="bleu",
                     runtime=Runtime(store=None))  # fmt: skip
    decision = ranking.decision
    assert (decision.method, decision.metric) == ("ANCHORS", "bleu")
    assert list(decision.names) == [names[m] for m in belief.order.tolist()] == ["best", "good", "fair", "poor"]
    assert np.array(decision.p_beats) == pytest.approx(belief.beats()[np.ix_(belief.order, belief.order)], abs=1e-9)
    values = dict(zip(names, metric.value(labelled.mean(axis=1)).tolist(), strict=True))
    assert {model.name: model.outcome for model in decision.models} == pytest.approx(values)


def test_fewer_rows_are_compared_where_a_metric_is_slow():
    """By a rule that states seconds, and reads no clock: so a machine makes no difference."""
    assert most_compared(TextTask("t", "rouge-l"), 60) == MAX_COMPARED_ROWS
    assert most_compared(TextTask("t", "sentence-bleu"), 60) == 66
    assert most_compared(TextTask("t", lambda answer, reference: 1.0), 200) == LEAST_COMPARED_ROWS


def test_tags_beside_a_pool_are_compared_by_the_mean_of_rows(tmp_path):
    """The F1 of all rows together is none; the run says by what it compares, and refuses the other by name."""
    texts, right = ["Ann ran", "It sat", "Bob fell", "Ann sat"], ["B-PER O", "O O", "B-PER O", "B-PER O"]
    write_columns(tmp_path / "rows.csv", text=texts[:2], tags=right[:2])
    write_columns(tmp_path / "pool.csv", text=texts)
    good = write_columns(tmp_path / "good.csv", text=texts, prediction=right)
    poor = write_columns(tmp_path / "poor.csv", text=texts, prediction=["O O", "O O", "B-PER O", "O B-PER"])
    task = RowsFile(tmp_path / "rows.csv", "tags")
    ranking = decide([good, poor], task, pool=RowsFile(tmp_path / "pool.csv"))
    assert (ranking.header.metric, ranking.decision.method, ranking.decision.metric) == ("ROW-F1", "ANCHORS", "")
    assert any("Beside a pool models are compared by ROW-F1" in note for note in ranking.notes)
    with refuses(UsageError, option="metric", value="span-f1"):
        decide([good, poor], task, pool=RowsFile(tmp_path / "pool.csv"), metric="span-f1")


def test_answers_are_compared_once(files, tmp_path, monkeypatch):
    """A second run makes no call of the metric for likeness, and says the same; a row with another answer is new."""
    rows, pool, models, _, answers = files
    calls = []
    plain = TextTask.similarity
    monkeypatch.setattr(
        TextTask, "similarity", lambda task, first, second: calls.append(len(first)) or plain(task, first, second)
    )
    runtime = Runtime(store=tmp_path / "store")

    def decided():
        calls.clear()
        return decide(models, RowsFile(rows, "text"), pool=RowsFile(Path(pool)), runtime=runtime).decision

    first = decided()
    assert calls == [40] * 16
    assert (decided(), calls) == (first, [])
    changed = [*answers["good"][:7], "another text", *answers["good"][8:]]
    write_columns(tmp_path / "good.csv", id=[f"r{n}" for n in range(40)], prediction=changed)
    decided()
    assert calls == [1] * 16


def test_a_metric_of_ones_own_is_computed_each_time(tmp_path):
    """A function of somebody else may read a file; metrics of ours have a key each."""
    store = Store(tmp_path / "store")
    assert _entry(TextTask("text", lambda answer, reference: float(answer == reference)), store) is None
    keys = {_entry(task, store).digest for task in (TextTask("text"), TextTask("text", "chrf"), SpanTask("text"))}
    assert len(keys) == 3


@pytest.mark.parametrize("column", ["x", "correct"])
def test_outcomes_are_not_read_as_answers(files, column, caplog):
    """A column of 0 and 1 beside references without numbers is refused, and never judged as texts."""
    rows, _, models, _, _ = files
    ids, bits = [f"r{n}" for n in range(KNOWN)], [n % 2 for n in range(KNOWN)]
    tables = [write_columns(Path(file), **{"id": ids, column: bits}) for file in models[:2]]
    with pytest.raises(RankModelsError, match="2 of 2 models failed"):
        decide(tables, RowsFile(rows, "text"))
    assert "a table of outcomes is read by `answers=outcomes`" in caplog.text


@pytest.mark.parametrize("kind", ["labels", "probabilities", "logits", "log-likelihoods"])
def test_texts_are_not_read_as_labels(files, kind):
    """`answers` of labels beside a task without labels is refused at once, and no model is left out for it."""
    rows, _, models, _, _ = files
    with refuses(Question, option="answers", place=models[0]):
        decide(load(models, SourceOptions(kinds=[TableOptions(answers=kind)])), RowsFile(rows, "text"))


def test_answers_of_0_and_1_are_read_where_references_are_numbers(files):
    """Texts of 0 and 1 are answers if a true answer is one."""
    rows, _, models, _, _ = files
    ids, bits = [f"r{n}" for n in range(KNOWN)], [n % 2 for n in range(KNOWN)]
    tables = [write_columns(Path(file), id=ids, x=bits) for file in models[:2]]
    write_columns(rows, id=ids, text=["a"] * KNOWN, reference=bits)
    decision = decide(tables, RowsFile(rows, "text")).decision
    assert [model.outcome for model in decision.models] == [1.0, 1.0]
