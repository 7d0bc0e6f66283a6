"""A black box whose log-odds are a sum of weights, one for each word, so that its attributions are known."""

import zlib
from dataclasses import dataclass, field, replace
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest
from fixed_source import FixedSource
from hypothesis import example as tried
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from factors.types import Example, Span, split_words
from ranker import decide, rank
from ranker.attribution import attribute
from ranker.datasets import sets
from ranker.errors import LabelError, ModelError, UsageError
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence
from ranker.sources.base import Machine, ResourceCache, is_embedded, is_perturbed
from ranker.sources.suites import load
from ranker.sources.texts import MIN_PROBABILITY, REVISION, TextSource, remove_words
from ranker.tasks.classes import ClassificationTask

TASK = ClassificationTask("nli", ("non-entailment", "entailment"), {"non-entailment": ("neutral", "contradiction")})
THREE = ClassificationTask("sentiment", ("negative", "neutral", "positive"))
EXAMPLES = [
    Example("a", ("The doctor's co-worker  waited.", "An old judge danced."), 1, {"cue": (Span(0, 0, 3),)}),
    Example("b", ("the the, THE the", "the"), 0),
    Example("c", ("The actor", ""), 0),
    Example("d", ("one (old) actor",), 1),
    Example("e", ("",), 0),
    Example("f", (" \n ", ""), 0),
]
LINES = ["shap:baseline=remove", "shap:baseline=remove,tree=flat,max_evaluations=2000", "occlusion:hide=remove"]


def weight(word, segment):
    """The weight of a word in a segment, between -1 and 1."""
    return zlib.crc32(f"{word} {segment}".encode()) / 2**31 - 1


def total(texts):
    """The sum of the weights of all words of one or two texts."""
    return sum(weight(text[a:b], segment) for segment, text in enumerate(texts) for a, b in split_words(text))


@dataclass(frozen=True)
class WordBag(TextSource):
    """A black box whose log-odds of its last label against each other one are the sum of its words' weights."""

    names: tuple[str, ...] = ("non-entailment", "entailment")
    turned: bool = False  # it gives its labels the other way round
    texts: list = field(default_factory=list, compare=False)  # every text that it was shown
    libraries = ("numpy", "no-such-package")

    def labels(self):
        """In the order of the probabilities."""
        return self.names[::-1] if self.turned else self.names

    def content(self):
        """All bags are one model."""
        return "weights"

    def probabilities(self, texts):
        """(R, L)."""
        self.texts.extend(texts)
        odds = np.exp([[0.0] * (len(self.names) - 1) + [total(segments)] for segments in texts])
        return (odds / odds.sum(axis=1, keepdims=True))[:, :: -1 if self.turned else 1]


def opened(bag, task=TASK):
    """The bag, ready to be asked."""
    return bag.open(task, Machine(), ResourceCache())


def predicted(bag, examples, task=TASK):
    """(N, C) probabilities of a bag."""
    return np.concatenate([block.probs for block in opened(bag, task).predict(examples, lambda done: None)])


def weights_of(example):
    """(W,) the weights of an example's words."""
    return [weight(example.text(word), word.segment) for word in example.words]


def test_a_black_box_answers_with_words_hidden():
    """So it has every method that hides words, and none that wants embeddings."""
    model = opened(WordBag("bag"))
    assert is_perturbed(model)
    assert not is_embedded(model)


@pytest.mark.parametrize("line", LINES)
def test_a_word_scores_its_weight(line):
    """Exactly, wherever it stands and however often: SHAP and occlusion are sums and differences of log-odds."""
    for example, row in zip(EXAMPLES, attribute(opened(WordBag("bag")), EXAMPLES, line), strict=True):
        np.testing.assert_allclose(row.scores, weights_of(example), atol=1e-12)
        np.testing.assert_allclose(row.word_scores, weights_of(example), atol=1e-12)


def test_lime_comes_near_a_words_weight():
    """The regression is on the true function; what is left is the ridge."""
    exact = list(attribute(opened(WordBag("bag")), EXAMPLES, "lime:hide=remove,samples=200,ridge=1e-6"))
    usual = list(attribute(opened(WordBag("bag")), EXAMPLES, "lime:hide=remove"))
    for example, row, usual_row in zip(EXAMPLES, exact, usual, strict=True):
        np.testing.assert_allclose(row.scores, weights_of(example), atol=1e-5)
        np.testing.assert_allclose(usual_row.scores, weights_of(example), atol=0.2)


