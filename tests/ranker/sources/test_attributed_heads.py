"""Attributions of tags and of spans: against transformers alone, with ids replaced by hand."""

import numpy as np
import pytest
import torch
from conftest import LIMIT, make_checkpoint
from test_heads import LONG, PASSAGE, QUESTIONS, SENTENCES, TAG_NAMES, from_transformers, texts

from ranker.attribution import attribute, settings_of
from ranker.errors import ModelError
from ranker.sources.base import is_perturbed
from ranker.sources.hf.extractors import SpanExtractor
from ranker.sources.hf.taggers import Tagger

KINDS = ["bert", "roberta", "deberta-v3", "xlnet"]
TAGGED = texts(*((text,) for text in (*SENTENCES, "The judge's actor, waiting, saw an old-judge")))
ASKED = texts(*QUESTIONS[:2], *QUESTIONS[4:7], ("Who's old?", PASSAGE))
HEADS = {"TokenClassification": (Tagger, TAGGED), "QuestionAnswering": (SpanExtractor, ASKED)}


def made(folder, head, name="bert"):
    """A checkpoint of a head, smooth enough for the path of integrated gradients."""
    labels = TAG_NAMES if head == "TokenClassification" else None
    return make_checkpoint(folder, name, labels, head, 3, initializer_range=0.5)


def input_of(tokenizer, example):
    """The input of one row by the tokenizer alone, and each token's segment and characters, None for special ones."""
    if len(example.segments) == 1:
        words = example.segments[0].split(" ")
        encoded = tokenizer([words], is_split_into_words=True, return_tensors="pt")
        starts = [sum(len(word) + 1 for word in words[:n]) for n in range(len(words))]
        places = [None if word is None else (0, *(starts[word] + end for end in offset))
                  for word, offset in zip(encoded.word_ids(0), encoded.encodings[0].offsets, strict=True)]  # fmt: skip
        return encoded, places
    order = 1 if tokenizer.padding_side == "right" else -1
    encoded = tokenizer(*[[text] for text in example.segments[::order]], return_tensors="pt")
    places = [None if s is None else (s if order == 1 else 1 - s, *offset)
              for s, offset in zip(encoded.sequence_ids(0), encoded.encodings[0].offsets, strict=True)]  # fmt: skip
    return encoded, places


def logits_of(model, head, **inputs):
    """(T, G) numbers of the network: of the tags, or of start and end."""
    with torch.no_grad():
        outputs = model(**inputs)
    if head == "TokenClassification":
        return outputs.logits[0].double()
    return torch.stack([outputs.start_logits[0], outputs.end_logits[0]], dim=1).double()


def answer_in(head, logits, encoded, places):
    """The tokens of the answer with the output of each, by plain loops; none where there is no span."""
    if head == "QuestionAnswering":
        inside = [t for t, place in enumerate(places) if place and place[0] == 1]
        pairs = [(logits[a, 0] + logits[b, 1], -b + a, -a, a, b) for a in inside for b in inside if a <= b < a + 30]
        return [(token, output) for output, token in enumerate(max(pairs)[3:])] if pairs else []
    words = encoded.word_ids(0)
    cells = []
    for token, word in enumerate(words):
        if word is None or word in words[:token]:
            continue
        tag = TAG_NAMES[int(logits[token].argmax())]
        if cells and (tag != f"I-{TAG_NAMES[cells[-1][1]][2:]}" or word != words[cells[-1][0]] + 1):
            break
        if tag != "O":
            cells.append((token, TAG_NAMES.index(tag)))
    return cells


def number(head, logits, cells):
    """Mean log-odds of the tags; or the log-probability of start and end."""
    if head == "QuestionAnswering":
        return sum(float(logits[:, output].log_softmax(0)[token]) for token, output in cells)
    probabilities = [float(logits[token].softmax(0)[output]) for token, output in cells]
    return float(np.mean([np.log(p) - np.log1p(-p) for p in probabilities]))


