"""BERTScore, against a plain loop over tokens and against torchmetrics; its encoder is loaded late and asked once."""

import copy
import logging
import math
import random
import shutil
from dataclasses import fields

import numpy as np
import pytest
import torch
from refusals import refuses
from torchmetrics.functional.text import bert_score
from transformers import AutoModel, AutoTokenizer

from factors import Example
from ranker.errors import ModelError, UsageError
from ranker.sources.hf.bertscore import BertScore
from ranker.sources.hf.sentences import Encoder
from ranker.tasks.texts import BLOCK, TextTask

WORDS = ("the", "actor", "saw", "near", "an", "old", "judge", "dog", "danced", "waited", "because", ".")


def texts_of(count, seed=0):
    """Return random texts of 1 to 9 words."""
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 9))) for _ in range(count)]


def token_vectors(folder, text, layer):
    """Return the vectors of a text's tokens by transformers itself, without special tokens."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    encoded = tokenizer(text, return_tensors="pt", return_special_tokens_mask=True)
    special = encoded.pop("special_tokens_mask")[0].tolist()
    with torch.no_grad():
        states = model(**encoded, output_hidden_states=True).hidden_states[layer][0].tolist()
    return [vector for vector, is_special in zip(states, special, strict=True) if not is_special]


def cosine(a, b):
    """Return the cosine of two vectors."""
    product = sum(x * y for x, y in zip(a, b, strict=True))
    return product / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(y * y for y in b))


def by_loops(answer, reference):
    """Return F1 of greedy matching, token by token."""
    precision = sum(max(cosine(a, r) for r in reference) for a in answer) / len(answer)
    recall = sum(max(cosine(a, r) for a in answer) for r in reference) / len(reference)
    return 2 * precision * recall / (precision + recall) if min(precision, recall) > 0 else 0.0


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "layer"), [("bert", 2), ("roberta", 2), ("mpnet", 1), ("xlnet", 0)])
def test_scores_are_those_of_a_loop_over_tokens(checkpoint, name, layer):
    """Each token is matched with the nearest of the other text, whatever layer, tokenizer and special tokens."""
    score = BertScore.by(f"{checkpoint(name)}#{layer}")
    texts = texts_of(6)
    vectors = [token_vectors(checkpoint(name), text, layer) for text in texts]
    expected = [[by_loops(a, r) for r in vectors] for a in vectors]
    scores = [[score(answer, reference) for reference in texts] for answer in texts]
    assert np.array(scores) == pytest.approx(np.array(expected), abs=1e-5)
    assert np.std(expected) > 0.01


@pytest.fixture
def _logging_of_transformers():
    """Undo a level that torchmetrics leaves, by which transformers would talk in later tests."""
    yield
    logging.getLogger("transformers.modeling_utils").setLevel(logging.NOTSET)


@pytest.mark.more
@pytest.mark.usefixtures("_logging_of_transformers")
def test_scores_are_those_of_torchmetrics(checkpoint):
    """Only pairs whose tokens are all like one of the other text count: torchmetrics takes 0 for less."""
    folder = checkpoint("bert")
    score, compared = BertScore.by(str(folder)), 0
    for answer, reference in zip(texts_of(12, 1), texts_of(12, 2), strict=True):
        sides = token_vectors(folder, answer, 2), token_vectors(folder, reference, 2)
        if min(max(cosine(a, b) for b in side) for side, far in (sides[::-1], sides) for a in far) > 0:
            expected = bert_score([answer], [reference], model_name_or_path=str(folder), num_layers=2)["f1"]
            assert score(answer, reference) == pytest.approx(float(expected), abs=1e-5)
            compared += 1
    assert compared >= 5


@pytest.fixture
def embedded(monkeypatch):
    """Return the list of all texts that encoders are asked for."""
    embedded_texts, original = [], Encoder.token_vectors

    def spy(encoder, texts):
        embedded_texts.extend(texts)
        return original(encoder, texts)

    monkeypatch.setattr(Encoder, "token_vectors", spy)
    return embedded_texts


def test_a_text_is_embedded_once_and_not_once_a_pair(checkpoint, embedded):
    """Four models' answers to 20 rows, against two references and against each other."""
    task = TextTask("text", BertScore.by(str(checkpoint("bert"))))
    rows = [Example(str(n), ("",), (f"the judge {n}", f"an actor {n}")) for n in range(20)]
    answers = [task.predictions([f"the dog {model} saw {n}" for n in range(20)]) for model in range(4)]
    for of_model in answers:
        task.outcomes(of_model, rows)
        for of_other in answers:
            task.similarity(of_model, of_other)
    assert len(embedded) == len(set(embedded)) == 20 * (4 + 2)


