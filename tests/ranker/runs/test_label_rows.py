import csv
import datetime
import decimal
import io
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

from factors import Example
from ranker import labelled
from ranker.datasets import readers, sets
from ranker.datasets.identity import row_key
from ranker.datasets.readers import read_sheet
from ranker.errors import DataError, UsageError
from ranker.labelling import export
from ranker.labelling.sheet import cells_by_row
from ranker.runs.decide import decide
from ranker.runs.inspected import inspect_models
from ranker.runs.label import label
from ranker.runs.label_predictions import LabelSettings, predictions
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence
from ranker.sources import suites
from ranker.sources.suites import Suite
from ranker.statistics.vote import LABEL_NOISE


@pytest.fixture(scope="module")
def suite():
    """Four of the embedded models."""
    full_suite = suites.load(["hans-sub-mini"])
    return suites.Suite(full_suite.name, full_suite.models[::2])


@pytest.fixture(scope="module")
def rows():
    """Eighty embedded rows, with their labels."""
    return sets.sample(sets.load("hans-sub"), 80)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    """One store for the module: each model predicts each row once."""
    return Runtime(store=tmp_path_factory.mktemp("store"))


@pytest.fixture
def task():
    """The task of the embedded rows."""
    return sets.cards()["hans-sub"].task


def unlabelled(rows):
    """The rows as a pool has them."""
    return [Example(row.id, row.segments) for row in rows]


def chosen(models, task, pool, count, rule="order", **options):
    """Rows to label next."""
    return label(models, pool, task=task, settings=LabelSettings(rule), **options).next_batch(count)


def filled(pool, rows, column="label"):
    """A sheet of rows of a pool."""
    cells = cells_by_row(pool, readers.unlabelled(pool))
    return export.render("csv", rows, [cells[row_key(row)] for row in rows], ("no", "yes"), column)


@pytest.mark.more
def test_the_choice_looks_at_no_label(suite, rows, task, runtime):
    """The same rows are chosen from rows that have labels; random ones go on where they stopped."""
    ten = chosen(suite, task, unlabelled(rows), 10, runtime=runtime)
    assert [row.id for row in chosen(suite, task, rows, 10, runtime=runtime)] == [row.id for row in ten]
    ten = chosen(suite, task, unlabelled(rows), 10, "random", runtime=runtime)
    with_labels = [replace(row, target=1) for row in ten[:5]]
    assert chosen(suite, task, unlabelled(rows), 5, "random", labelled=with_labels, runtime=runtime) == ten[5:]


def test_how_often_each_label_is_predicted_is_said_of_the_rows_together(suite, rows, task, runtime):
    """Shares of all answers of all models to these rows, and to no others."""
    session = label(suite, unlabelled(rows), task=task, runtime=runtime)
    first_rows = session.next_batch(10)
    predicted, _, _ = predictions(suite, task, first_rows, runtime)
    share = 100 * np.mean(predicted.predicted == 1)
    balance = session.balance(first_rows)
    assert (
        f"on these rows the models predict entailment {share:.0f} %" in balance
        or f", entailment {share:.0f} %" in balance
    )
    alike = re.search(r"; all rows have one label with a probability of <?(\d+) %(; if so, label some more)?", balance)
    assert alike
    assert (int(alike[1]) > 10) == bool(alike[2])
    (row,) = session.next_batch(1)
    assert "a probability of >99 %; if so" in session.balance([row])


def test_accuracies_that_a_suite_states_count(suite, rows, task, runtime):
    """The session knows those of all models, and says so once; of models that nobody vouches for it knows none."""
    session = label(suite, unlabelled(rows), task=task, runtime=runtime)
    assert session.predictions.pool.in_domain_accuracy.tolist() == [model.in_domain_accuracy for model in suite.models]
    assert (session.session.learner.patterns.in_domain == session.predictions.pool.in_domain_accuracy).all()
    assert sum("in-domain" in note for note in session.opening_notes()) == 1
    strangers = Suite("", tuple(replace(model, in_domain_accuracy=None) for model in suite.models))
    session = label(strangers, unlabelled(rows), task=task, runtime=runtime)
    assert session.predictions.pool.in_domain_accuracy is None
    assert not any("in-domain" in note for note in session.opening_notes())


