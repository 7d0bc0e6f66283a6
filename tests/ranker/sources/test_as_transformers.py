"""Classifiers, beside the library's own pipeline: the same numbers, whatever a row holds and wherever it is cut."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from conftest import ENCODERS, LIMIT, OTHERS, make_checkpoint
from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification, AutoTokenizer, pipeline

from factors.types import Example
from ranker.attribution import attribute
from ranker.attribution.settings import IGSettings, LIMESettings, OcclusionSettings, SHAPSettings
from ranker.sources.base import is_embedded
from ranker.sources.hf.classifiers import TextClassifier
from ranker.sources.hf.taggers import Tagger
from ranker.tasks.classes import ClassificationTask

TASK = ClassificationTask("mood", ("bad", "fair", "good"))
LONG = "the actor saw the old judge near "
ROWS = {
    "plain": ("The old doctor saw the actor.",), "other": ("The old doctor saw the judge.",), "word": ("the",),
    "blank": (" ",), "end inside": ("The actor [SEP] waited near.",), "end": ("the old judge danced [SEP]",),
    "ends": ("an old actor[SEP][SEP]",), "end alone": ("[SEP]",), "padding inside": ("The [PAD] old actor near",),
    "padding": ("the old judge danced [PAD]",), "padding around": ("[PAD] the actor [PAD]",),
    "padding alone": ("[PAD]",), "all special": ("near [CLS] the [MASK] actor [UNK] saw",),
    "long": (LONG * 20 + "danced",), "very long": ("danced " + LONG * 100 + "because",),
    "long, ends": (LONG * 10 + "[SEP] [PAD] " + LONG * 10 + "[SEP]",), "pair": ("The old actor", "the judge saw."),
    "pair, ends": ("The old actor [SEP]", "the judge [PAD] saw"),
    "pair, first long": (LONG * 20, "The old [SEP] judge"), "pair, second long": ("a near old", LONG * 20),
    "pair, both long": (LONG * 20 + "danced [SEP]", "because " + LONG * 100),
}  # fmt: skip
EXAMPLES = [Example(name, segments) for name, segments in ROWS.items()]

SETTINGS = {
    "as made": {},
    "padding is the end": {"pad_token_id": 2},
    "no padding": {"pad_token_id": None},
    "cut on the left": {"truncation_side": "left"},
    "short": {"model_max_length": 12},
    "padded on the left": {"padding_side": "left"},
}
DECODERS = ("gpt2", "llama", "gemma", "mistral", "qwen2", "qwen3")
QUICK = [
    *((name, "as made") for name in ("bert", "roberta", "xlnet", "longformer", "esm", "ibert", "bart", "t5", "qwen2")),
    *(("gpt2", "no padding"), ("llama", "padding is the end"), ("mistral", "no padding")),
    *(("deberta-v3", "cut on the left"), ("llama", "cut on the left"), ("bart", "cut on the left")),
    *(("modernbert", "short"), ("gemma", "padded on the left")),
]
ALL = [
    *((name, "as made") for name in (*ENCODERS, *OTHERS)),
    *((name, setting) for name in DECODERS for setting in ("padding is the end", "no padding")),
    *((name, setting) for name in (*ENCODERS, *OTHERS) for setting in list(SETTINGS)[3:]),
]


@pytest.fixture(scope="module")
def changed(checkpoint, tmp_path_factory):
    """The folder of a checkpoint, by its architecture and what is changed in it."""

    @cache
    def get(name, setting):
        changes = {"model_max_length": LIMIT, **SETTINGS[setting]}
        of_config = {key: value for key, value in changes.items() if key == "pad_token_id"}
        folder = tmp_path_factory.mktemp("changed") / name
        if name == "esm":
            of_config["max_position_embeddings"] = LIMIT + 2  # positions start behind the padding index
        make_checkpoint(folder, name, TASK.labels, **of_config)
        file = folder / "tokenizer_config.json"
        stated = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps({**stated, **{k: v for k, v in changes.items() if k not in of_config}}), "utf-8")
        return folder

    return get


def by_pipeline(folder, examples):
    """(N, 3) probabilities by the library's own pipeline, one row at a time."""
    classify = pipeline("text-classification", str(folder), device="cpu")
    rows = []
    for example in examples:
        texts = dict(zip(("text", "text_pair"), example.segments, strict=False))
        scores = classify(texts, truncation=True, top_k=None)
        by_label = {score["label"]: score["score"] for score in scores}
        rows.append([by_label[label] for label in TASK.labels])
    return np.array(rows)


def slow_beside(quick, cases):
    """All cases, those that are not quick marked as slow."""
    slow = [case for case in dict.fromkeys(cases) if case not in quick]
    return [*quick, *(pytest.param(*case, marks=pytest.mark.slow) for case in slow)]


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "setting"), slow_beside(QUICK, ALL))
def test_a_classifier_answers_as_the_librarys_pipeline(changed, name, setting):
    """Rows that are long, end in special tokens or hold them, of mixed lengths and numbers of texts, in one call."""
    folder = changed(name, setting)
    probs = TextClassifier.load(folder, TASK).probabilities(EXAMPLES)
    np.testing.assert_allclose(probs, by_pipeline(folder, EXAMPLES), atol=1e-5)


