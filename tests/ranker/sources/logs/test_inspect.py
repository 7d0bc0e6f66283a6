import gzip
import io
import json
import zipfile

import numpy as np
import pytest
from logmaking import archive, eval_log, header, json_log, named, part, refused, sample

from ranker.errors import Absence
from ranker.sources.logs.options import LogOptions
from ranker.sources.logs.reading import list_logs, program_of, read_log
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER

NAN = float("nan")
CLUSTERED = [{"name": "inspect_ai/accuracy"}, {"name": "inspect_ai/stderr", "options": {"cluster": "page"}}]


@pytest.fixture
def path(tmp_path):
    """A place for a log."""
    return tmp_path / "log.eval"


def test_a_log_is_arrays(path):
    """Names of the header, ids as text, outcomes by hand."""
    log = read_log(eval_log(path, [sample("a", "C"), sample(7, "I")], header(ids=["a", 7])))
    assert (log.program, log.version, log.task, log.model) == ("inspect", "0.3.200", "small", "org/model")
    assert (log.metric, log.candidates) == ("match", ("match",))
    assert log.measure.higher_is_better is True
    assert log.keys == ("a", "7")
    assert log.texts == ("Is a so?", "Is 7 so?")
    assert log.outcomes.tolist() == [1, 0]
    assert log.state.tolist() == [ANSWERED, ANSWERED]
    assert (log.labels, log.scores, log.clusters, log.notes) == ((), None, None, ())


@pytest.mark.parametrize("method", [0, 8, 93])
def test_parts_are_packed_in_one_of_three_ways(path, method):
    """As they are, deflated, or by Zstandard, which Inspect uses since 0.3.206."""
    assert read_log(eval_log(path, [sample(1, "C"), sample(2, "I")], method=method)).outcomes.tolist() == [1, 0]