def test_constant_models_are_named(suite, rows, task, runtime):
    """A session, and a decision with a pool, name the models that predict one label on every row, and no others."""
    pool = unlabelled(rows)
    session = label(suite, pool, task=task, runtime=runtime)
    constant = [
        name for name in session.models if len({session.predictions_for(row)[name] for row in session.rows}) == 1
    ]
    assert [note.split()[0] for note in session.opening_notes() if " predicts " in note] == constant
    assert 0 < len(constant) < len(session.models)
    labelled = sets.LabelledDataset("own", task, rows[:4], 4)
    ranking = decide(suite, labelled, pool=pool, runtime=runtime, evidence=Evidence("none"))
    assert [note.split()[0] for note in ranking.notes if "rows of the pool" in note] == constant


def test_two_models_can_choose(suite, rows, task, runtime):
    """As few as there can be in a suite."""
    two = suites.Suite(suite.name, suite.models[:2])
    chosen_rows = chosen(two, task, unlabelled(rows), 3, runtime=runtime)
    assert len(chosen_rows) == 3


def test_a_text_is_chosen_once(suite, rows, task, runtime):
    """A pool without ids that holds each text twice gives each text once, with its first number."""
    numbered = [Example(str(n), row.segments, numbered_in="pool.csv") for n, row in enumerate((*rows, *rows))]
    ten = chosen(suite, task, numbered, 10, runtime=runtime)
    assert len({row.segments for row in ten}) == 10
    assert all(int(row.id) < len(rows) for row in ten)


def test_more_rows_than_there_are_is_one_clear_line(suite, rows, task, runtime):
    """The size that is left is named."""
    with refuses(UsageError, option="batch", value=4, allowed=(1, 3)):
        chosen(suite, task, unlabelled(rows[:5]), 4, labelled=rows[:2], runtime=runtime)


def test_the_file_to_fill_in_is_read_back_as_it_was_written(tmp_path):
    """Quotes, commas, line breaks and what looks like a formula survive the way to the labels and back."""
    texts = ['He said "no", then ran.\nTwice.', "=SUM(A1)", " spaces ", "naïve 😀", "A\rlone return", "and\r\ntwo"]
    for count in (4, 6):
        pool = read_sheet([{"text1": text, "text2": "It moved."} for text in texts[:count]], required=["text"])
        file = tmp_path / "filled.csv"
        content = filled(pool, readers.unlabelled(pool)).replace(",It moved.,", ",It moved.,entailment")
        file.write_text(content.replace('"It moved.",""', '"It moved.","entailment"'), encoding="utf-8", newline="")
        examples = labelled(file, "nli").examples
        assert [row.segments for row in examples] == [row.segments for row in readers.unlabelled(pool)]
        assert {row.target for row in examples} == {1}


def test_what_json_does_not_know_is_written_as_text():
    """Parquet knows dates, decimals and bytes."""
    moment = datetime.datetime(2026, 1, 2, 3, 4)
    pool = read_sheet([{"text": "A dog ran.", "seen": moment, "cost": decimal.Decimal("1.5")}], required=["text"])
    sheet = filled(pool, readers.unlabelled(pool))
    assert list(csv.DictReader(io.StringIO(sheet)))[0] == {
        "text": "A dog ran.", "seen": "2026-01-02 03:04:00", "cost": "1.5", "label": ""
    }  # fmt: skip


def test_a_row_that_says_it_has_no_label_has_none():
    """-1, as `datasets` writes it beside label names; without names it is a number like another."""

    class Named(list):
        features = {"label": type("ClassLabel", (), {"names": ["no", "yes"]})}

    rows = [{"text": "A.", "label": -1}, {"text": "B.", "label": 1}]
    assert readers.raw_labels(read_sheet(Named(rows))) == [None, "yes"]
    assert readers.raw_labels(read_sheet(rows)) == ["-1", "1"]


