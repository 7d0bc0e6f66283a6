"""Several runs of one model in a folder: one is read and said, others can be named, and all can be averaged."""

import json

import pytest
from logmaking import choice_row, eval_log, header, lm_log, results, sample
from refusals import refuses

from ranker import decide
from ranker.errors import DataError, UsageError
from ranker.sources.base import SourceOptions
from ranker.sources.logs.options import LogOptions
from ranker.sources.suites import name_models

ROWS = [f"s{n}" for n in range(8)]


def run_log(folder, day, values, ids=ROWS, model="org/model", status="success", **arguments):
    """A run of one day, as Inspect names it."""
    folder.mkdir(exist_ok=True)
    log_header = header(status, ids=ids)
    log_header["eval"] |= {"created": f"2026-01-0{day}T00:00:00+00:00", "model": model, "task_args": arguments}
    path = folder / f"2026-01-0{day}T00-00-00_small_x{day}.eval"
    return eval_log(path, [sample(row, value) for row, value in zip(ROWS, values, strict=False)], log_header)


def models(*references, **options):
    """The models that references name."""
    return name_models([str(reference) for reference in references], SourceOptions(kinds=[LogOptions(**options)]), {})[
        1
    ]


def outcomes(model):
    """Outcomes of a model's file."""
    return model.source.load_log({}).outcomes.tolist()


def said(model):
    """Notes of a model."""
    return model.source.inspect({}).notes


def test_the_newest_of_runs_that_were_made_alike_is_read_and_said(tmp_path):
    """By name, with the name of the one that is not."""
    old, new = run_log(tmp_path / "a", 1, "CCCCIIII"), run_log(tmp_path / "a", 2, "CCCCCCII")
    (model,) = models(tmp_path / "a")
    assert sum(outcomes(model)) == 6
    note = f"small: of 2 runs of org/model the newest complete one, {new.name}, is read, not {old.name}."
    assert said(model)[0] == note


@pytest.mark.parametrize("fault", ["cut", "killed", "few", "empty"])
def test_a_newer_run_that_is_not_whole_hides_no_other(tmp_path, fault):
    """A file that is cut off, a run that was cancelled or holds fewer samples than planned, or none."""
    run_log(tmp_path / "a", 1, "CCCCIIII")
    values = {"few": "CCC", "empty": ""}.get(fault, "CCCCCCII")
    new = run_log(tmp_path / "a", 2, values, status="cancelled" if fault == "killed" else "success")
    if fault == "cut":
        new.write_bytes(new.read_bytes()[:-40])
    (model,) = models(tmp_path / "a")
    assert sum(outcomes(model)) == 4
    assert new.name in " ".join(said(model))
    (model,) = models(tmp_path / "a", runs="each" if fault == "cut" else "mean")
    assert sum(outcomes(model)) == 4
    assert new.name in " ".join(said(model))


def test_runs_with_other_arguments_are_kept_apart(tmp_path):
    """A line lists them; one is named by its number, an argument or its time, or the newest is meant, or each."""
    run_log(tmp_path / "a", 1, "CCCCIIII", seed=1, shots=5)
    run_log(tmp_path / "a", 2, "CCCCCCII", seed=2, shots=5)
    with refuses(UsageError, option="runs", allowed=("newest", "mean", "each"), place=tmp_path / "a"):
        models(tmp_path / "a")
    for part, right in (("small@1", 4), ("@2", 6), ("small@seed=1", 4), ("@2026-01-02", 6)):
        assert sum(outcomes(models(f"{tmp_path / 'a'}#{part}")[0])) == right
    folder = tmp_path / "a"
    assert [model.name for model in models(f"{folder}#@1", f"{folder}#@seed=2")] == ["org/model@1", "org/model@seed=2"]
    for run in ("3", "2026"):
        with refuses(UsageError, value=run, place=folder):
            models(f"{folder}#@{run}")
    assert sum(outcomes(models(tmp_path / "a", runs="newest")[0])) == 6
    each_run = {model.name: sum(outcomes(model)) for model in models(tmp_path / "a", runs="each")}
    assert each_run == {"org/model@1": 4, "org/model@2": 6}
    with refuses(UsageError, option="runs", value="all"):
        LogOptions(runs="all")


def test_the_mean_of_runs_is_one_model(tmp_path):
    """Of each row over the runs that have it; how many are in some only is said."""
    run_log(tmp_path / "a", 1, "CCCCIIII", seed=1)
    run_log(tmp_path / "a", 2, "CCIII", ids=ROWS[:5], seed=2)
    run_log(tmp_path / "b", 1, "CIIIIIII", model="org/other")
    (model,) = models(tmp_path / "a", runs="mean")
    assert outcomes(model) == [1, 1, 0.5, 0.5, 0, 0, 0, 0]
    assert said(model)[0].startswith("Each row is the mean of 2 runs: 2026-01-01T00-00-00_small_x1.eval, 2026")
    assert "3 of 8 rows are not in all of the 2 runs." in said(model)
    ranking = decide([*models(tmp_path / "a", runs="mean"), *models(tmp_path / "b")])
    assert {of_model.name: of_model.outcome for of_model in ranking.decision.models} == {
        "org/model": 0.375,
        "org/other": 0.125,
    }
    log_header = header(ids=ROWS)
    log_header["eval"]["created"] = "2026-01-05T00:00:00+00:00"
    eval_log(tmp_path / "a" / "c.eval", [sample(row, "C", target="no") for row in ROWS], log_header)
    with refuses(DataError, value="s0"):
        outcomes(models(tmp_path / "a", runs="mean")[0])


