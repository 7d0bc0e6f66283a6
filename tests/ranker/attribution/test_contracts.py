"""What every backend owes to every model that it can ask, on a bag of words whose true scores are known.

The margin of a bag is a sum of weights, one for each token. So a word's score is its weight, less that of what stands
in for it where it is hidden: w (x - b), whatever the method.
"""

import zlib
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
import torch
from refusals import refuses

from factors.types import Example
from ranker.attribution import SETTINGS, attribute, hiding_lines, settings_of
from ranker.attribution.settings import Attributing
from ranker.errors import ModelError, UsageError
from ranker.sources.base import Encoding
from ranker.sources.hf.classifiers import Classifier

INSTRUCTION = ("judge", "this", ":")
EXAMPLES = [
    Example("a", ("The doctor's co-worker waited.", "An old judge danced."), 1),
    Example("b", ("The actor saw the judge.", ""), 0),
    Example("c", ("the the", "the"), 1),
    Example("d", ("Astonishingly, judges ran.", "Old actors saw them."), 0),
    Example("e", ("the old actor",), 0),
    Example("f", ("",), 0),
]


def weight(token):
    """The weight of a token, between -1 and 1."""
    return zlib.crc32(token.encode()) / 2**31 - 1


class HidBag:
    """Bag of words that answers with tokens hidden; it reads a fixed instruction, then texts between special tokens."""

    name, classes, seed, hides = "bag", 2, "weights", ("pad", "mask", "remove")

    def encodings(self, examples):
        """Words in pieces of four letters."""
        for example in examples:
            rows = [(token, -1, -1, 0, 0, True) for token in INSTRUCTION] + [("[CLS]", -1, -1, 0, 0, False)]
            for segment, text in enumerate(example.segments):
                for number, word in enumerate(example.words):
                    for start in range(word.start, word.end, 4) if word.segment == segment else ():
                        end = min(start + 4, word.end)
                        rows.append((text[start:end], segment, number, start, end, False))
                rows.append(("[SEP]", -1, -1, 0, 0, False))
            tokens, segment, word, start, end, fixed = map(np.array, zip(*rows, strict=True))
            yield Encoding(tuple(tokens.tolist()), segment, word, np.stack([start, end], 1), fixed)

    def answers(self, requests, hide, advance):
        """The sum of what is seen."""
        for state, encoding, segment_request in requests:
            assert segment_request[:, encoding.fixed].all(), "the instruction is hidden"
            instead = 0.0 if hide == "remove" else weight(f"[{hide}]")
            total = np.where(segment_request, [weight(token) for token in encoding.tokens], instead).sum(axis=1)
            advance(1)
            yield state, np.stack([np.zeros(len(segment_request)), total], axis=1)


class Points(HidBag):
    """A bag that also answers to points between embeddings, whose first number is the weight."""

    token_budget, padding, rounding = 64, 0, torch.finfo(torch.float64).eps

    def window(self, passes=1):
        """A few batches."""
        return 64 * self.token_budget

    def embed(self, encodings):
        """(R, T, 2)."""
        return torch.tensor([[(weight(token), 1.0) for token in e.tokens] for e in encodings], dtype=torch.float64)

    def start(self, baseline):
        """(2,)."""
        return torch.tensor([0.0 if baseline == "zero" else weight(f"[{baseline}]"), 0.0], dtype=torch.float64)

    def frame(self, encoding):
        """The instruction is the same for all."""
        return len(encoding)

    def from_embeddings(self, embeddings, encodings):
        """(R, T, 2) -> (R, 2)."""
        fixed = torch.from_numpy(np.stack([encoding.fixed for encoding in encodings]))
        assert torch.equal(embeddings[fixed], self.embed(encodings)[fixed]), "the instruction is moved"
        total = embeddings[..., 0].sum(dim=1)
        return torch.stack([torch.zeros_like(total), total], dim=1)