def replaced(encoded, tokens, token):
    """The same input with a token in place of others."""
    ids = encoded["input_ids"].clone()
    ids[0, tokens] = token
    return {**encoded, "input_ids": ids}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("head", HEADS)
def test_scores_add_up_and_words_have_their_own(tmp_path, head, name):
    """SHAP adds up to the number of the answer less that of a row of masks; occlusion masks the tokens of one word."""
    loads, examples = HEADS[head]
    folder = made(tmp_path, head, name)
    (model, tokenizer), loaded = from_transformers(folder, head), loads.load(folder, token_budget=500)
    shap = list(attribute(loaded, examples, "shap:baseline=mask,max_evaluations=2000"))
    occlusion = list(attribute(loaded, examples, "occlusion:hide=mask"))
    spans = 0
    for example, row, lost in zip(examples, shap, occlusion, strict=True):
        encoded, places = input_of(tokenizer, example)
        logits = logits_of(model, head, **encoded)
        cells = answer_in(head, logits, encoded, places)
        assert row.undefined == lost.undefined == (not cells)
        if not cells:
            continue
        spans += 1
        text = [token for token, place in enumerate(places) if place]
        value = number(head, logits, cells)
        masked = logits_of(model, head, **replaced(encoded, text, tokenizer.mask_token_id))
        assert row.scores.sum() == pytest.approx(value - number(head, masked, cells), abs=1e-4)
        assert (row.probs.tolist(), row.target, row.residual < 1e-6) == ([1.0], 0, True)
        for number_of_word, (word, score) in enumerate(zip(example.words, lost.word_scores, strict=False)):
            tokens = np.flatnonzero(lost.word == number_of_word)
            for segment, start, end in (places[token] for token in tokens):
                overlaps = word.start < end and start < word.end
                assert segment == word.segment
                assert overlaps or not example.segments[segment][start:end].strip()
            if not len(tokens):
                assert np.isnan(score)
                continue
            without = logits_of(model, head, **replaced(encoded, tokens, tokenizer.mask_token_id))
            assert score == pytest.approx(value - number(head, without, cells), abs=1e-4)
        segments = {place[0] for place, score in zip(places, lost.scores, strict=True) if place and score}
        assert segments == set(range(len(example.segments)))
    assert spans >= 2


@pytest.mark.parametrize("head", HEADS)
def test_integrated_gradients_are_complete(tmp_path, head):
    """Scores add up to the number of the answer less that of the mask's embedding at every place."""
    loads, examples = HEADS[head]
    folder = made(tmp_path, head)
    (model, tokenizer), settings = from_transformers(folder, head), settings_of("ig:max_steps=2000")
    start = model.get_input_embeddings()(torch.tensor([[tokenizer.mask_token_id]]))
    accepted = 0
    for example, row in zip(examples, attribute(loads.load(folder), examples, settings), strict=True):
        if row.undefined:
            continue
        encoded, places = input_of(tokenizer, example)
        logits = logits_of(model, head, **encoded)
        cells = answer_in(head, logits, encoded, places)
        inputs = {name: values for name, values in encoded.items() if name != "input_ids"}
        baseline = logits_of(model, head, **inputs, inputs_embeds=start.expand(1, len(places), -1))
        gap = row.scores.sum() - (number(head, logits, cells) - number(head, baseline, cells))
        assert abs(gap) == pytest.approx(row.residual, abs=1e-3)
        accepted += settings.accepts(row)
    assert accepted >= 2