def test_runs_of_the_harness_are_told_apart_by_their_results(tmp_path):
    """Another number of examples in the prompt is another argument; another time is none."""
    rows = [choice_row(n, {"q": n}, "1", (-3, -1), acc=float(n > 2)) for n in range(5)]
    for day, shots in ((1, 0), (2, 0), (3, 5)):
        time = f"2026-01-0{day}T00-00-00.1"
        lm_log(tmp_path / "a", rows, time=time)
        results(tmp_path / "a", time=time, config={"num_fewshot": shots})
        if day == 2:
            (model,) = models(tmp_path / "a")
            assert "the newest complete one, " in said(model)[0]
    with refuses(UsageError, option="runs", place=tmp_path / "a"):
        models(tmp_path / "a")


@pytest.mark.parametrize("fault", ["cut", "few", "empty"])
def test_a_newer_log_of_the_harness_that_is_not_whole_hides_no_other(tmp_path, fault):
    """A line that is cut off, fewer rows than the results name, or none."""
    rows = [choice_row(n, {"q": n}, "1", (-3, -1), acc=float(n > 2)) for n in range(5)]
    lm_log(tmp_path / "a", rows, time="2026-01-01T00-00-00.1")
    new = lm_log(tmp_path / "a", rows[:2] if fault == "few" else rows, time="2026-01-02T00-00-00.1")
    results(tmp_path / "a", time="2026-01-02T00-00-00.1", **{"n-samples": {"small": {"effective": 5}}})
    content = new.read_bytes()
    new.write_bytes({"cut": content[:-9], "few": content, "empty": b""}[fault])
    (model,) = models(tmp_path / "a", runs="newest")
    assert sum(outcomes(model)) == 2
    assert new.name in " ".join(said(model))


def test_lists_of_an_eval_set_are_passed_over(tmp_path):
    """Lists that Inspect writes beside the logs name them, and are none."""
    run_log(tmp_path / "a", 1, "CCCCIIII")
    run_log(tmp_path / "a", 2, "CCCCCCII", model="org/other")
    log_header = header(ids=ROWS)
    (tmp_path / "a" / "logs.json").write_text(json.dumps({"2026-01-01T00-00-00_small_x1.eval": log_header}))
    (tmp_path / "a" / "eval-set.json").write_text(json.dumps({"eval_set_id": "x", "tasks": [{"name": "small"}]}))
    assert [model.name for model in models(tmp_path / "a")] == ["org/model", "org/other"]
    assert said(models(tmp_path / "a")[0]) == ()


def asked(path, inputs):
    """A log that asks other things under ids from 0, or from 1."""
    samples = [sample(row, "C" if n % 2 else "I", input=text) for n, (row, text) in enumerate(inputs.items())]
    return eval_log(path, samples, header(ids=list(inputs)))


def test_other_questions_under_the_same_ids_are_said_or_refused(tmp_path):
    """Ids of somebody's own are trusted with a sentence; ids that may be positions are not."""
    first = asked(tmp_path / "a.eval", {f"q{n}": f"What is {n}?" for n in range(6)})
    second = asked(tmp_path / "b.eval", {f"q{n}": f"What is {7 * n}?" for n in range(6)})
    (note,) = [note for note in decide([first, second]).notes if "another question" in note]
    assert note.startswith("b: 5 of 6 rows ask another question than in a, under the same ids")
    first = asked(tmp_path / "c.eval", {n: f"What is {n}?" for n in range(1, 7)})
    second = asked(tmp_path / "d.eval", {n: f"What is {7 - n}?" for n in range(1, 7)})
    with refuses(UsageError, value="1", place="d"):
        decide([first, second])


def test_labels_in_another_order_are_the_same_answers(tmp_path):
    """Two choices that stand the other way round in the second log, on all rows."""

    def log(name, choices):
        letters = dict(zip(choices, "AB", strict=True))
        samples = [sample(row, "C", choices=choices, target=letters["yes"], answer=letters["yes"]) for row in ROWS]
        return eval_log(tmp_path / name, samples, header(ids=ROWS))

    ranking = decide([log("a.eval", ["yes", "no"]), log("b.eval", ["no", "yes"])])
    assert [model.outcome for model in ranking.decision.models] == [1, 1]


def test_the_program_averages_runs(tmp_path, rank_models):
    """By its option, with the sentence in the report."""
    run_log(tmp_path / "a", 1, "CCCCIIII", seed=1)
    run_log(tmp_path / "a", 2, "CCIIIIII", seed=2)
    run_log(tmp_path / "b", 1, "CIIIIIII", model="org/other")
    status, out, _ = rank_models("--models", str(tmp_path / "a"), str(tmp_path / "b"), "--runs", "mean")
    text = " ".join(out.split())
    assert not status
    assert "org/model has match 37.5 %" in text
    assert "Each row is the mean of 2 runs" in text