class OwnAnswer(Points):
    """A bag whose only output is the sum of its own answer to the whole text: one that has a capital."""

    classes = 1

    def answered(self, encoding):
        """1 where there is an answer, else nan."""
        words = np.array(encoding.tokens)[encoding.word >= 0]
        return 1.0 if any(word[:1].isupper() for word in words) else np.nan

    def answers(self, requests, hide, advance):
        """(R, 1)."""
        pairs = (((state, encoding), encoding, segment_request) for state, encoding, segment_request in requests)
        for (state, encoding), values in super().answers(pairs, hide, advance):
            yield state, values[:, 1:] * self.answered(encoding)

    def from_embeddings(self, embeddings, encodings):
        """(R, T, 2) -> (R, 1)."""
        answered = torch.tensor([[self.answered(encoding)] for encoding in encodings])
        return super().from_embeddings(embeddings, encodings)[:, 1:] * answered

    def frame(self, encoding):
        """The answer is more than its length."""
        return len(encoding), bool(np.isnan(self.answered(encoding)))


KINDS = [kind for kind in SETTINGS.values() if issubclass(kind, Attributing)]
PERTURBING = [kind for kind in KINDS if not kind.embedded]
SURE = {"lime": "samples=200,ridge=1e-6"}
"""What makes a backend exact that only estimates."""
LINES = [",".join(filter(None, [line, SURE.get(kind.name)])) for kind in KINDS for line in hiding_lines(Points(), kind)]


def start_of(settings):
    """The weight of what stands in for a token."""
    way = getattr(settings, settings.hides)
    return 0.0 if way in ("zero", "remove") else weight(f"[{way}]")


def same(row, expected):
    """Assert that two rows say the same."""
    assert row.tokens == expected.tokens
    np.testing.assert_allclose(row.scores, expected.scores, atol=1e-12)
    np.testing.assert_allclose(row.probs, expected.probs, atol=1e-12)
    np.testing.assert_allclose(row.residual, expected.residual, atol=1e-9)
    assert row.effort == expected.effort


def test_every_way_of_every_backend_is_here():
    """A backend that is registered is tested in each way in which it hides words."""
    assert {line.partition(":")[0] for line in LINES} == {name for name, kind in SETTINGS.items() if kind in KINDS}
    assert len(LINES) == 3 + 3 + 3 + 3 + 3
    assert [kind.name for kind in KINDS if kind.embedded] == ["ig"]


@pytest.mark.parametrize("line", LINES)
def test_a_word_scores_its_weight(line):
    """Less that of what stands in for it: IG, SHAP and occlusion exactly, LIME but for its ridge."""
    settings, bag = settings_of(line), Points()
    for example, row, e in zip(EXAMPLES, attribute(bag, EXAMPLES, settings), bag.encodings(EXAMPLES), strict=True):
        exact = np.array([weight(token) - start_of(settings) for token in e.tokens])
        if not settings.embedded:
            exact[e.word < 0] = 0.0
        words = [exact[e.word == word].sum() for word in range(len(example.words))]
        exact, special = exact[~e.fixed], e.word[~e.fixed] < 0
        np.testing.assert_allclose(row.word_scores, words, atol=1e-4 if settings.name == "lime" else 1e-9)
        np.testing.assert_allclose(row.scores[special], exact[special], atol=1e-9)
        if settings.name in ("ig", "shap"):  # the others share a word's score equally among its tokens
            np.testing.assert_allclose(row.scores, exact, atol=1e-9)


@pytest.mark.parametrize("line", LINES)
def test_scores_add_up_where_they_are_to(line):
    """IG's and SHAP's residual is the gap of a sum, LIME's the variance left over; here they are 0."""
    for row in attribute(Points(), EXAMPLES, line):
        assert settings_of(line).accepts(row)
        if settings_of(line).name in ("occlusion", "phrases"):
            assert np.isnan(row.residual)
        else:
            assert row.residual == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("line", LINES)
def test_a_row_is_the_models_own(line):
    """Tokens but for fixed ones, where they stand, and probabilities are the model's; the method is named."""
    bag = Points()
    for row, e in zip(attribute(bag, EXAMPLES, line), bag.encodings(EXAMPLES), strict=True):
        assert (row.tokens, row.backend, row.target) == (e.tokens[len(INSTRUCTION) :], line.partition(":")[0], 1)
        for name in ("segment", "word", "offsets"):
            np.testing.assert_array_equal(getattr(row, name), getattr(e, name)[~e.fixed])
        odds = np.exp(sum(weight(token) for token in e.tokens))
        np.testing.assert_allclose(row.probs, [1 / (1 + odds), odds / (1 + odds)])