EXPLAINED = [Example(name, ROWS[name]) for name in ("plain", "ends", "end alone", "padding inside", "padding around",
                                                   "all special", "pair, ends", "pair, both long")]  # fmt: skip
METHODS = [SHAPSettings(max_evaluations=20), LIMESettings(samples=4), OcclusionSettings()]
METHODS += [IGSettings(steps=2, max_steps=2)]
OF_WORDS = [("roberta", "as made"), ("llama", "padding is the end"), ("longformer", "as made"), ("xlnet", "as made")]
MORE_OF_WORDS = [*((name, "as made") for name in ("mpnet", "esm", "gpt2", "big-bird", "bert")),
                 *((name, "padding is the end") for name in DECODERS)]  # fmt: skip


@pytest.mark.more
@pytest.mark.parametrize(("name", "setting"), slow_beside(OF_WORDS, MORE_OF_WORDS))
def test_attributions_explain_the_pipelines_answer(changed, name, setting):
    """Every backend starts from the answer to the row as it is, whatever special tokens the row holds."""
    folder = changed(name, setting)
    loaded = TextClassifier.load(folder, TASK)
    assert is_embedded(loaded)
    wanted = by_pipeline(folder, EXPLAINED)
    for settings in METHODS:
        probs = [row.probs for row in attribute(loaded, EXPLAINED, settings)]
        np.testing.assert_allclose(probs, wanted, atol=1e-5, err_msg=settings.name)


def hidden_by_hand(folder, text, word):
    """Log-probabilities where the mask is embedded in the place of a token, by transformers alone."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForSequenceClassification.from_pretrained(folder)
    ids = tokenizer(text, return_tensors="pt").input_ids
    inputs = {"position_ids": torch.arange(ids.shape[1])[None]}
    if model.config.model_type == "roberta":  # positions of padding are its own
        real = ids != tokenizer.pad_token_id
        inputs["position_ids"] = torch.where(real, real.cumsum(1), 0) + tokenizer.pad_token_id
    else:  # the head reads the last token of what it is given
        last = int((ids[0] != model.config.pad_token_id).nonzero().max())
        ids, inputs = ids[:, : last + 1], {}
    changed = torch.where(torch.arange(ids.shape[1])[None] == word, tokenizer.mask_token_id, ids)
    with torch.no_grad():
        embedded = model.get_input_embeddings()(changed)
        return model.eval()(inputs_embeds=embedded, **inputs).logits.log_softmax(dim=1)[0].numpy()


@pytest.mark.parametrize(
    ("name", "setting", "text"),
    [
        ("roberta", "as made", "The [PAD] old actor [PAD] near"),
        ("llama", "padding is the end", "an old actor[SEP][SEP]"),
    ],
)
def test_a_hidden_token_moves_no_position_and_no_head(changed, name, setting, text):
    """Positions and the token that the head reads stay those of the row as it is."""
    folder = changed(name, setting)
    loaded = TextClassifier.load(folder, TASK)
    (encoding,) = loaded.encode([Example("a", (text,))])
    for hidden in np.flatnonzero(encoding.word >= 0):
        visible = np.arange(len(encoding))[None] != hidden
        ((_, logits),) = loaded.answers([(None, encoding, visible)], "mask")
        ours = torch.from_numpy(logits[0]).log_softmax(dim=0)
        np.testing.assert_allclose(ours, hidden_by_hand(folder, text, hidden), atol=1e-5)


TAGS = ("O", "B-PER", "I-PER")


@pytest.mark.parametrize(
    "name",
    ["roberta", "gpt2", *(pytest.param(name, marks=pytest.mark.slow) for name in ("bert", "xlnet", "t5", "llama"))],
)
def test_a_tagger_answers_as_transformers(tmp_path, name):
    """A word has the tag of its first token, whatever special tokens are among the words."""
    folder = make_checkpoint(tmp_path, name, TAGS, "TokenClassification")
    model = AutoModelForTokenClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    examples = [replace(example, segments=(" ".join(example.segments[0].split()),))
                for example in EXAMPLES if len(example.segments) == 1 and len(example.segments[0]) < 80]  # fmt: skip
    (answers,) = Tagger.load(folder).predict(examples)
    for example, tags in zip(examples, answers.values, strict=True):
        words = example.segments[0].split(" ")
        encoded = tokenizer([words], is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            best = model(**encoded).logits[0].argmax(dim=1).tolist()
        of_tokens = dict(reversed([*zip(encoded.word_ids(0), best, strict=True)]))
        assert list(tags) == [TAGS[of_tokens[word]] if word in of_tokens else "O" for word in range(len(words))]