@pytest.mark.parametrize("head", HEADS)
def test_rows_of_several_answers_are_told_apart(tmp_path, head):
    """In any order of the rows of a batch, each has the number of its own answer."""
    loads, _ = HEADS[head]
    loaded = loads.load(made(tmp_path, head))
    words = ["doctor", "actor", "judge", "old", "saw", "near"]
    segments = [(" ".join(words[n:] + words[:n]),) for n in range(len(words))]
    if head == "QuestionAnswering":
        segments = [("saw", text) for (text,) in segments]
    encodings = [encoding for encoding in loaded.encodings(texts(*segments)) if encoding.cells]
    rows = [*encodings, *encodings[::-1], *encodings]
    assert len({encoding.cells for encoding in encodings}) > 2
    with torch.no_grad():
        together = loaded.from_embeddings(loaded.embed(rows), rows)
        alone = torch.cat([loaded.from_embeddings(loaded.embed([row]), [row]) for row in rows])
    torch.testing.assert_close(together, alone, atol=1e-4, rtol=1e-4)


@pytest.mark.few(1)
@pytest.mark.parametrize("line", ["shap", "lime:samples=20", "occlusion", "ig"])
def test_an_answer_without_a_span_has_no_scores(tmp_path, line):
    """Neither have tags of no span, nor a null answer; a model that may give none is attributed its best span."""
    tagger = Tagger.load(made(tmp_path / "tags", "TokenClassification"))
    tagger.model.classifier.bias[0] += 100
    extractors = {}
    for null_answers in (True, False):
        folder = made(tmp_path / "spans", "QuestionAnswering")
        extractors[null_answers] = SpanExtractor.load(folder, null_answers=null_answers)
        network = extractors[null_answers].model.qa_outputs
        network.register_forward_hook(lambda _, inputs, outputs: raised(inputs[0], outputs))
    for loaded, examples, undefined in (
        (tagger, TAGGED, True), (extractors[True], ASKED, True), (extractors[False], ASKED, False)
    ):  # fmt: skip
        rows = [row for row in attribute(loaded, examples, line) if len(row.tokens) > 2]
        assert [row.undefined for row in rows] == [undefined] * len(rows)
        assert all(np.isnan(row.word_scores).all() == undefined for row in rows)


@pytest.mark.parametrize("line", ["shap", "lime:samples=20", "occlusion"])
def test_nothing_is_hidden_from_a_row_without_a_span(tmp_path, line):
    """Such a row is run once for its answer and once for all that is asked of it."""
    loaded, rows = Tagger.load(made(tmp_path, "TokenClassification")), []
    loaded.model.classifier.bias[0] += 100
    loaded.model.register_forward_hook(lambda network, inputs, outputs: rows.extend(outputs.logits))
    assert all(row.undefined for row in attribute(loaded, TAGGED, line))
    assert len(rows) == 2 * len(TAGGED)


def raised(hidden_states, outputs):
    """The outputs of a row, with those of its first token far above all others."""
    first = torch.zeros_like(outputs)
    first[:, 0] = 100
    return outputs + first


def test_a_long_row_is_cut_and_counted(tmp_path, caplog):
    """Words past the model's limit have no scores, those before have."""
    loaded = Tagger.load(made(tmp_path, "TokenClassification"))
    example = texts((LONG[0],))[0]
    (row,) = attribute(loaded, [example], "occlusion")
    assert len(row.tokens) == LIMIT
    assert 1 < len(row.word_scores) < len(example.words)
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        f"1 of 1 examples are longer than its {LIMIT} tokens, and were cut"
    ]


def test_a_removed_token_could_be_no_part_of_an_answer(tmp_path):
    """Words are hidden behind tokens alone, and the error names these."""
    loaded = Tagger.load(made(tmp_path, "TokenClassification"))
    with pytest.raises(ModelError, match=r"cannot leave words out; set `attribution` to `shap:baseline=pad`$"):
        list(attribute(loaded, TAGGED, "shap:baseline=remove"))


def test_a_network_that_answers_otherwise_to_embeddings_answers_whole_texts(tmp_path):
    """I-BERT's embeddings come with their scale, and none can be put in their place: it tags, and is not attributed."""
    loaded = Tagger.load(made(tmp_path, "TokenClassification", "ibert"))
    assert type(loaded) is Tagger
    assert not is_perturbed(loaded)
    assert len(next(loaded.predict(TAGGED))) == len(TAGGED)