def test_the_file_to_fill_in_has_all_that_the_pool_has():
    """The user's own columns and their order; texts in a list become columns, and what is no text is JSON."""
    rows = [
        {"key": 7, "segments": ["A dog ran.", "It moved."], "marks": {"cue": [[0, 2, 5]]}, "by": "Ann"},
        {"key": 8, "segments": ["A dog sang.", "It moved."], "extra": "\ud800"},
    ]
    pool = read_sheet(rows, {"id": "key"}, ["text"])
    sheet = filled(pool, readers.unlabelled(pool)[::-1], "gold")
    assert list(csv.reader(io.StringIO(sheet))) == [
        ["key", "text1", "text2", "marks", "by", "extra", "gold"],
        ["8", "A dog sang.", "It moved.", "", "", "?", ""],
        ["7", "A dog ran.", "It moved.", '{"cue": [[0, 2, 5]]}', "Ann", "", ""],
    ]


def small_pool_sentence(pool_rows, models, caplog, runtime):
    """Write the sentence of a session and a decision on a small pool, which is the same."""
    task, files = sets.cards()["hans-sub"].task, inspect_models(models)
    caplog.clear()
    label(files, pool_rows, task=task, runtime=runtime)
    texts = {row.segments for row in pool_rows[:3]}
    answered = tuple(row for row in sets.load("hans-sub").examples if row.segments in texts)
    labelled_rows = sets.LabelledDataset("own", task, answered, len(answered))
    decision = decide(files, labelled_rows, pool=pool_rows, evidence=Evidence("none"), runtime=runtime)
    sentences = [note for note in decision.header.notes if note.startswith("A pool of")]
    assert sentences == [record.getMessage() for record in caplog.records if record.getMessage().startswith("A pool")]
    return "".join(sentences)


@pytest.mark.more
def test_a_small_pool_is_pointed_out_with_the_figures_of_the_page(suite, rows, caplog, runtime):
    """A pool of fewer than 500 rows is pointed out, with the figures of docs/results/labels.md."""
    pool = unlabelled(sets.load("hans-sub").examples[:499])
    sentence = small_pool_sentence(pool, suite, caplog, runtime)
    assert sentence.startswith("A pool of 499 rows is small")
    page = (Path(__file__).parents[3] / "docs/results/labels.md").read_text().partition("## Larger pools")[2]
    of_size = {size: re.search(rf"^\| {size} \|[^|]*\| ([\d.]+) ", page, re.M)[1] for size in ("300", "1,000")}
    assert re.findall(r"[\d,.]+\d", sentence) == ["499", of_size["1,000"], "1,000", of_size["300"], "300"]


@pytest.mark.more
def test_a_larger_pool_is_not_pointed_out_nor_a_pool_of_files(suite, caplog, runtime, tmp_path):
    """From 500 rows on labels do more; and files of answers have no answers to more rows."""
    rows = unlabelled(sets.load("hans-sub").examples[:500])
    assert small_pool_sentence(rows, suite, caplog, runtime) == ""
    for model in "ab":
        lines = "".join(f"{row.id},{n % (2 + (model == 'b'))}\n" for n, row in enumerate(rows[:40]))
        (tmp_path / f"{model}.csv").write_text(f"id,prediction\n{lines}".replace(",2", ",0"))
    files = [str(tmp_path / f"{model}.csv") for model in "ab"]
    assert small_pool_sentence(rows[:40], files, caplog, runtime) == ""


def test_models_that_predict_the_same_are_told_before_anybody_labels(suite, rows, task, runtime, caplog, tmp_path):
    """No label could tell them apart."""
    changed = tmp_path / "changed"  # another model by its content, which answers the same
    shutil.copytree(suites.bundled_suites()["hans-sub-mini"] / "untouched", changed)
    (changed / "config.json").write_text((changed / "config.json").read_text() + "\n")
    twice = suites.load([suites.bundled_suites()["hans-sub-mini"] / "untouched", changed])
    chosen(twice, task, unlabelled(rows), 2, runtime=runtime)
    assert "all models predict the same on every row of the pool" in caplog.text
    caplog.clear()
    chosen(suite, task, unlabelled(rows), 2, runtime=runtime)
    assert "predict the same" not in caplog.text


def test_rows_of_one_text_beside_a_pool_of_two_are_refused(suite, rows, runtime):
    """Answers to texts and to pairs are not comparable."""
    labelled = sets.LabelledDataset("own", sets.cards()["hans-sub"].task, rows[:4], 4)
    with refuses(UsageError, option="text"):
        decide(
            suite, labelled, pool=[Example("one", ("A dog ran.",), None)], evidence=Evidence("none"), runtime=runtime
        )