def test_tokens_are_words():
    """Tokens lie where the example's words do; no token is special."""
    for example, row in zip(EXAMPLES, attribute(opened(WordBag("bag")), EXAMPLES, LINES[0]), strict=True):
        assert row.tokens == tuple(map(example.text, example.words))
        assert row.word.tolist() == list(range(len(example.words)))
        spans = zip(row.segment.tolist(), row.offsets.tolist(), strict=True)
        assert [Span(segment, *offsets) for segment, offsets in spans] == list(example.words)


@pytest.mark.parametrize("line", LINES)
def test_the_probabilities_of_a_row_are_the_answers(line):
    """A factor and a baseline see the same numbers, whichever way they were asked for."""
    rows = list(attribute(opened(WordBag("bag")), EXAMPLES, line))
    odds = np.exp([total(example.segments) for example in EXAMPLES])
    np.testing.assert_allclose(predicted(WordBag("bag"), EXAMPLES)[:, 1], odds / (1 + odds), rtol=1e-12)
    np.testing.assert_array_equal([row.probs for row in rows], predicted(WordBag("bag"), EXAMPLES))


def test_labels_are_put_in_the_tasks_order():
    """By their names, whatever their order is in the model; nothing else changes."""
    as_it_is, turned = WordBag("bag"), WordBag("bag", turned=True)
    np.testing.assert_array_equal(predicted(turned, EXAMPLES), predicted(as_it_is, EXAMPLES))
    for row, turned_row in zip(
        *(attribute(opened(bag), EXAMPLES, LINES[0]) for bag in (as_it_is, turned)), strict=True
    ):
        np.testing.assert_array_equal(row.scores, turned_row.scores)


def test_labels_that_mean_one_add_up():
    """Neutral and contradiction are both non-entailment: log-odds are those of the sum, less a constant."""
    bag = WordBag("bag", ("neutral", "contradiction", "entailment"))
    odds = np.exp([total(example.segments) for example in EXAMPLES])
    np.testing.assert_allclose(predicted(bag, EXAMPLES)[:, 1], odds / (2 + odds), rtol=1e-12)
    for example, row in zip(EXAMPLES, attribute(opened(bag), EXAMPLES, LINES[0]), strict=True):
        np.testing.assert_allclose(row.scores, weights_of(example), atol=1e-12)


@pytest.mark.parametrize("turned", [False, True])
def test_there_may_be_three_classes(turned):
    """The margin of the class that the weights speak for is still their sum, and that of another is another."""
    bag = opened(WordBag("bag", THREE.labels, turned), THREE)
    for example, row in zip(EXAMPLES, attribute(bag, EXAMPLES, f"{LINES[0]},target=2"), strict=True):
        np.testing.assert_allclose(row.scores, weights_of(example), atol=1e-12)
        assert row.probs.shape == (3,)
        assert row.probs[0] == pytest.approx(row.probs[1])
    (row,) = attribute(bag, EXAMPLES[:1], f"{LINES[0]},target=0")
    assert np.abs(row.scores + weights_of(EXAMPLES[0])).max() > 0.1


@tried(text=" Well, 'tis  the\u0301 rock-'n'-roll (3.5)\n", hidden=range(0, 12, 2))
@given(st.text(alphabet="ab_-'’. ,\n\t\u0301\u200d漢(é"), st.sets(st.integers(0, 20)))
def test_what_is_left_are_the_other_words(text, hidden):
    """The other words stay in their order; a text that loses none is as it was."""
    words = split_words(text)
    visible = [number not in hidden for number in range(len(words))]
    left = remove_words(text, words, visible)
    expected = [text[a:b] for (a, b), is_visible in zip(words, visible, strict=True) if is_visible]
    assert [left[a:b] for a, b in split_words(left)] == expected
    assert left == (text if all(visible) else left.strip())


@pytest.mark.parametrize(("hidden", "expected"), [
    ([], "  Well,  the  old actor ran. "), ([0], ",  the  old actor ran."), ([1], "Well the  old actor ran."),
    ([3], "Well,  the actor ran."), ([2, 3], "Well, actor ran."), ([5], "Well,  the  old actor ."),
    ([6], "Well,  the  old actor ran"), (range(7), ""),
])  # fmt: skip
def test_white_space_goes_by_one_rule(hidden, expected):
    """Between neighbours it stays, one blank is where words are gone, and there is none at the ends."""
    text = "  Well,  the  old actor ran. "
    words = split_words(text)
    assert remove_words(text, words, [number not in hidden for number in range(len(words))]) == expected


