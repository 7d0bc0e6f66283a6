import cProfile
import hashlib
import json
import pstats
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logmaking import TIME, choice_row, lm_log, refused, results, written_row
from refusals import refuses

from ranker.errors import DataError
from ranker.sources.logs.options import LogOptions
from ranker.sources.logs.reading import list_logs, program_of, read_log
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER

DOCS = [{"text": f"The {word} danced.", "kind": kind} for word, kind in [("judge", "a"), ("actor", "b"), ("cat", "a")]]


def choices(**fields):
    """Three rows of two choices: right, wrong, right."""
    return [
        choice_row(0, DOCS[0], "1", (-3, -1), acc=1.0, **fields),
        choice_row(1, DOCS[1], "0", (-3, -1), acc=0.0, **fields),
        choice_row(2, DOCS[2], "0", (-1, -3), acc=1.0, **fields),
    ]


def answers(*left, **fields):
    """A row for each text that a filter left; 1.0 where it is yes."""
    return [
        written_row(n, DOCS[n], "yes", f"I say {text}", text, exact_match=float(text == "yes"), **fields)
        for n, text in enumerate(left)
    ]


def test_a_log_of_choices_is_arrays(tmp_path):
    """Outcomes, labels, the right ones, the model's own and log-likelihoods, all by hand."""
    log = read_log(lm_log(tmp_path, choices()))
    assert (log.program, log.task, log.metric) == ("lm-eval", "small", "acc")
    assert log.outcomes.tolist() == [1, 0, 1]
    assert log.labels == ("no", "yes")
    assert log.truth.tolist() == [1, 0, 0]
    assert log.answers.tolist() == [1, 1, 0]
    assert log.scores.tolist() == [[-3, -1], [-3, -1], [-1, -3]]
    assert log.state.tolist() == [ANSWERED] * 3
    assert log.texts[1] == "The actor danced."
    assert log.clusters is None
    assert any("calibrated" in note for note in log.notes)


def test_arrays_are_read_only(tmp_path):
    """Arrays of a log stay as they were read."""
    log = read_log(lm_log(tmp_path, choices()))
    for array in (log.outcomes, log.state, log.truth, log.answers, log.scores):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5


def test_gzip_is_read_whatever_its_name(tmp_path):
    """A file is unpacked where it begins like gzip."""
    packed = lm_log(tmp_path / "a", choices(), packed=True)
    bare = packed.with_name(packed.name.removesuffix(".gz"))
    bare.write_bytes(packed.read_bytes())
    assert read_log(packed).keys == read_log(bare).keys == read_log(lm_log(tmp_path / "b", choices())).keys


def test_rows_are_known_by_what_they_ask_and_never_by_their_number(tmp_path):
    """With another order and other numbers every row has the same key, text and outcome."""
    rows = choices()
    turned = [{**row, "doc_id": 7 + n} for n, row in enumerate(reversed(rows))]
    first, second = read_log(lm_log(tmp_path / "a", rows)), read_log(lm_log(tmp_path / "b", turned))
    assert dict(zip(first.keys, first.outcomes, strict=True)) == dict(zip(second.keys, second.outcomes, strict=True))
    assert first.keys == tuple(reversed(second.keys))


def test_hashes_are_those_of_the_program(tmp_path):
    """A log without hashes gets those of later versions, so that both can be joined."""
    rows = [
        {**row, "doc_hash": f"h{n}", "prompt_hash": f"p{n}", "target_hash": f"t{n}"} for n, row in enumerate(choices())
    ]
    log = read_log(lm_log(tmp_path, rows))
    assert log.keys == ("h0", "h1", "h2")
    assert log.prompt_hashes == ("p0", "p1", "p2")
    assert log.target_hashes == ("t0", "t1", "t2")
    log = read_log(lm_log(tmp_path, choices()))
    text = json.dumps(DOCS[0], indent=2, ensure_ascii=False)
    assert log.keys[0] == hashlib.sha256(text.encode()).hexdigest()
    assert log.target_hashes[0] == hashlib.sha256(b"1").hexdigest()
    assert log.prompt_hashes[0] == hashlib.sha256(b"Is it?").hexdigest()