@pytest.mark.more
def test_few_cached_vectors_change_no_number(checkpoint, embedded, monkeypatch):
    """Dropped vectors are computed again, in blocks of rows."""
    answers, references = texts_of(BLOCK + 20, 3), texts_of(BLOCK + 20, 4)
    rows = [Example(str(n), ("",), (text,)) for n, text in enumerate(references)]
    tasks = [TextTask("text", BertScore.by(str(checkpoint("bert")))) for _ in range(2)]
    expected, distinct = tasks[0].outcomes(tasks[0].predictions(answers), rows), len(embedded)
    monkeypatch.setattr("ranker.sources.hf.bertscore.MAX_CACHED", 0)
    assert tasks[1].outcomes(tasks[1].predictions(answers), rows).tolist() == expected.tolist()
    assert len(embedded) > 2 * distinct


def test_the_best_reference_counts_and_an_empty_text_scores_nothing(checkpoint):
    """A text that equals one of its references scores 1; none, blanks and signs without a token score 0."""
    task = TextTask("text", BertScore.by(str(checkpoint("bert"))))
    rows = [Example(str(n), ("",), ("an old judge", "the actor saw")) for n in range(5)]
    answers = task.predictions(["the actor saw", "the actor", "", None, "\u200b"])
    outcomes = task.outcomes(answers, rows)
    alone = max(task.score("the actor", reference) for reference in rows[0].target)
    assert outcomes.tolist() == pytest.approx([1.0, alone, 0.0, 0.0, 0.0])
    assert 0 < alone < 1


def test_it_is_light_to_send_and_equal_where_its_encoder_is(checkpoint, tmp_path):
    """A copy holds no network; a copy of the folder is the same metric, and other weights are another."""
    score = BertScore.by(str(checkpoint("bert")))
    score("the actor", "an actor")
    sent = copy.copy(score)
    assert set(vars(sent)) == {field.name for field in fields(BertScore)} < set(vars(score))
    assert sent("the actor", "an actor") == score("the actor", "an actor")
    shutil.copytree(checkpoint("bert"), tmp_path / "copy")
    copied = BertScore.by(str(tmp_path / "copy"))
    assert (copied, hash(copied), copied.__name__) == (score, hash(score), score.__name__)
    other_metrics = [BertScore.by(f"{checkpoint('bert')}#1"), BertScore.by(str(checkpoint("roberta")))]
    assert len({score, *other_metrics}) == len({metric.__name__ for metric in (score, *other_metrics)}) == 3
    assert TextTask("text", score).metric == f"BERTSCORE:{score.digest[:8].upper()}"


def test_long_texts_are_cut_and_that_is_logged(checkpoint, caplog):
    """Two texts that differ behind the limit of the encoder are alike."""
    score = BertScore.by(str(checkpoint("bert")))
    long = "the actor " * 100
    assert score(long, long + "judge") == pytest.approx(1.0)
    assert "2 of 2 texts are longer than its 40 tokens, and were cut" in caplog.text


def test_what_is_no_encoder_is_refused(checkpoint, tmp_path):
    """No folder, an empty one, one without weights, no place, and a layer that there is not."""
    with refuses(ModelError, option="metric", value="/nowhere"):
        BertScore.by("/nowhere")
    with refuses(ModelError, place=tmp_path):
        BertScore.by(str(tmp_path))
    shutil.copytree(checkpoint("bert"), tmp_path / "bare")
    (tmp_path / "bare" / "model.safetensors").unlink()
    with refuses(ModelError, place=tmp_path / "bare"):
        BertScore.by(str(tmp_path / "bare"))
    for place in ("", "#1", f"{checkpoint('bert')}#last"):
        with refuses(UsageError, option="metric", value=place):
            BertScore.by(place)
    with refuses(UsageError, option="layer", value=3):
        BertScore.by(f"{checkpoint('bert')}#3")("a", "b")