@pytest.mark.more
def test_an_archive_of_the_standard_library_is_read(path):
    """With streamed sizes, long lists and parts that are none of ours."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive_file:
        archive_file.writestr("header.json", json.dumps(header()))
        for number in range(70_000):
            archive_file.writestr(f"other/{number}", b"")
        with archive_file.open("samples/1_epoch_1.json", "w", force_zip64=True) as member:
            member.write(json.dumps(sample(1, "C")).encode())
        archive_file.comment = b"PK\5\6 is no end"
    path.write_bytes(stream.getvalue())
    assert read_log(path).outcomes.tolist() == [1]


@pytest.mark.parametrize("name", ["log.json", "log.json.gz"])
def test_a_log_in_one_text_says_the_same(path, name):
    """Bare NaN and all; an archive in gzip, too."""
    samples = [sample("a", "C"), sample("b", NAN), sample("c", {"x": 1, "y": NAN}, scorer="two")]
    first = read_log(eval_log(path, samples), LogOptions(scorer="match"))
    second = read_log(json_log(path.with_name(name), samples), LogOptions(scorer="match"))
    packed = path.with_name("again.eval.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    three = read_log(packed, LogOptions(scorer="match"))
    for same_log in (second, three):
        for name in ("keys", "texts", "target_hashes", "candidates"):
            assert getattr(first, name) == getattr(same_log, name)
        np.testing.assert_array_equal(first.outcomes, same_log.outcomes)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *[("C", 1), ("P", 0.5), ("I", 0), ("N", 0), (True, 1), (False, 0), (0.25, 0.25), (7, 7), (-1, -1)],
        *[("yes", 1), ("Yes", 1), ("true", 1), ("no", 0), ("FALSE", 0), ("0.25", 0.25), (" 3 ", 3)],
    ],
)
def test_a_score_counts_as_a_number(path, value, expected):
    """Letters, truths, numbers, and numbers as text."""
    log = read_log(eval_log(path, [sample(1, value)]))
    assert log.outcomes.tolist() == [expected]
    assert log.state.tolist() == [NO_ANSWER if value == "N" else ANSWERED]


def test_what_is_not_scored_is_not_known(path):
    """An error, NaN, null and a part that is not there are no zeros."""
    failed = sample(2, 0, scores={}, error={"message": "broken"})
    log = read_log(eval_log(path, [sample(1, "C"), failed, sample(3, NAN), sample(4, None), sample(5, 0, scores=None)]))
    np.testing.assert_array_equal(log.outcomes, [1, NAN, NAN, NAN, NAN])
    assert log.state.tolist() == [ANSWERED] + [ERROR] * 4
    log = read_log(eval_log(path, [sample(1, {"a": 1}), sample(2, {"a": None}), sample(3, {}), sample(4, NAN)]))
    np.testing.assert_array_equal(log.outcomes, [1, NAN, NAN, NAN])


MARKED = {"author": "x", "reason": "broken tool", "timestamp": "2026-01-01T00:00:00+00:00"}


@pytest.mark.parametrize(("field", "state"), [("error", "error"), ("invalidation", "invalidated")])
def test_a_sample_that_failed_has_no_score_although_one_is_recorded(path, field, state):
    """Neither its label nor its text is read, and the recorded mean follows from all."""
    metric = {"name": "match", "scorer": "match", "metrics": {"accuracy": {"name": "accuracy", "value": 0.75}}}
    samples = [sample(n, "C" if n < 4 else "I", answer="yes" if n < 4 else "no") for n in range(1, 5)]
    samples[1] |= {field: MARKED}
    log = read_log(eval_log(path, samples, header(results={"scores": [metric]})))
    np.testing.assert_array_equal(log.outcomes, [1, NAN, 1, 0])
    assert log.state.tolist() == [ANSWERED, ERROR, ANSWERED, ANSWERED]
    assert (log.responses[1], log.measure.notes) == ("", ())
    assert f"Failed or invalid: 1 of 4 samples ({state} 1); they have no score." in log.notes


def test_an_epoch_that_failed_leaves_the_others(path):
    """The row is the mean of these, with a note that a gate reads, and the text is the first that did not fail."""
    samples = [sample(1, "I", 1, answer="a", error=MARKED), sample(1, "C", 2, answer="b"), sample(2, "C", 1)]
    log = read_log(eval_log(path, [*samples, sample(2, "I", 2)], header(epochs=2)))
    assert (log.outcomes.tolist(), log.responses[0]) == ([1, 0.5], "b")
    (note,) = [note for note in log.notes if isinstance(note, Absence)]
    assert (type(note), note) == (Absence, "Failed or invalid in some epochs: 1 of 2 rows; the others count.")


def test_a_sample_that_was_run_again_or_scored_anew_counts_and_is_told(path):
    """Errors before the last run are none of the sample, and the score of today is the score."""
    history = [{"value": "C"}, {"value": "I", "provenance": MARKED}]
    anew = sample(1, "I", scores={"match": {"value": "I", "answer": "yes", "history": history}})
    log = read_log(eval_log(path, [anew, sample(2, "C", error_retries=[MARKED])]))
    assert (log.outcomes.tolist(), log.state.tolist()) == ([0, 1], [ANSWERED, ANSWERED])
    assert "Run again after an error: 1 of 2 samples; the last run counts." in log.notes
    assert "Scored anew after the run: 1 of 2 samples; the new scores count." in log.notes


def test_no_answer_is_wrong_and_no_error(path):
    """An empty answer, or none and nothing written; what is right without words is an answer."""
    silent = {"output": {"choices": [], "completion": ""}}
    samples = [
        sample(1, "I", answer=""),
        sample(2, "I", answer=None, **silent),
        sample(3, "C", answer=None, **silent),
        sample(4, "I", answer=None),
        sample(5, "I", answer=None, output={"choices": [{"message": {"content": [{"type": "text", "text": " "}]}}]}),
    ]
    log = read_log(eval_log(path, samples))
    assert log.state.tolist() == [NO_ANSWER, NO_ANSWER, ANSWERED, ANSWERED, NO_ANSWER]
    assert log.outcomes.tolist() == [0, 0, 1, 0, 0]


def test_one_of_several_scorers_has_to_be_named(path):
    """Parts of a value are listed by the scorer and their own name."""
    scores = {"match": {"value": "C"}, "judge": {"value": {"tone": 3, "fact": "C"}}, "list": {"value": [1, 0]}}
    eval_log(path, [sample(1, 0, scores=scores)])
    names = ("match", "judge.tone", "judge.fact", "list.0", "list.1")
    assert refused(path) == ("scorer", None, names)
    assert refused(path, scorer="judge") == ("scorer", None, ("judge.tone", "judge.fact"))
    assert refused(path, scorer="x") == ("scorer", "x", names)
    for choice in ({"scorer": "judge.tone"}, {"scorer": "judge", "metric": "tone"}, {"metric": "judge.tone"}):
        log = read_log(path, LogOptions(**choice))
        assert (log.metric, log.outcomes.tolist()) == ("tone", [3])
    assert read_log(path, LogOptions(scorer="list.1")).outcomes.tolist() == [0]


def test_values_that_are_no_numbers_are_no_scores(path):
    """No such value is a candidate, and one line says so where it is asked for, or all there is."""
    samples = [sample(1, 0, scores={"grade": {"value": "B"}, "match": {"value": "C"}})]
    assert read_log(eval_log(path, samples)).candidates == ("match",)
    assert refused(path, scorer="grade") == ("scorer", '"B"', ())
    assert refused(eval_log(path, [sample(1, "good")])) == ("scorer", '"good"', ())
    assert refused(eval_log(path, [sample(1, 0, scores={})])) == ("scorer", None, ())
    for score in (float("inf"), 10**400):
        assert refused(eval_log(path, [sample("a", score)])) == ("", "a", ())


def test_epochs_are_averaged_over_those_with_a_value(path):
    """The number of missing ones is said."""
    samples = [
        *[sample("a", value, epoch) for epoch, value in enumerate(["C", "I", "C"], 1)],
        *[sample("b", value, epoch) for epoch, value in enumerate(["C", NAN], 1)],
        *[sample("c", value, epoch) for epoch, value in enumerate([NAN, NAN, NAN], 1)],
        *[sample("d", "N", 3), sample("d", "N", 1)],
    ]
    log = read_log(eval_log(path, samples, header(epochs=3)))
    np.testing.assert_allclose(log.outcomes, [2 / 3, 1, NAN, 0])
    assert log.epochs == 3
    assert log.state.tolist() == [ANSWERED, ANSWERED, ERROR, NO_ANSWER]
    assert log.notes == (
        "Each row is the mean of 3 epochs (the log has mean by default).",
        "2 of 4 rows have scores in only some of 3 epochs, and use these.",
    )


def test_a_killed_run_is_read_as_far_as_it_goes(path):
    """Without a header the run's beginning says what it is; the record says that it is partial."""
    log = read_log(eval_log(path, [sample(1, "C"), sample(2, "I")], False))
    assert (log.task, log.model, log.outcomes.tolist()) == ("small", "org/model", [1, 0])
    assert log.notes == ("The log is partial: its run was killed before it wrote a header.",)
    path.write_bytes(archive([part(named(sample(1, "C")), sample(1, "C"))]))
    assert refused(path) == ("", None, ())