def test_the_oldest_logs_are_one_list(tmp_path):
    """0.4.0 to 0.4.2: an indented JSON list, requests as lists, no filter, no list of metrics."""
    rows = choices()
    old = []
    for row in rows:
        requests = [list(request.values()) for request in row["arguments"].values()]
        numbers = [[float(value), False] for value, _ in row["filtered_resps"]]
        old.append(
            {"doc_id": row["doc_id"], "doc": row["doc"], "target": int(row["target"]), "arguments": requests}
            | {"resps": [[pair] for pair in numbers], "filtered_resps": numbers, "acc": row["acc"]}
        )
    path = tmp_path / "pretrained__gpt2_small.jsonl"
    path.write_text(json.dumps(old, indent=2))
    results(tmp_path, name="results.json")
    log, new = read_log(path), read_log(lm_log(tmp_path / "new", rows))
    assert program_of(path) == "lm-eval"
    assert (log.task, log.metric) == ("small", "acc")
    assert (log.keys, log.outcomes.tolist(), log.labels) == (new.keys, new.outcomes.tolist(), new.labels)
    assert log.truth.tolist() == new.truth.tolist()


@pytest.mark.parametrize("targets", [(1, 0, 0), ("1", "0", "0"), ("yes", "no", "no"), ([1], [0], [0])])
def test_a_target_is_a_number_or_a_text(tmp_path, targets):
    """0.4.3 wrote numbers, later versions the same as text; some tasks write the choice."""
    rows = [{**row, "target": target} for row, target in zip(choices(), targets, strict=True)]
    assert read_log(lm_log(tmp_path, rows)).truth.tolist() == [1, 0, 0]


def test_several_right_answers_are_no_label(tmp_path):
    """A list that was written as text, as 0.4.4 does it; the recorded metric stands."""
    rows = choices()
    rows[0]["target"] = "[0, 1]"
    log = read_log(lm_log(tmp_path, rows))
    assert log.truth.tolist() == [-1, 0, 0]
    assert log.outcomes.tolist() == [1, 0, 1]


def test_a_number_that_may_be_a_choice_is_what_the_metric_says(tmp_path):
    """Choices "0" and "1", offered as 1 and 0: the target "1" is the first of them, since acc says so."""
    rows = [
        choice_row(0, DOCS[0], "1", (-1, -3), choices=(" 1", " 0"), acc=1.0),
        choice_row(1, DOCS[1], "0", (-3, -1), choices=(" 1", " 0"), acc=1.0),
        choice_row(2, DOCS[2], "0", (-1, -3), choices=(" 1", " 0"), acc=0.0),
    ]
    log = read_log(lm_log(tmp_path, rows))
    assert log.labels == ("1", "0")
    assert log.truth.tolist() == [0, 1, 1]


def unequal(acc_norm=(1.0, 1.0, 0.0)):
    """Three rows of choices whose lengths differ, the fair share of each being its log-likelihood by a character."""
    texts = (" no", " certainly")
    likelihoods = [(-4, -9), (-2, -9), (-1, -20)]
    rows = zip(("1", "0", "1"), likelihoods, (0.0, 1.0, 0.0), acc_norm, strict=True)
    return [
        choice_row(n, DOCS[n], target, pair, choices=texts, acc=acc, acc_norm=norm)
        for n, (target, pair, acc, norm) in enumerate(rows)
    ]


def test_acc_norm_is_read_where_choices_differ_in_length(tmp_path):
    """The labels agree with argmax by character, without the delimiter of a choice."""
    log = read_log(lm_log(tmp_path, unequal()))
    shares = np.array([[-4 / 2, -9 / 9], [-2 / 2, -9 / 9], [-1 / 2, -20 / 9]])
    assert log.metric == "acc_norm"
    assert log.candidates == ("acc", "acc_norm")
    np.testing.assert_allclose(log.scores, shares)
    assert log.answers.tolist() == shares.argmax(axis=1).tolist()
    assert any("differ in length" in note for note in log.notes)


def test_acc_is_read_as_its_choices_demand(tmp_path):
    """For choices of one length acc is read; one that is asked for comes with the labels that it compares."""
    rows = [{**row, "metrics": ["acc", "acc_norm"], "acc_norm": row["acc"]} for row in choices()]
    rows = [{**row, "arguments": choice_row(0, {}, 0, (0, 0), (" no", " ja"))["arguments"]} for row in rows]
    log = read_log(lm_log(tmp_path, rows))
    assert log.metric == "acc"
    assert any("one length" in note for note in log.notes)
    log = read_log(lm_log(tmp_path, unequal()), LogOptions(metric="acc"))
    assert log.outcomes.tolist() == [0, 1, 0]
    assert log.answers.tolist() == [0, 0, 0]