@pytest.mark.parametrize("line", LINES)
def test_order_and_company_change_nothing(line):
    """An example alone, or in another place, has the same row."""
    rows = list(attribute(Points(), EXAMPLES, line))
    for row, alone in zip(rows[::-1], attribute(Points(), EXAMPLES[::-1], line), strict=True):
        same(row, alone)
    for row, example in zip(rows, EXAMPLES, strict=True):
        same(row, *attribute(Points(), [example], line))


@pytest.mark.parametrize("line", LINES)
def test_what_is_fixed_is_left_out(line):
    """The instruction is never hidden, and never moved (the bag looks), though its words weigh as much as any."""
    for row in attribute(Points(), EXAMPLES, line):
        assert not {*row.tokens} & {*INSTRUCTION}


@pytest.mark.parametrize("line", LINES)
def test_one_label_speaks_against_the_other(line):
    """Of two labels, the margin of the one is that of the other with its sign changed."""
    settings = settings_of(line)
    rows = [list(attribute(Points(), EXAMPLES, replace(settings, target=label))) for label in (0, 1)]
    for first, second in zip(*rows, strict=True):
        np.testing.assert_allclose(first.scores, -second.scores, atol=1e-12)


@pytest.mark.parametrize("line", LINES)
def test_an_only_output_is_attributed_as_a_margin_is(line):
    """With the same scores and measure of error; where there is no answer, every score is nan."""
    undefined = 0
    for row, margin in zip(attribute(OwnAnswer(), EXAMPLES, line), attribute(Points(), EXAMPLES, line), strict=True):
        assert (row.tokens, row.target, row.effort) == (margin.tokens, 0, margin.effort)
        if row.undefined:
            undefined += 1
            assert np.isnan(row.word_scores).all()
            continue
        assert row.probs.tolist() == [1.0]
        np.testing.assert_allclose(row.scores, margin.scores, atol=1e-12)
        np.testing.assert_allclose(row.residual, margin.residual, atol=1e-9)
    assert undefined == 3


@pytest.mark.parametrize("kind", KINDS)
def test_an_only_output_has_one_scale(kind):
    """The scale is a number, neither a logit nor a probability of something else."""
    for output in ("logit", "probability"):
        with refuses(UsageError, option="output", value=output, allowed=("margin",)):
            list(attribute(OwnAnswer(), EXAMPLES, kind(output=output)))


@pytest.mark.parametrize("line", LINES)
def test_every_example_is_told_of_once(line):
    """Progress adds up to the number of examples; of none there are no rows."""
    counts = []
    assert len(list(attribute(Points(), EXAMPLES, line, counts.append))) == sum(counts) == len(EXAMPLES)
    assert list(attribute(Points(), [], line)) == []


@pytest.mark.parametrize("kind", PERTURBING)
def test_a_model_that_answers_with_words_hidden_has_every_method_that_hides_words(kind):
    """The bag says nothing of methods, and gives the same rows without embeddings as with them."""
    for row, alike in zip(attribute(HidBag(), EXAMPLES, kind()), attribute(Points(), EXAMPLES, kind()), strict=True):
        same(row, alike)


def offered(model, attribution):
    """Settings that are offered for an attribution that is refused; nothing is asked of the model."""
    with pytest.raises(ModelError) as stop:
        attribute(model, EXAMPLES, attribution)
    assert (stop.value.option, stop.value.place) == ("attribution", "bag")
    return stop.value.allowed


def able(*hides, bag=HidBag):
    """A bag that hides words in some ways only."""
    model = bag()
    model.hides = hides
    return model


def test_integrated_gradients_want_embeddings():
    """Another model is refused, with other methods that hide words as this model can."""
    assert offered(HidBag(), "ig") == (
        "shap:baseline=pad", "lime:hide=pad", "occlusion:hide=pad", "phrases:hide=pad",
    )  # fmt: skip
    assert offered(able("mask"), "ig") == tuple(line.replace("=pad", "=mask") for line in offered(HidBag(), "ig"))
    assert offered(HidBag(), "ig:baseline=zero") == offered(HidBag(), "ig")