@pytest.mark.parametrize("status", ["started", "cancelled", "error"])
def test_a_run_that_did_not_end_well_is_partial(path, status):
    """So is one that holds fewer samples than were to be run."""
    log = read_log(eval_log(path, [sample("a", "C")], header(status, ids=["a", "b"])))
    assert f"The log is partial: its run ended with the status {status}." in log.notes
    assert "The log is partial: it holds 1 of the 2 samples that were to be run." in log.notes


def test_a_log_that_was_marked_invalid_says_so(path):
    """Such a log is read, but no gate passes on it."""
    (note,) = read_log(eval_log(path, [sample(1, "C")], header(invalidated=True))).notes
    assert (type(note), note) == (Absence, "Somebody has marked the log as invalid.")


def test_a_sample_in_pieces_is_read(path):
    """Metadata lies beside the sample; messages do, too, and are not needed."""
    entry = sample("a/b", "C")
    del entry["metadata"], entry["messages"]
    beside = [
        part("samples/a/b_epoch_1/sample.json", entry),
        part("samples/a/b_epoch_1/metadata.json", {"page": "p1"}),
        part("samples/a/b_epoch_1/messages/0.json", b"no JSON"),
    ]
    log = read_log(eval_log(path, [], header(metrics=CLUSTERED), also=beside))
    assert (log.keys, log.clusters, log.prompt_hashes) == (("a/b",), ("p1",), ("",))


def test_answers_that_repeat_count_once_or_are_refused(path):
    """A later part replaces one of its name; in one text, or under two names, nothing tells which counts."""
    log = read_log(eval_log(path, [sample(1, "I"), sample(2, "C"), sample(1, "C")]))
    assert log.outcomes.tolist() == [1, 1]
    assert log.notes == ("1 samples occur in the archive more than once; the last of each counts.",)
    twice = [sample("a", "I"), sample("a", "C")]
    assert refused(json_log(path.with_suffix(".json"), twice)) == ("", "a", ())
    second = part("samples/b_epoch_1.json", sample("a", "C"))
    assert refused(eval_log(path, twice[:1], also=[second])) == ("", "a", ())