def test_several_metrics_are_listed(tmp_path):
    """No metric is taken where none is the usual one, and an unknown one is answered with the list."""
    rows = [{**row, "metrics": ["em", "f1"], "em": 1.0, "f1": 0.5} for row in answers("yes", "no")]
    path = lm_log(tmp_path, rows)
    assert refused(path) == ("metric", None, ("em", "f1"))
    assert refused(path, metric="recall") == ("metric", "recall", ("em", "f1"))
    assert read_log(path, LogOptions(metric="f1")).outcomes.tolist() == [0.5, 0.5]


def test_values_that_are_no_numbers_are_no_metrics(tmp_path):
    """Pairs that only a whole set can be scored by; those that are no pairs of labels are refused by name."""
    rows = [
        {**row, "metrics": ["acc", "bleu", "brier_score"], "bleu": ["a", "b"], "brier_score": [1, "[0.9 0.1]"]}
        for row in choices()
    ]
    path = lm_log(tmp_path, rows)
    assert read_log(path).candidates == ("acc",)
    assert refused(path, metric="bleu") == ("metric", "bleu", ("acc", "brier_score"))
    rows[0]["bleu"] = 1.0
    assert read_log(lm_log(tmp_path, rows)).candidates == ("acc",)


def test_pairs_of_labels_are_read_by_whether_they_agree(tmp_path):
    """Asked for f1 or mcc, a row is read as right or wrong; where no metric is named nothing of it is."""
    rows = [{**row, "metrics": ["acc", "f1"], "f1": [1, 0]} for row in choices()]
    path = lm_log(tmp_path, rows)
    assert read_log(path).candidates == read_log(path, LogOptions(metric="f1")).candidates == ("acc",)
    alone = [{name: value for name, value in row.items() if name != "acc"} | {"metrics": ["f1"]} for row in rows]
    logged = read_log(lm_log(tmp_path, alone), LogOptions(metric="f1"))
    assert (logged.metric, logged.outcomes.tolist()) == ("acc", [0.0] * len(rows))
    assert refused(lm_log(tmp_path, alone)) == ("metric", None, ())


def test_numbers_are_read_as_they_are_written(tmp_path):
    """NumPy's numbers and truths are texts, and points of a judge are for callers to scale."""
    rows = [{**row, "acc": text} for row, text in zip(choices(), ("1.0", "False", "True"), strict=True)]
    assert read_log(lm_log(tmp_path, rows)).outcomes.tolist() == [1, 0, 1]
    rows = [{**row, "exact_match": value} for row, value in zip(answers("yes", "no", "x"), (7, -2.5, 0), strict=True)]
    assert read_log(lm_log(tmp_path, rows)).outcomes.tolist() == [7, -2.5, 0]


def test_a_log_without_metrics_is_refused(tmp_path):
    """--predict_only writes null."""
    rows = [{**row, "metrics": [], "exact_match": None} for row in answers("yes", "no")]
    assert refused(lm_log(tmp_path, rows)) == ("metric", None, ())


def filtered(names):
    """Two rows read by two filters: all by the first, then all by the second."""
    strict, loose = answers("yes", "[invalid]"), answers("yes", "yes")
    for row, twin in zip(loose, strict, strict=True):
        row["resps"] = twin["resps"]
    if names[0] is None:
        keys = ("filter", "metrics")
        return [{key: row[key] for key in row if key not in keys} for row in (*strict, *loose)]
    return [{**row, "filter": name} for name, rows in zip(names, (strict, loose), strict=True) for row in rows]


def test_one_of_several_filters_has_to_be_named(tmp_path):
    """Each document stands there once for each filter."""
    path = lm_log(tmp_path, filtered(("strict", "loose")))
    assert refused(path) == ("filter", None, ("strict", "loose"))
    assert refused(path, filter="x") == ("filter", "x", ("strict", "loose"))
    assert read_log(path, LogOptions(filter="strict")).outcomes.tolist() == [1, 0]
    assert read_log(path, LogOptions(filter="loose")).outcomes.tolist() == [1, 1]


def test_unnamed_filters_are_told_apart_by_their_order(tmp_path):
    """0.4.3 names none; the results beside the log do."""
    path = lm_log(tmp_path, filtered((None, None)))
    assert read_log(path, LogOptions(filter="1")).outcomes.tolist() == [1, 0]
    assert read_log(path, LogOptions(filter="2")).outcomes.tolist() == [1, 1]
    assert refused(path) == ("filter", None, ("1", "2"))
    results(tmp_path, config={"filter_list": [{"name": "strict"}, {"name": "loose"}]})
    assert read_log(path, LogOptions(filter="loose")).outcomes.tolist() == [1, 1]
    assert read_log(path, LogOptions(filter="2")).outcomes.tolist() == [1, 1]
    assert refused(path) == ("filter", None, ("strict", "loose"))