def test_rows_of_one_text_and_of_two_are_not_chosen_from_together(suite, rows, task, runtime):
    """One file holds one kind."""
    mixed = [*unlabelled(rows), Example("one", ("A dog ran.",), None)]
    with refuses(UsageError, option="text", value="one"):
        chosen(suite, task, mixed, 2, runtime=runtime)


def test_a_pool_changes_what_a_decision_goes_by(suite, rows, runtime):
    """SURROGATE orders the models, and all that is said of them is of one kind and size."""
    labelled = sets.LabelledDataset("own", sets.cards()["hans-sub"].task, rows[:10], 10)
    ranking = decide(suite, labelled, pool=unlabelled(rows), evidence=Evidence("none"), runtime=runtime)
    decision = ranking.decision
    assert decision.method == "SURROGATE"
    assert decision.reads_pool
    scores = [model.score for model in decision.models]
    assert scores == sorted(scores, reverse=True)
    assert sum(model.p_best for model in decision.models) == pytest.approx(1)
    beats = np.array(decision.p_beats)
    assert beats + beats.T == pytest.approx(np.ones_like(beats))
    assert all(model.low <= model.score <= model.high for model in decision.models)
    assert any("The pool adds 70 rows" in note for note in ranking.notes)
    assert any("is no estimate of accuracy" in note for note in ranking.notes)


@pytest.mark.more
def test_a_decision_with_a_pool_can_go_by_accuracy_and_by_what_needs_no_label(suite, rows, runtime):
    """`method` names them; a label-free one comes with its trap, and what needs in-domain rows is not offered."""
    labelled = sets.LabelledDataset("own", sets.cards()["hans-sub"].task, rows[:10], 10)
    by_accuracy = decide(
        suite, labelled, pool=unlabelled(rows), method="ACC", evidence=Evidence("none"), runtime=runtime
    )
    without = decide(suite, labelled, method="ACC", evidence=Evidence("none"), runtime=runtime)
    assert replace(by_accuracy.decision, notes=()) == replace(without.decision, notes=(), versus=())
    assert len(without.decision.versus) == len(suite.models) * (len(suite.models) - 1) / 2
    assert without.notes == ()
    assert "ACC does not read the other 70 rows of the pool." in by_accuracy.notes
    assert not any("The pool adds" in note for note in by_accuracy.notes)
    ranking = decide(
        suite, labelled, pool=unlabelled(rows), method="MAJORITY", evidence=Evidence("none"), runtime=runtime
    )
    assert any("share a wrong shortcut" in note for note in ranking.notes)
    with refuses(UsageError, option="method", value="ATC"):
        decide(suite, labelled, pool=unlabelled(rows), method="ATC", evidence=Evidence("none"), runtime=runtime)


@pytest.mark.more
def test_a_session_by_a_metric_says_what_a_decision_says(suite, rows, task, runtime):
    """Order, scores and intervals by macro-F1 after eight answers, as `decide` has them from the same labels."""
    settings = LabelSettings(metric="macro-f1", label_noise=LABEL_NOISE)
    session = label(suite, unlabelled(rows), task=task, settings=settings, runtime=runtime)
    by_accuracy = label(suite, unlabelled(rows), task=task, runtime=runtime)
    targets, answered = {row.segments: row.target for row in rows}, []
    for _ in range(8):
        row = session.next()
        assert row.segments == by_accuracy.next().segments  # rows are picked for accuracy
        answered.append(replace(row, target=targets[row.segments]))
        for decider in (session, by_accuracy):
            decider.tell(row, task.labels[answered[-1].target])
    ranking = session.ranking()
    with_truth = sets.LabelledDataset("answers", task, tuple(answered), len(answered))
    evidence = Evidence("none")
    ranking_now = decide(
        suite, with_truth, pool=unlabelled(rows), metric="macro-f1", evidence=evidence, runtime=runtime
    )
    assert [model.name for model in ranking.models] == list(ranking_now.found.names)
    for ours, theirs in zip(ranking.models, ranking_now.found.models, strict=True):
        assert (ours.score, ours.low, ours.high) == pytest.approx((theirs.expected, theirs.low, theirs.high), abs=1e-8)
    assert ranking.within == pytest.approx(ranking_now.found.models[0].p_near_best)
    assert f"within 0.01 macro-f1 of the best) {ranking._sure} %" in ranking.line
    assert ranking.in_words()[0]["score"] == f"{ranking.models[0].score:.3f}"
    assert ranking.models[0].score != by_accuracy.ranking().models[0].score