def test_clusters_are_those_of_the_header(path):
    """By the options of the standard error, in a list of metrics or in one for each part of a value."""
    samples = [sample(n, "C", metadata={"page": page, "kind": 5}) for n, page in enumerate("xyx")]
    log = read_log(eval_log(path, samples, header(metrics=CLUSTERED)))
    assert log.clusters == ("x", "y", "x")
    assert read_log(eval_log(path, samples, header(metrics={"part": CLUSTERED}))).clusters == ("x", "y", "x")
    assert read_log(path, LogOptions(cluster="kind")).clusters == ("5", "5", "5")
    assert refused(path, cluster="pages") == ("cluster", "pages", ("page", "kind"))
    samples[1]["metadata"] = {}
    log = read_log(eval_log(path, samples, header(metrics=CLUSTERED)))
    assert log.clusters is None
    assert "1 of them have no such field" in log.notes[0]


def chosen(*rows):
    """Samples with (choices, target, answer, value)."""
    return [
        sample(f"s{n}", value, answer=answer, choices=list(choices), target=target)
        for n, (choices, target, answer, value) in enumerate(rows)
    ]


def test_choices_are_labels_in_whatever_order(path):
    """A letter means the choice that stands there in its own row; labels keep an order that all have."""
    log = read_log(eval_log(path, chosen(("yn", "A", "A", "C"), ("ny", "A", "B", "I"), ("yn", "B", "", "I"))))
    assert log.labels == ("n", "y")
    assert log.truth.tolist() == [1, 0, 0]
    assert log.answers.tolist() == [1, 1, -1]
    assert log.state.tolist() == [ANSWERED, ANSWERED, NO_ANSWER]
    assert read_log(eval_log(path, chosen(("yn", "A", "A", "C"), ("yn", "B", "B", "C")))).labels == ("y", "n")


@pytest.mark.parametrize(("target", "answer", "truth", "label"), [
    (["A"], "A", 0, 0), ("A,B", "A, B", -1, -1), (["A", "B"], "B", -1, 1), (" B", " B ", 1, 1),
    ("maybe", "maybe", 2, 2), ("D", "Z", -1, -1), ("", "abc", -1, -1),
])  # fmt: skip
def test_a_target_is_letters_or_a_text(path, target, answer, truth, label):
    """Blanks do not matter; several right choices are no label."""
    log = read_log(eval_log(path, chosen((("yes", "no", "maybe"), target, answer, 0.5))))
    assert (log.labels, log.truth.tolist(), log.answers.tolist()) == (("yes", "no", "maybe"), [truth], [label])


def test_choices_without_a_meaning_are_no_labels(path):
    """Choices that differ, are equal, or contradict the score are no labels."""
    assert read_log(eval_log(path, chosen(("ab", "A", "A", "C"), ("cd", "A", "A", "C")))).labels == ()
    assert read_log(eval_log(path, chosen(("aa", "A", "A", "C")))).labels == ()
    log = read_log(eval_log(path, chosen(("yn", "A", "A", "I"), ("yn", "B", "B", "C"))))
    assert (log.labels, log.outcomes.tolist()) == ((), [0, 1])
    assert "Labels are left out: in 1 samples" in log.notes[0]


def test_of_several_epochs_the_most_frequent_answer_is_the_label(path):
    """And none where none was given."""
    samples = [
        sample("a", value, epoch, answer=answer, choices=["y", "n"], target="A")
        for epoch, (answer, value) in enumerate([("A", "C"), ("B", "I"), ("B", "I")], 1)
    ]
    assert read_log(eval_log(path, samples)).answers.tolist() == [1]


def test_what_a_model_wrote_is_read_of_logs_without_a_completion(path):
    """Versions 0.3.41 to 0.3.58 write choices alone; an answer that the score names comes first."""
    output = {"choices": [{"message": {"role": "assistant", "content": "It is so."}}]}
    samples = [sample(1, "C", answer=None, output=output), sample(2, "C", answer="so", output=output)]
    assert read_log(eval_log(path, samples)).responses == ("It is so.", "so")