def test_two_answers_to_one_row_are_refused(tmp_path):
    """One log twice in a file, with or without names of filters."""
    bare = filtered((None, None))
    bare[2]["resps"] = [["another answer"]]
    for name, rows, line in (
        ("a", choices() * 2, 4),
        ("named", answers("yes") * 2, 2),
        ("b", bare, 3),
        ("c", filtered((None, None))[:3], 2),
    ):
        path = lm_log(tmp_path / name, rows)
        with refuses(DataError, place=f"{path}, line {line}"):
            read_log(path, LogOptions(filter="1" if name == "b" else ""))


def test_equal_texts_are_no_second_answers(tmp_path):
    """Rows of the data that say the same have numbers of their own, and are told apart by their order."""
    rows = [{**row, "doc": DOCS[0]} for row in choices()]
    log = read_log(lm_log(tmp_path, rows))
    key = log.keys[0]
    assert log.keys == (key, f"{key}#2", f"{key}#3")
    assert any("2 rows repeat the question of an earlier row" in note for note in log.notes)


def test_no_answer_is_wrong_and_right_silence_an_answer(tmp_path):
    """[invalid], null and nothing were not given; a metric that is not there is not known."""
    rows = answers("yes", "[invalid]", "")
    rows.append(written_row(3, {"text": "more"}, "yes", "yes", None, exact_match=0.0))
    rows.append(written_row(4, {"text": "even more"}, "yes", "yes", "[invalid]", exact_match=None))
    rows.append(written_row(5, {"text": "most"}, "yes", "yes", "yes", exact_match=float("nan")))
    log = read_log(lm_log(tmp_path, rows))
    assert log.state.tolist() == [ANSWERED] + [NO_ANSWER] * 4 + [ERROR]
    np.testing.assert_array_equal(log.outcomes, [1, 0, 0, 0, 0, np.nan])
    rows = [written_row(0, DOCS[0], "", "", "", exact_match=1.0)]
    assert read_log(lm_log(tmp_path, rows)).state.tolist() == [ANSWERED]


def test_clusters_are_a_field_of_the_documents(tmp_path):
    """None unless the caller names one; one that is not there is answered with those that are."""
    path = lm_log(tmp_path, choices())
    log = read_log(path, LogOptions(cluster="kind"))
    assert log.clusters == ("a", "b", "a")
    assert refused(path, cluster="kin") == ("cluster", "kin", ("text", "kind"))


def test_choices_without_a_meaning_are_no_labels(tmp_path):
    """Outcomes stand if choices differ from row to row, or contradict the metric."""
    rows = choices()
    rows[0]["arguments"]["gen_args_0"]["arg_1"] = " Paris"
    log = read_log(lm_log(tmp_path, rows))
    assert (log.labels, log.scores) == ((), None)
    assert log.answers.tolist() == log.truth.tolist() == [-1] * 3
    assert log.outcomes.tolist() == [1, 0, 1]
    log = read_log(lm_log(tmp_path, [{**row, "acc": 1 - row["acc"]} for row in choices()]))
    assert log.labels == ()
    assert any("Labels are left out: on 3 rows" in note for note in log.notes)


def test_requests_that_are_no_choices_are_passed_over(tmp_path):
    """Each choice may be asked for once more, after an empty prompt; one continuation alone is an outcome."""
    rows = []
    twice = choice_row(0, {}, 0, (-9, -9), prompt="")
    requests = {f"gen_args_{2 + i}": request for i, request in enumerate(twice["arguments"].values())}
    for row in choices():
        responses = row["filtered_resps"] + twice["filtered_resps"]
        rows.append({**row, "arguments": row["arguments"] | requests, "filtered_resps": responses})
    log = read_log(lm_log(tmp_path, rows))
    assert log.scores.shape == (3, 2)
    assert log.answers.tolist() == [1, 1, 0]
    rows = [choice_row(n, doc, "x", (-1.5,), choices=(" x",), acc=1.0) for n, doc in enumerate(DOCS)]
    log = read_log(lm_log(tmp_path, rows))
    assert (log.labels, log.state.tolist()) == ((), [ANSWERED] * 3)


