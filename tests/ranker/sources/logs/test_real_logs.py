"""Logs of the real programs, which are not part of the project: what they say, computed apart from it."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from ranker.sources.logs.inspect_samples import header_of
from ranker.sources.logs.options import LogOptions
from ranker.sources.logs.reading import list_logs, program_of, read_log
from ranker.sources.logs.results import results_of

_DATA = os.environ.get("RANK_MODELS_DATA")
LOGS = (Path(_DATA) if _DATA else Path(__file__).parents[5] / "shared" / "data") / "logs"
EXPECTED = LOGS / "expected.json"
PAIRS = json.loads(EXPECTED.read_text())["pairs"] if EXPECTED.is_file() else []
pytestmark = pytest.mark.skipif(not PAIRS, reason="the folder of the real logs is not there")

TOLERANCE = {"rel": 0, "abs": 1e-9}


def choice(pair):
    """The selection by which a pair of logs is read."""
    words = (pair.get("filter") or "").split()
    name = words[1] if words[:1] == ["occurrence"] else pair.get("filter")
    if "scorer" in pair:
        return LogOptions(scorer=pair["scorer"], metric=pair["part"] or "")
    return LogOptions(metric=pair["metric"], filter=name or "", cluster=pair["cluster"] or "")


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{n}" for n in range(len(PAIRS))])
def test_two_logs_differ_as_expected(pair):
    """Joined by key: how many rows, which only one has, both means, the difference and its standard errors."""
    first, second = (read_log(LOGS / pair[side], choice(pair)) for side in "ab")
    left, right = (
        {k: v for k, v in zip(log.keys, log.outcomes, strict=True) if not np.isnan(v)} for log in (first, second)
    )
    shared = [key for key in left if key in right]
    a, b = (np.array([outcomes[key] for key in shared]) for outcomes in (left, right))
    assert (len(shared), len(left) - len(shared), len(right) - len(shared)) == (
        pair["n"],
        pair["only_a"],
        pair["only_b"],
    )
    assert a.mean() == pytest.approx(pair["mean_a"], **TOLERANCE)
    assert b.mean() == pytest.approx(pair["mean_b"], **TOLERANCE)
    assert (a - b).mean() == pytest.approx(pair["difference"], **TOLERANCE)
    assert (a - b).std(ddof=1) / np.sqrt(len(shared)) == pytest.approx(pair["se_rows"], **TOLERANCE)
    if pair["mcnemar_exact_p"] is not None:
        assert (int((a > b).sum()), int((a < b).sum())) == (pair["a_only"], pair["b_only"])
    clusters = dict(zip(first.keys, first.clusters or first.keys, strict=True))
    assert (first.clusters is not None) == (pair["cluster"] is not None)
    sums: dict[str, float] = {}
    for key, difference in zip(shared, a - b, strict=True):
        sums[clusters[key]] = sums.get(clusters[key], 0.0) + difference - (a - b).mean()
    assert len(sums) == pair["clusters"]
    error = np.sqrt(sum(value**2 for value in sums.values()) * len(sums) / (len(sums) - 1)) / len(shared)
    assert error == pytest.approx(pair["se_clusters"], **TOLERANCE)
    if "scorer" in pair:
        fewer = pair["samples_with_fewer_epochs_a"]
        note = f"{fewer} of {len(first)} rows have scores in only some of {first.epochs} epochs, and use these."
        assert (note in first.notes) == bool(fewer)


def test_the_same_rows_ask_the_same():
    """Logs of one task have one target for each row; another number of examples is another prompt."""
    folder = "sst2_local_2026-11-24T04-"
    zero = read_log(LOGS / f"lm_eval_zero/smollm2/samples_{folder}08-04.313208.jsonl.gz")
    few = read_log(LOGS / f"lm_eval_few/smollm2/samples_{folder}19-05.567244.jsonl.gz")
    targets = dict(zip(zero.keys, zero.target_hashes, strict=True))
    prompts = dict(zip(zero.keys, zero.prompt_hashes, strict=True))
    assert all(targets[key] == target for key, target in zip(few.keys, few.target_hashes, strict=True))
    assert all(prompts[key] != prompt for key, prompt in zip(few.keys, few.prompt_hashes, strict=True))


def test_every_log_is_known_and_labels_agree_with_metrics():
    """Every file that is a log is seen as such, and labels tell what the metric tells."""
    count = 0
    for path in sorted(LOGS.rglob("*")):
        if not path.is_file() or not ("samples_" in path.name or path.parent.name.startswith("inspect")):
            continue
        count += 1
        assert program_of(path) == ("lm-eval" if "samples_" in path.name else "inspect")
        for selection in _readings(path):
            log = read_log(path, selection)
            if log.labels and log.metric in ("acc", "acc_norm", "choice"):
                labelled = (log.answers >= 0) & (log.truth >= 0)
                assert labelled.any()
                assert ((log.answers == log.truth) == log.outcomes)[labelled].all()
    assert count == 37


def _readings(path):
    """Selections that may be asked of a log."""
    if "sst2_gen" in path.name:
        old = ("1", "2") if "0.4.3" in str(path) else ("strict-match", "flexible-extract")
        return [LogOptions(filter=name) for name in (("maj@3", "first") if "repeats" in path.name else old)]
    if "squad" in path.name:
        return [LogOptions(metric="em"), LogOptions(metric="f1")]
    if "trouble" in path.name:
        return [LogOptions(scorer="graded")]
    return [LogOptions(), LogOptions(metric="acc")] if "samples_" in path.name else [LogOptions()]


def test_every_recorded_number_is_recomputed():
    """Of every task, metric and filter, scorer and reducer, to 1e-9; f1 and mcc alone are numbers of all rows."""
    count = 0
    for path in sorted(LOGS.rglob("*")):
        program = program_of(path) if path.is_file() and not path.name.startswith("results") else None
        for selection in _recorded(path, program):
            if selection.metric in ("f1", "mcc") and "paws" in path.name:
                assert any("is that of the labels of its rows" in note for note in read_log(path, selection).notes)
                continue
            measure = read_log(path, selection).measure
            assert measure.agrees, (path, selection, measure)
            count += 1
    assert count > 60


def _recorded(path, program):
    """A selection for each number that a log records."""
    if program == "lm-eval":
        names = (name.split(",") for name in results_of(path).recorded if "," in name and "_stderr," not in name)
        return [LogOptions(metric=metric, filter=filter) for metric, filter in names]
    if program == "inspect":
        numbers = header_of(path).recorded
        return [LogOptions(scorer=scorer, metric=part, reducer=reducer) for scorer, part, reducer in numbers]
    return []


def test_acc_norm_is_chosen_for_choices_of_unequal_length():
    """And the log-likelihoods are divided by the choice without its delimiter: 8 rows would differ with it."""
    log = read_log(LOGS / "lm_eval_zero/smollm2/samples_sst2_local_p2_2026-11-24T04-08-04.313208.jsonl.gz")
    assert log.metric == "acc_norm"
    assert log.outcomes.mean() == pytest.approx(0.5866666666666667, **TOLERANCE)
    assert ((log.answers == log.truth) == log.outcomes).all()


def test_both_forms_of_one_run_say_the_same():
    """An archive and a text of one task, model and seed."""
    first, second = (read_log(LOGS / "inspect" / f"mnli-choice_wordlist-a{ending}") for ending in (".eval", ".json.gz"))
    assert dict(zip(first.keys, first.outcomes, strict=True)) == dict(zip(second.keys, second.outcomes, strict=True))
    assert dict(zip(first.keys, first.texts, strict=True)) == dict(zip(second.keys, second.texts, strict=True))


def test_folders_are_listed():
    """Tasks, models and groups; Inspect's logs by model and task."""
    listing = list_logs(LOGS / "lm_eval_zero" / "smollm2")
    assert [log.task for log in listing.logs] == sorted(
        ["sst2_local", "sst2_local_p2", "sst2_gen", "paws_local", "mnli_local", "hans_sub_local"]
    )
    assert {log.model for log in listing.logs} == {"models/smollm2-135m-instruct"}
    assert listing.groups == {"house_nli": ("mnli_local", "hans_sub_local")}
    runs = list_logs(LOGS / "inspect")
    assert len({(log.model, log.task) for log in runs.logs}) == len(runs.logs)