def test_an_input_may_be_messages_in_parts(path):
    """Texts of messages are the row's, those that are attached in their place."""
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, {"type": "image", "image": "x"}]},
        {"role": "user", "content": "attachment://abc"},
    ]
    log = read_log(eval_log(path, [sample(1, "C", input=messages, attachments={"abc": "A long text."})]))
    assert log.texts == ("Be brief.\nWhat is it?\nA long text.",)


def test_other_prompts_and_other_targets_have_other_hashes(path):
    """A blank beside a target, or a list of one, is the same target; what the model says later is no prompt."""
    samples = [sample(n, "C", input="same") for n in range(4)]
    for entry in samples:
        entry["messages"] = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": str(entry["id"])}]
    samples[1]["target"] = [" yes"]
    samples[2]["target"] = "no"
    samples[3]["messages"].insert(0, {"role": "system", "content": "Think."})
    log = read_log(eval_log(path, samples))
    assert [len({log.target_hashes[0], log.target_hashes[n]}) for n in (1, 2, 3)] == [1, 2, 1]
    assert [len({log.prompt_hashes[0], log.prompt_hashes[n]}) for n in (1, 2, 3)] == [1, 1, 2]


def test_another_solver_or_other_arguments_are_another_prompt(path):
    """Whatever version filled in what was left out; where a log does not say, nothing is known, nor of a failure."""

    def asked(steps, entry=None, **spec):
        log_header = header(plan={"steps": steps})
        log_header["eval"] |= spec
        return read_log(eval_log(path, [entry or sample(1, "C"), sample(2, "C")], log_header)).prompt_hashes[0]

    plain = asked([{"solver": "generate", "params": {}}])
    assert asked([{"solver": "generate", "params": {"tool_calls": "loop"}, "params_passed": {}}]) == plain
    assert asked([{"solver": "generate", "params": {}}, {"solver": "self_critique", "params": {}}]) != plain
    assert asked([{"solver": "generate", "params": {"cache": True}}]) != plain
    with_shots = asked([{"solver": "generate", "params": {}}], task_args={"shots": 2})
    assert with_shots != plain
    passed = {"task_args": {"shots": 2, "n": 0}, "task_args_passed": {"shots": 2}}
    assert asked([{"solver": "generate", "params": {}}], **passed) == with_shots
    assert asked(None) == ""
    assert asked([{"solver": "generate", "params": {}}], sample(1, "C", error={"message": "broken"})) == ""


@pytest.mark.parametrize(
    ("ids", "size", "expected"), [([1, 2], 2, True), ([2, 9], 10, True), ([1, 9], 2, False), (["1", "2"], 2, False)]
)
def test_ids_that_may_be_positions_are_told(path, ids, size, expected):
    """Then callers have to compare the texts."""
    log_header = header(ids=list(range(size)))
    assert read_log(eval_log(path, [sample(identity, "C") for identity in ids], log_header)).numbered is expected


def test_half_a_pair_of_surrogates_does_no_harm(path):
    """JSON can say it, and no file can hold it."""
    samples = [sample("\ud800", "C", input="a\udfff", choices=["\ud800", "b"], target="A", answer="A")]
    log = read_log(eval_log(path, samples))
    assert (log.keys, log.texts, log.labels) == (("?",), ("a?",), ("?", "b"))


def test_a_folder_of_logs_is_listed_by_model_and_task(tmp_path):
    """Of each the newest; archives and texts side by side."""
    old = header()
    old["eval"]["created"] = "2020-01-01T00:00:00+00:00"
    of_other_model = header()
    of_other_model["eval"]["model"] = "org/other"
    eval_log(tmp_path / "a.eval", [sample(1, "C")], old)
    json_log(tmp_path / "b.json", [sample(1, "C")])
    json_log(tmp_path / "c.json.gz", [sample(1, "C")], of_other_model)
    listing = list_logs(tmp_path)
    assert [(log.path.name, log.model) for log in listing.logs] == [("b.json", "org/model"), ("c.json.gz", "org/other")]
    assert [log.path.name for log in listing.older] == ["a.eval"]


def test_an_archive_is_a_log_by_its_name_only(path):
    """Other archives, as of NumPy, are none of ours."""
    assert program_of(eval_log(path, [sample(1, "C")])) == "inspect"
    assert program_of(eval_log(path.with_name("log.npz"), [sample(1, "C")])) is None