def test_written_answers_have_labels_where_the_task_has_choices(tmp_path):
    """The results name the choices, which agree with the metric."""
    path = lm_log(tmp_path, answers("Yes", "no", "perhaps"))
    rows = [
        {**row, "target": "1", "exact_match": float(n == 0)} for n, row in enumerate(answers("Yes", "no", "perhaps"))
    ]
    lm_log(tmp_path, rows)
    results(tmp_path, config={"doc_to_choice": ["no", "yes"]})
    log = read_log(path)
    assert log.labels == ("no", "yes")
    assert log.answers.tolist() == [1, 0, -1]
    assert log.truth.tolist() == [1, 1, 1]


def test_the_results_beside_a_log_are_used(tmp_path):
    """The direction, names, choices, what stands before a choice, and how many rows were run."""
    path = lm_log(tmp_path, choices())
    config = {"doc_to_choice": ["wrong", "right"], "target_delimiter": " "}
    results(tmp_path, config=config, higher={"acc": False}, **{"n-samples": {"small": {"original": 9, "effective": 5}}})
    log = read_log(path)
    assert (log.model, log.version, log.measure.higher_is_better) == ("org/model", "0.4.9", False)
    assert log.labels == ("wrong", "right")
    results(tmp_path, higher={"acc": True}, name=f"other_{TIME}.json")
    assert read_log(path).measure.higher_is_better is False
    (tmp_path / f"results_{TIME}.json").unlink()
    assert read_log(path).measure.higher_is_better is True
    assert "The log is partial: it holds 3 of the 5 rows that were run." in log.notes
    assert read_log(lm_log(tmp_path / "alone", choices())).measure.higher_is_better is True


def test_results_of_another_time_are_not_used(tmp_path):
    """Each log has the results of its own run."""
    path = lm_log(tmp_path, choices())
    results(tmp_path, time="2027-01-01T00-00-00.0", higher={"acc": False})
    assert read_log(path).measure.higher_is_better is True


@pytest.mark.parametrize("content", [b"{", b"[]", b'"x"', b'{"configs": [1]}', b"\xff", b"[" * 100_000])
def test_broken_results_cost_no_log(tmp_path, content):
    """Results that cannot be read are noted where they are broken, and not used."""
    path = lm_log(tmp_path, choices())
    (tmp_path / f"results_{TIME}.json").write_bytes(content)
    log = read_log(path)
    assert log.outcomes.tolist() == [1, 0, 1]
    assert any("not used" in note for note in log.notes) == (content not in (b"[]", b'"x"', b'{"configs": [1]}'))


def test_results_that_link_elsewhere_are_not_used(tmp_path):
    """A folder of logs has no other file of this machine read."""
    (tmp_path / "secret.json").write_text(json.dumps({"higher_is_better": {"small": {"acc": False}}}))
    path = lm_log(tmp_path / "logs", choices())
    (tmp_path / "logs" / f"results_{TIME}.json").symlink_to(tmp_path / "secret.json")
    log = read_log(path)
    assert log.measure.higher_is_better is True
    assert any("links to a file outside of its folder" in note for note in log.notes)


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_any_log_is_what_a_slow_reading_says(tmp_path_factory, seed):
    """Row by row, with plain Python, of random logs in random order."""
    draw = random.Random(seed)
    names = tuple("x" * draw.randint(1, 6) + str(n) for n in range(draw.randint(2, 4)))
    truth = [draw.randrange(len(names)) for _ in range(draw.randint(1, 8))]
    pairs = [[round(-draw.random() * 20, 3) for _ in names] for _ in truth]
    expected, rows = {}, []
    for n, (right, values) in enumerate(zip(truth, pairs, strict=True)):
        shares = [value / len(name) for value, name in zip(values, names, strict=True)]
        acc, norm = (float(numbers.index(max(numbers)) == right) for numbers in (values, shares))
        expected[f"h{n}"] = norm if len(set(map(len, names))) > 1 else acc
        texts = [f" {name}" for name in names]
        fields = {"acc": acc, "acc_norm": norm, "metrics": ["acc", "acc_norm"], "doc_hash": f"h{n}"}
        rows.append(choice_row(n, {"n": n}, draw.choice([right, str(right), names[right]]), values, texts, **fields))
    draw.shuffle(rows)
    log = read_log(lm_log(tmp_path_factory.mktemp("log"), rows))
    assert dict(zip(log.keys, log.outcomes, strict=True)) == expected
    assert (log.answers == log.truth).tolist() == [bool(value) for value in log.outcomes]