def test_distinct_texts_alone_are_shown_once():
    """Of 32 sets of five equal words six are texts, and no label, mark or id is to be seen."""
    bag = WordBag("bag")
    (row,) = attribute(opened(bag), [Example("a", ("the the the the the",), 0)], LINES[1])
    assert row.effort == 32
    assert sorted(bag.texts) == sorted((" ".join(["the"] * count),) for count in range(6))
    bag = WordBag("bag")
    predicted(bag, EXAMPLES)
    assert bag.texts == list(dict.fromkeys(example.segments for example in EXAMPLES))


def test_answers_come_in_blocks_and_are_told_of():
    """Progress is told as it is made, once of each example; of no examples there is no block."""
    counts = []
    many = [replace(EXAMPLES[0], segments=(f"the {number}",)) for number in range(600)]
    blocks = list(opened(WordBag("bag")).predict(many, counts.append))
    assert [len(block) for block in blocks] == counts == [256, 256, 88]
    np.testing.assert_array_equal(np.concatenate([block.probs for block in blocks])[::100],
                                  predicted(WordBag("bag"), many[::100]))  # fmt: skip
    assert list(opened(WordBag("bag")).predict([], counts.append)) == []
    counts = []
    list(attribute(opened(WordBag("bag")), EXAMPLES, LINES[0], counts.append))
    assert sum(counts) == len(EXAMPLES)


def test_a_probability_of_0_has_a_logarithm():
    """A probability of 0 counts as the least there is: log-odds are finite, and bounded."""
    model = opened(FixedSource("sure", answer=(0.0, 1.0)))
    (row,) = attribute(model, [replace(EXAMPLES[0], segments=("the",))], LINES[0])
    assert row.scores.tolist() == [0.0]
    encodings = list(model.encodings(EXAMPLES[:1]))
    ((_, logs),) = model.answers([(None, encodings[0], np.ones((1, len(encodings[0])), bool))], "remove", print)
    assert logs.tolist() == [[np.log(MIN_PROBABILITY), 0.0]]


@pytest.mark.parametrize(("answer", "value"), [
    ((0.5, 0.25, 0.25), (1, 3)), (0.5, (1,)), ((-2.0, 3.0), [-2.0, 3.0]), ((0.5, 0.6), [0.5, 0.6]),
    ((np.nan, 1.0), [np.nan, 1.0]), (KeyError("the\nword"), None), (("a", "b"), None),
])  # fmt: skip
def test_what_are_no_probabilities_fails_the_model(answer, value):
    """In one line, as any model that cannot be run: the others go on."""
    with refuses(ModelError, place="g") as caught:
        predicted(FixedSource("g", answer=answer), EXAMPLES[:1])
    np.testing.assert_equal(caught.value.value, value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("names", "value"), [(("no", "entailment"), "no"), ((0, 1), "0"), (("neutral", "contradiction"), "entailment")]
)
def test_labels_are_the_tasks(names, value):
    """A label is known by its name; none is guessed by its place."""
    with refuses(LabelError, value=value, place="bag"):
        opened(WordBag("bag", names))


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("shap", ("shap:baseline=remove",)),
        ("lime:hide=mask", ("lime:hide=remove",)),
        ("occlusion", ("occlusion:hide=remove",)),
        ("ig", ("shap:baseline=remove", "lime:hide=remove", "occlusion:hide=remove", "phrases:hide=remove")),
    ],
)
def test_what_it_can_be_asked_is_said(line, allowed):
    """The error names the settings that a black box can be run with."""
    with refuses(ModelError, option="attribution", value=line.partition(":")[0], allowed=allowed, place="bag"):
        attribute(opened(WordBag("bag")), EXAMPLES, line)


def test_a_source_says_what_it_is():
    """A name and three answers are enough; what it is known by holds no name."""
    bag = WordBag("bag")
    stated = bag.inspect(ResourceCache())
    assert (stated.source, stated.labels, stated.trouble) == (bag, TASK.labels, "")
    assert (bag.family, bag.place, bag.shares, bag.precomputed) == ("", "bag", "", False)
    identity = bag.identity(TASK, Machine(), ResourceCache())
    assert identity == {
        "content": "weights",
        "labels": ["non-entailment", "entailment"],
        "texts": REVISION,
        "versions": {"numpy": np.__version__, "no-such-package": None},
    }
    assert replace(bag, name="other").identity(TASK, Machine("cuda"), ResourceCache()) == identity
    assert replace(bag, turned=True).identity(TASK, Machine(), ResourceCache()) != identity
    assert replace(bag, names=(0, 1)).identity(TASK, Machine(), ResourceCache())["labels"] == ["0", "1"]