@pytest.mark.parametrize(
    ("model", "line", "ways"),
    [
        (able("mask"), "shap", ["shap:baseline=mask"]),
        (able("remove"), "lime", ["lime:hide=remove"]),
        (able("remove"), "shap", ["shap:baseline=remove"]),
        (
            able("remove"),
            "ig",
            ["shap:baseline=remove", "lime:hide=remove", "occlusion:hide=remove", "phrases:hide=remove"],
        ),
        (able("pad"), "shap:baseline=remove", ["shap:baseline=pad"]),
        (able("pad"), "lime:hide=remove", ["lime:hide=pad"]),
        (able(bag=Points), "ig", ["ig:baseline=zero"]),
        (able(), "occlusion", ["none"]),
    ],
)
def test_a_way_that_a_model_lacks_is_refused(model, line, ways):
    """The error offers what this very model can be asked instead, by the same backend if that is possible."""
    assert list(offered(model, line)) == ways


@pytest.mark.parametrize(
    "model", [HidBag(), Points(), able(), able("remove"), able("mask", bag=Points), able(bag=Points)]
)
def test_what_is_offered_can_be_had(model):
    """Settings that a refusal names give rows, and those that can be had are not refused."""
    possible = set(chain.from_iterable(hiding_lines(model, kind) for kind in KINDS))
    for line in chain.from_iterable(hiding_lines(Points(), kind) for kind in KINDS):
        if line not in possible:
            ways = offered(model, line)
            assert ways
            assert set(ways) <= (possible or {"none"})
    for line in possible:
        assert len(list(attribute(model, EXAMPLES, line))) == len(EXAMPLES)


def test_none_attributes_nothing():
    """A run that wants answers alone takes `none`; there is nothing to ask for."""
    with refuses(UsageError, option="attribution", value="none"):
        attribute(HidBag(), EXAMPLES, "none")


class RecordingClassifier(Classifier):
    """A checkpoint whose first segment is what it is asked with, and fixed."""

    def encodings(self, examples):
        """The first segment is of no text any more."""
        for e in super().encodings(examples):
            fixed = e.segment == 0
            yield replace(e, fixed=fixed, segment=np.where(fixed, -1, e.segment), word=np.where(fixed, -1, e.word))


@pytest.mark.parametrize("line", ["ig", "shap:max_evaluations=60", "lime:samples=20", "occlusion"])
def test_a_network_may_have_fixed_tokens(classifier, line):
    """Fixed tokens are left out, IG scores special tokens, and examples with other fixed tokens stay apart."""
    recording = RecordingClassifier(**vars(classifier("bert")))
    examples = [Example(first, (first, "An old judge danced."), 1) for first in ("the old actor", "saw the doctor")]
    rows = list(attribute(recording, examples, line))
    for row, e, example in zip(rows, recording.encodings(examples), examples, strict=True):
        assert e.fixed.sum() == 3
        words = e.word[~e.fixed] >= 0
        assert (row.scores[words] != 0).all()
        assert (row.scores[~words] != 0).all() == (line == "ig")
        (alone,) = attribute(recording, [example], line)
        np.testing.assert_allclose(row.scores, alone.scores, atol=1e-5)
        np.testing.assert_allclose(row.residual, alone.residual, atol=1e-5)
        assert row.effort == alone.effort


def test_no_word_is_fixed():
    """A token that is fixed and of the text would be hidden all the same: whoever says so is told."""
    no, yes = np.array([False, False]), np.array([False, True])
    hidden, indices = np.array([-1, -1]), np.zeros((2, 2), int)
    Encoding(("a", "b"), hidden, hidden, indices, yes)
    for segment, word in ((hidden, np.array([-1, 0])), (np.array([-1, 0]), hidden)):
        Encoding(("a", "b"), segment, word, indices, no)
        with pytest.raises(ValueError, match=r"^a fixed token must be of no segment and no word \(got 'b'\)$"):
            Encoding(("a", "b"), segment, word, indices, yes)
