"""Heads of `benchmarks.heads` are trained on what their settings say, and their answers are kept."""

import gzip
import json

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import make_checkpoint

from benchmarks import heads
from benchmarks.heads import HeadTraining, coarse, hidden, renamed, sentences, span_features, tag_features
from factors.types import Example
from ranker.tasks.tags import entities

ROWS = [
    Example("1", ("the doctor saw the old actor",), ("O", "B-person", "O", "O", "B-person", "I-person")),
    Example("2", ("judge waited",), ("B-location", "O")),
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A tiny checkpoint, and its tokenizer."""
    from transformers import AutoTokenizer

    folder = make_checkpoint(tmp_path_factory.mktemp("encoder"), "bert", None, "MaskedLM")
    return folder, AutoTokenizer.from_pretrained(folder)


def test_a_domain_keeps_three_types():
    """Finer types become the type that has them, and tags of other types become O."""
    tags = ("B-band", "I-band", "B-song", "O", "B-country")
    assert coarse(tags) == ("B-organisation", "I-organisation", "O", "O", "B-location")


def test_renamed_mentions_keep_their_type():
    """Every row has the same types in the same order, the words between them, and mentions that the rows have."""
    changed = renamed(ROWS * 5, np.random.default_rng(0))
    assert len({row.segments for row in changed}) > 2
    for row, before in zip(changed, ROWS * 5, strict=True):
        words = row.segments[0].split(" ")
        spans = sorted(entities(row.target), key=lambda span: span[1])
        assert [kind for kind, _, _ in spans] == [kind for kind, _, _ in sorted(entities(before.target))]
        assert {" ".join(words[first : last + 1]) for _, first, last in spans} <= {"doctor", "old actor", "judge"}
        assert len(words) == len(row.target)


def test_hidden_words_are_words_of_mentions():
    """Some words of mentions are masked, and no other word."""
    changed = hidden(ROWS * 20, np.random.default_rng(0))
    pairs = [(word, tag) for row in changed for word, tag in zip(row.segments[0].split(" "), row.target, strict=True)]
    assert 0.3 < np.mean([word == "[MASK]" for word, tag in pairs if tag != "O"]) < 0.7
    assert all(word != "[MASK]" for word, tag in pairs if tag == "O")


def test_a_passage_is_cut_to_the_sentence_of_its_answer():
    """The sentence around the first place of the answer stays."""
    row = Example("1", ("Who ran?", "It rained. A dog ran. A cat sat."), ("dog",))
    assert sentences([row], np.random.default_rng(0))[0].segments == ("Who ran?", "A dog ran.")


def test_a_first_token_bears_the_tag_of_its_word(encoder):
    """Special tokens and later tokens of a word bear none."""
    features = tag_features(encoder[1], ROWS[0])
    labels = [label for label in features["labels"] if label != heads.IGNORED]
    assert [heads.TAGS[label] for label in labels] == list(ROWS[0].target)
    assert features["labels"][0] == features["labels"][-1] == heads.IGNORED


def test_an_answer_is_a_range_of_tokens(encoder):
    """The tokens of the range are those of the answer."""
    features = span_features(encoder[1], Example("1", ("who saw", "the doctor saw the old actor"), ("old actor",)))
    answer = features["input_ids"][features["start_positions"] : features["end_positions"] + 1]
    assert encoder[1].decode(answer) == "old actor"


@pytest.mark.more
@pytest.mark.parametrize("kind", ["tags", "spans"])
def test_a_model_that_learnt_its_rows_answers_them(kind, encoder, tmp_path, monkeypatch):
    """Outcomes of the trained model are right, those of an untrained one are not, and files keep both."""
    file = tmp_path / ("rows.conll.gz" if kind == "tags" else "rows.jsonl")
    if kind == "tags":
        rows = [zip(row.segments[0].split(" "), row.target, strict=True) for row in ROWS]
        file.write_bytes(gzip.compress("\n\n".join("\n".join(map("\t".join, row)) for row in rows).encode()))
    else:
        cells = {"passage": "the doctor saw the old actor", "answers": ["doctor"]}
        lines = [json.dumps({"id": question, "question": question, **cells}) for question in ("who saw", "who")]
        file.write_text("\n".join(lines))
    monkeypatch.setattr(heads, "ENCODER", str(encoder[0]))
    trainings = {
        "learnt": HeadTraining(2, 60, 1e-2),
        "upper": HeadTraining(1, 60, 2e-2, 1),
        "none": HeadTraining(2, 1, 0.0),
    }
    monkeypatch.setattr(heads, "TAGGERS" if kind == "tags" else "EXTRACTORS", trainings)
    for arguments in (
        ("train", kind, file, tmp_path),
        ("answer", kind, tmp_path, tmp_path / "out", "--set", "x", file),
    ):
        ran = CliRunner().invoke(heads.main, list(map(str, arguments)), catch_exceptions=False)
        assert ran.exit_code == 0
    with np.load(tmp_path / "out" / "x.npz") as arrays:
        outcomes = dict(zip(arrays["models"].tolist(), arrays["Y"].tolist(), strict=True))
    assert outcomes["learnt"] == [1.0, 1.0]
    assert min(outcomes["none"]) < 1.0
    rows, learnt = ([json.loads(line) for line in (tmp_path / "out" / "x" / f"{name}.jsonl").read_text().splitlines()]
                    for name in ("rows", "learnt"))  # fmt: skip
    truth = [" ".join(row["tags"]) if kind == "tags" else row["answers"][0] for row in rows]
    assert [line["answer"] for line in learnt] == truth