def test_twice_the_rows_are_twice_the_work(tmp_path):
    """Nothing is quadratic in the rows, by the calls that are made."""

    def calls(size):
        rows = [choice_row(n, {"text": f"row {n}"}, str(n % 2), (-1, -2), acc=float(n % 2 == 0)) for n in range(size)]
        path = lm_log(tmp_path, rows)
        counted = cProfile.Profile(builtins=True)
        log = counted.runcall(read_log, path)
        assert len(log) == size
        return pstats.Stats(counted).total_calls

    calls(10)  # what is imported once
    assert calls(2_000) < 2.1 * calls(1_000)


# folders


def test_a_folder_lists_its_tasks_and_groups(tmp_path):
    """By model and task, with the groups that the results name."""
    for task in ("b_task", "a_task"):
        lm_log(tmp_path, choices(), task)
    results(tmp_path, "a_task", group_subtasks={"all": ["some", "b_task"], "some": ["a_task"], "b_task": []})
    listing = list_logs(tmp_path)
    assert [(log.task, log.program) for log in listing.logs] == [("a_task", "lm-eval"), ("b_task", "lm-eval")]
    assert listing.groups == {"all": ("a_task", "b_task"), "some": ("a_task",)}
    assert listing.notes == ()


def test_the_newest_log_of_a_task_is_read(tmp_path):
    """And the folder says that there are others."""
    old = lm_log(tmp_path, choices(), time="2026-01-01T00-00-00.1")
    new = lm_log(tmp_path, choices(), time="2026-01-02T00-00-00.1")
    listing = list_logs(tmp_path)
    assert [log.path for log in listing.logs] == [new]
    assert [log.path for log in listing.older] == [old]
    assert [log.path for log in listing.runs(listing.logs[0])] == [old, new]


def test_a_group_in_itself_is_its_tasks(tmp_path):
    """Groups in a circle end."""
    lm_log(tmp_path, choices())
    results(tmp_path, group_subtasks={"a": ["b", "small"], "b": ["a", "small"]})
    assert list_logs(tmp_path).groups == {"a": ("small",), "b": ("small",)}


def test_the_folder_of_the_only_model_is_found(tmp_path):
    """Names that begin with a dot are seen; two models are listed, for the caller to name one."""
    lm_log(tmp_path / "..__models__one", choices())
    assert [log.path.parent.name for log in list_logs(tmp_path).logs] == ["..__models__one"]
    lm_log(tmp_path / "two", choices())
    with refuses(DataError, option="models", place=tmp_path):
        list_logs(tmp_path)


@pytest.mark.parametrize("name", ["no such folder", "\0", "file"])
def test_a_folder_that_cannot_be_read_is_refused(tmp_path, name):
    """One line that names it."""
    (tmp_path / "file").write_text("")
    with refuses(DataError, place=tmp_path / name):
        list_logs(tmp_path / name)


def test_a_folder_without_logs_is_refused(tmp_path):
    """Other files are passed over."""
    (tmp_path / "notes.json").write_text("{}")
    (tmp_path / "data.jsonl").write_text('{"text": "a"}\n')
    results(tmp_path)
    with refuses(DataError, place=tmp_path):
        list_logs(tmp_path)


def test_a_log_that_links_out_of_its_folder_is_refused(tmp_path):
    """Unless the folder is one of the hub's cache, whose files link to its blobs."""
    path = lm_log(tmp_path / "blobs", choices())
    for folder in (tmp_path / "logs", tmp_path / "snapshots" / "abc"):
        folder.mkdir(parents=True)
        (folder / path.name).symlink_to(path)
    assert len(list_logs(tmp_path / "snapshots" / "abc").logs) == 1
    with refuses(DataError, place=f"{tmp_path}/logs/samples_small_2026-01-02T03-04-05.678901.jsonl"):
        list_logs(tmp_path / "logs")


def test_what_a_file_is_is_told_by_what_is_in_it(tmp_path):
    """Rows whose keys stand in another order are rows; tables and other JSON are no logs."""
    row = choices()[0]
    turned = {key: row[key] for key in reversed(row)}
    assert program_of(lm_log(tmp_path, [turned])) == "lm-eval"
    for name, content in (("a.csv", "doc,resps\n"), ("b.json", "[1]"), ("c.jsonl", '{"doc": 1}\n')):
        (tmp_path / name).write_text(content)
        assert program_of(tmp_path / name) is None
    assert program_of(tmp_path / "no such file") is None