def test_a_source_that_cannot_be_read_says_so():
    """Trouble is stated, and not raised: the other models go on."""

    class Lost(WordBag):
        def labels(self):
            raise ModelError("lost")

    assert Lost("lost").inspect(ResourceCache()).trouble == "lost"


def test_a_source_goes_to_another_process():
    """A source is a record: what arrives is equal, and answers alike."""
    bag = WordBag("bag", turned=True)
    arrived = ForkingPickler.loads(ForkingPickler.dumps(bag))
    assert arrived == bag
    np.testing.assert_array_equal(predicted(arrived, EXAMPLES), predicted(bag, EXAMPLES))


def test_two_sources_of_one_name_are_refused():
    """Sources lie nowhere, so their names are what tells them apart."""
    with refuses(UsageError, option="models", place="bag"):
        load([WordBag("bag"), WordBag("bag", turned=True)])


@dataclass(frozen=True)
class Against(WordBag):
    """A bag whose weights speak for the other label."""

    def content(self):
        """A bag that speaks for the other label is another model."""
        return "weights, turned round"

    def probabilities(self, texts):
        """(R, L)."""
        return super().probabilities(texts)[:, ::-1]


def test_the_store_gives_back_what_was_computed(tmp_path):
    """A second run asks nothing; its numbers are those of the first, of a run without a store, and of no run."""
    few = sets.load("hans-sub", limit=8)

    def ranked(runtime):
        bags = WordBag("bag"), Against("against")
        ranking = rank(bags, few, probe=3, evidence=Evidence(LINES[0], methods=()), runtime=runtime)
        return ranking, sum(len(bag.texts) for bag in bags)

    runs = [ranked(Runtime(store=place)) for place in (None, tmp_path, tmp_path)]
    assert [count > 0 for _, count in runs] == [True, True, False]
    assert not runs[0][0].header.failures
    tables = [ranking.table for ranking, _ in runs]
    for table in tables[1:]:
        np.testing.assert_array_equal(table.values, tables[0].values)
    names = [method.name for method in tables[0].methods]
    for number, example in enumerate(few.examples):
        scores = np.array(weights_of(example))
        second = np.array([word.segment == 1 for word in example.words])
        expected = scores[~second].sum() - scores[second].sum()
        differences = tables[0].values[:, names.index("SUM-DIFF"), number]
        np.testing.assert_allclose(differences, [expected, -expected], atol=1e-9)


@pytest.mark.more
@pytest.mark.parametrize("line", ["shap:baseline=remove,max_evaluations=20", "lime:hide=remove,samples=20"])
def test_it_is_ranked_beside_checkpoints(line):
    """Both kinds can leave words out; what one of them cannot do leaves only that one out."""
    few = sets.load("hans-sub", limit=6)
    models = [*load(["hans-sub-mini"]).models[-2:], WordBag("bag")]
    ranking = rank(models, few, probe=3, evidence=Evidence(line, methods=()))
    assert not ranking.header.failures
    assert {model.name for model in ranking.evaluation.models} == {"inoc-1600", "inoc-4000", "bag"}
    models = [load(["hans-sub-mini"]).models[0], *models]
    ranking = rank(models, few, probe=3, evidence=Evidence(line.replace("remove", "pad"), methods=()))
    message = f"bag has no pad token to hide words behind; set `attribution` to `{line.partition(',')[0]}`"
    assert dict(ranking.header.failures) == {"bag": message}
    assert len(ranking.evaluation.models) == 3


def test_it_is_chosen_between_by_its_own_labels():
    """Rows of no task that is known are those of the labels that black boxes name."""
    texts = ("ran", "the old", "actor", "judge")
    rows = [{"text": text, "label": label} for text, label in zip(texts, "xyxy", strict=True)]
    bags = [WordBag("bag", ("x", "y")), Against("against", ("x", "y"))]
    ranking = decide(bags, rows, evidence=Evidence("occlusion:hide=remove"))
    assert not ranking.header.failures
    assert sum(model.p_best for model in ranking.decision.models) == pytest.approx(1)