@pytest.mark.parametrize(
    ("settings", "says"), [(LabelSettings(metric="macro"), "macro-f1"), (LabelSettings(metric="pearson"), "pearson")]
)
def test_a_metric_that_a_session_cannot_have_is_one_line(suite, rows, task, runtime, settings, says):
    """An unknown one, one that is not proven, and one that labels do not give."""
    with pytest.raises(UsageError, match=says):
        label(suite, unlabelled(rows), task=task, settings=settings, runtime=runtime)


def test_more_labels_than_rows_in_the_pool(suite, rows, runtime):
    """Labelled rows that a small pool does not hold are used all the same, and that is said."""
    labelled = sets.LabelledDataset("own", sets.cards()["hans-sub"].task, rows[:10], 10)
    ranking = decide(suite, labelled, pool=unlabelled(rows[5:8]), evidence=Evidence("none"), runtime=runtime)
    assert any("adds 0 rows" in note for note in ranking.notes)


@pytest.mark.more
def test_from_a_pool_to_a_decision_on_the_command_line(rank_models, tmp_path, rows, runtime):
    """choose, fill in, rank: the file that was written is the file that is read."""
    pool, to_label = tmp_path / "rows.jsonl", tmp_path / "to-label.csv"
    pool.write_text("".join(json.dumps({"premise": a, "hypothesis": b}) + "\n" for a, b in (r.segments for r in rows)))
    common = ("--models", "hans-sub-mini", "--store", runtime.store)
    code, _, err = rank_models("label", "--pool", pool, "--task", "nli", *common, "--batch", 4, "-o", to_label, "-q")
    assert (code, err) == (0, "")
    lines = list(csv.DictReader(io.StringIO(to_label.read_text())))
    assert [list(row) for row in lines] == [["premise", "hypothesis", "label"]] * 4
    truth = {row.segments: ("non-entailment", "entailment")[row.target] for row in rows}
    with to_label.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["premise", "hypothesis", "label"])
        writer.writeheader()
        writer.writerows({**row, "label": truth[row["premise"], row["hypothesis"]]} for row in lines)
    code, out, _ = rank_models("--data", to_label, "--pool", pool, *common, "--attribution", "none", "--format", "json")
    assert code == 0
    assert json.loads(out)["decision"]["method"] == "SURROGATE"
    code, _, err = rank_models(
        "label", "--pool", pool, "--ood", "hans-sub", *common, "--labelled", to_label, "--batch", 2
    )
    assert code == 0
    assert "the accuracy on these rows will rank the models, and is no estimate of it in the domain" in err
    assert "on these rows the models predict" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--task", "nli"), "columns: a, b"),
        (("--task", "nli", "-o", "chosen.tsv"), "`--output` must be a .csv file (got chosen.tsv)"),
        (("--task", "nli", "--columns", "text=c"), "pool.csv has no such column (columns: a, b)"),
        (("--task", "nlu", "--columns", "text=a"), "did you mean nli"),
        (("--task", "nli", "--rule", "bst"), "did you mean best"),
        (("--task", "nli", "--batch", "0"), "--batch"),
    ],
)
def test_what_cannot_be_right_is_one_line(rank_models, tmp_path, arguments, says):
    """A pool without texts, an unknown column, task or rule: exit status 2, and what to do."""
    pool = tmp_path / "pool.csv"
    pool.write_text("a,b\n1,2\n")
    code, out, err = rank_models("label", "--batch", "1", "--pool", pool, "--models", "hans-sub-mini", *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.more
def test_chosen_rows_and_their_pool_are_read_together(rank_models, tmp_path):
    """One `--columns` reads the pool, the rows chosen of it, and these once some are filled in; no task is named."""
    pool, chosen = tmp_path / "pool.csv", tmp_path / "chosen.csv"
    rows = [f"{n},The judge near the actor ran {n} miles.,The actor ran {n} miles.,mail" for n in range(12)]
    pool.write_text("\n".join(["ticket,before,after,channel", *rows]) + "\n")
    common = ("--columns", "text=before,text=after,label=gold", "--models", "hans-sub-mini", "--quiet")
    rank_models("label", "--pool", pool, *common, "--batch", "4", "-o", chosen)
    assert chosen.read_text().splitlines()[0] == "ticket,before,after,channel,gold"
    chosen.write_text(
        chosen.read_text().replace("mail,\n", "mail,neutral\n", 2).replace("mail,\n", "mail,entailment\n", 1)
    )
    code, out, err = rank_models("--data", chosen, "--pool", pool, "--attribution", "none", "--format", "json", *common)
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert (report["decision"]["method"], report["header"]["probe"]) == ("SURROGATE", 3)
    notes = [note.replace("`--pool`", "`pool`") for note in report["header"]["notes"]]
    assert "1 row has no label yet, and counts only in a pool (`pool`)." in notes
    code, out, _ = rank_models("label", "--pool", pool, "--labelled", chosen, *common, "--batch", "9")
    assert (code, len(out.splitlines())) == (0, 10)
    code, out, err = rank_models("label", "--pool", pool, "--labelled", chosen, *common, "--batch", "10")
    assert (code, out) == (2, "")
    assert re.search("`-{0,2}batch` must be between 1 and 9", err)


@pytest.mark.more
def test_rows_of_a_pool_that_have_a_label_are_not_chosen(rank_models, tmp_path):
    """Such rows count as labelled, rows without a text are left out, and an empty rest is said."""
    pool = tmp_path / "pool.csv"
    rows = [f"The judge ran {n} miles.,The judge ran.,{'' if n % 2 else 'entailment'}" for n in range(6)]
    pool.write_text("\n".join(["premise,hypothesis,Label", *rows, "The judge ran.,,"]) + "\n")
    arguments = ("--models", "hans-sub-mini", "--rule", "random")
    code, out, err = rank_models("label", "--pool", pool, *arguments, "--batch", "3")
    assert code == 0
    assert sorted(out.splitlines()[1:]) == [row for row in rows if row.endswith(",")]
    assert "rows with a blank text are left out: 1" in err
    pool.write_text(pool.read_text().replace(".,\n", ".,neutral\n"))
    code, out, err = rank_models("label", "--pool", pool, *arguments, "--batch", "1")
    assert (code, out) == (2, "")
    assert "no row is left to choose: all of the pool have a label" in err


def test_a_list_of_one_text_becomes_a_column():
    """As a list of two becomes two."""
    pool = read_sheet([{"key": 7, "segments": ["A dog ran."]}], {"id": "key"}, ["text"])
    sheet = filled(pool, readers.unlabelled(pool))
    assert list(csv.reader(io.StringIO(sheet))) == [["key", "text", "label"], ["7", "A dog ran.", ""]]


@pytest.mark.more
def test_a_model_that_fails_has_no_say(rank_models, tmp_path):
    """The others choose, it is named with its reason, and the exit status tells; one model alone cannot choose."""
    pool = tmp_path / "pool.csv"
    pool.write_text("text1,text2\nThe judge ran.,A judge ran.\nThe actor ran.,An actor ran.\n")
    broken = tmp_path / "broken"
    shutil.copytree(suites.load(["hans-sub-mini"]).models[0].source.path, broken)
    (broken / "model.safetensors").unlink()
    common = ("label", "--pool", pool, "--batch", "1", "--models")
    code, out, err = rank_models(*common, "hans-sub-mini", broken)
    assert (code, len(out.splitlines())) == (1, 2)
    assert f"broken is left out: {broken} has no weights" in err
    code, out, err = rank_models(*common, broken, suites.load(["hans-sub-mini"]).models[1].source.path)
    assert (code, out) == (1, "")
    assert "nothing to choose by: 1 of 2 models failed" in err


def test_an_empty_pool_is_an_error(tmp_path, task):
    """A file of a header alone holds no row."""
    file = tmp_path / "pool.csv"
    file.write_text("text\n")
    with refuses(DataError, place=file):
        sets.unlabelled(file)
    file.write_text("text,label\n")
    for target in ({}, {"task": task.name}, {"like": "hans-sub"}):
        with refuses(DataError, place=file):
            labelled(file, **target)
    with refuses(DataError, place="rows in memory"):
        labelled([])
