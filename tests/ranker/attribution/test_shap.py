"""Owen values: against brute force, against shap itself, and as a backend."""

import warnings
from dataclasses import replace
from itertools import combinations, product
from math import factorial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from factors import Example
from ranker.attribution import SETTINGS, attribute
from ranker.attribution.settings import SHAPSettings
from ranker.attribution.trees import across_tree, evaluations, flat_tree, halves, leaves, segments_tree, walk
from ranker.errors import ModelError
from ranker.sources.hf.batching import Batch, TokenRow
from ranker.sources.hf.classifiers import Classifier

EVERYTHING = 10**6


def answers(masks, seed=0):
    """A game: any set of tokens has a value of its own, drawn at random but always the same."""
    return np.array([np.random.default_rng([seed, *mask.astype(int)]).normal() for mask in masks])


def trees():
    """Trees over 1 to 8 tokens, of any shape."""

    def build(shape, numbers):
        return next(numbers) if shape is None else tuple(build(child, numbers) for child in shape)

    shapes = st.recursive(st.none(), lambda child: st.lists(child, min_size=1, max_size=3), max_leaves=7)
    return shapes.map(lambda shape: build(shape, iter(range(100))))


def shapley(size, game):
    """The definition: every token's gain, over every set of the others."""
    scores = np.zeros(size)
    for token in range(size):
        other_tokens = [other_token for other_token in range(size) if other_token != token]
        for count in range(size):
            weight = factorial(count) * factorial(size - count - 1) / factorial(size)
            for chosen in combinations(other_tokens, count):
                coalition = np.zeros(size, bool)
                coalition[list(chosen)] = True
                without = game(coalition[None])[0]
                coalition[token] = True
                scores[token] += weight * (game(coalition[None])[0] - without)
    return scores


def owen(tree, game, coalition):
    """The recursion, plainly: a group's gain in one context is divided by Shapley's formula among its children."""
    if isinstance(tree, int):
        extended = coalition.copy()
        extended[tree] = True
        return {tree: game(extended[None])[0] - game(coalition[None])[0]}
    scores = dict.fromkeys(leaves(tree), 0.0)
    for place, child in enumerate(tree):
        siblings = [sibling for i, sibling in enumerate(tree) if i != place]
        for count in range(len(tree)):
            weight = factorial(count) * factorial(len(tree) - count - 1) / factorial(len(tree))
            for chosen in combinations(siblings, count):
                context = coalition.copy()
                context[[leaf for subtree in chosen for leaf in leaves(subtree)]] = True
                for token, score in owen(child, game, context).items():
                    scores[token] += weight * score
    return scores


def clustering(tree, depth):
    """A binary tree as shap wants it; a negative height keeps a cluster, ``depth`` levels down, whole."""
    rows, size = [], len(leaves(tree))

    def add(node, left):
        if isinstance(node, int):
            return node
        a, b = (add(child, left - 1) for child in node)
        rows.append([a, b, 1.0 if left > 0 else -1.0, len(leaves(node))])
        return size + len(rows) - 1

    add(tree, depth)
    return np.array(rows, float)


class Tokens:
    """A masker for shap: the ids of one example, special tokens always seen, the others masked by id."""

    def __init__(self, encoding, token, rows):
        self.ids, self.inside, self.token = encoding.ids, encoding.segment >= 0, token
        self.clustering = rows

    def shape(self, x):
        """One row of as many columns as there are tokens to mask."""
        return 1, int(self.inside.sum())

    def __call__(self, mask, x):
        """The masked row; x, all that shap knows of the example, is not needed."""
        visible = np.ones(len(self.ids), bool)
        visible[self.inside] = mask
        return (np.where(visible, self.ids, self.token)[None],)


@pytest.fixture(scope="module")
def shap():
    """The library, without its compiler, which would take longer than these few examples."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv("NUMBA_DISABLE_JIT", "1")
        warnings.simplefilter("ignore")  # shap's plots use what matplotlib will drop
        import shap

        return shap


def by_shap(shap, trained, encoding, tree, depth=100):
    """Partition SHAP's values of one example, of a tree that is walked ``depth`` levels down."""
    types = torch.from_numpy(encoding.type_ids.copy())

    def margins(ids):
        with torch.inference_mode():
            logits = trained.network(Batch(torch.from_numpy(np.array(ids)), types.expand(len(ids), -1)))
        return (logits[:, 1] - logits[:, 0]).double().numpy()

    masker = Tokens(encoding, trained.tokenizer.pad_token_id, clustering(tree, depth))
    explainer = shap.explainers.Partition(margins, masker)
    values = explainer(np.zeros((1, len(leaves(tree)))), max_evals=EVERYTHING, batch_size=100, silent=True)
    return values.values[0], explainer.last_eval_count


@given(trees())
@settings(max_examples=40)
def test_a_walk_gives_the_owen_values_of_any_tree(tree):
    """Masks and weights of the tree alone give the recursion of the definition, whatever the game."""
    size = len(leaves(tree))
    path = walk(tree, EVERYTHING)
    expected = owen(tree, answers, np.zeros(size, bool))
    assert path.weights @ answers(path.masks) == pytest.approx([expected[token] for token in range(size)], abs=1e-9)


@given(trees())
@settings(max_examples=40)
def test_no_set_of_tokens_is_asked_for_twice(tree):
    """The masks of a walk are all different where every group has two members or more, and as many as was foretold."""
    path = walk(tree, EVERYTHING)
    assert len(path.masks) == evaluations(tree)
    assert path.masks[0].all()
    assert not path.masks[1].any()
    assert len(np.unique(path.masks, axis=0)) == len(path.masks)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_a_flat_tree_gives_the_shapley_values(size):
    """With no groups the values are Shapley's, by brute force over all subsets."""
    path = walk(flat_tree(np.zeros(size, np.int64)), EVERYTHING)
    assert len(path.masks) == 2**size
    assert path.weights @ answers(path.masks) == pytest.approx(shapley(size, answers), abs=1e-12)


@pytest.mark.parametrize("size", [2, 9, 33, 60, 200])
@pytest.mark.parametrize("budget", [2, 50, 1000])
def test_a_budget_is_kept_and_nothing_is_lost(size, budget):
    """However small the budget is: it is kept, the values add up to the whole gain, and no token goes without."""
    tree = halves(range(size))
    path = walk(tree, budget)
    assert len(path.masks) <= max(budget, 2)
    assert (len(path.masks) == evaluations(tree)) == (evaluations(tree) <= budget)
    gains = path.weights.sum(axis=0)
    assert gains == pytest.approx([1, -1] + [0] * (len(path.masks) - 2), abs=1e-12)
    assert (np.abs(path.weights).sum(axis=1) > 0).all()


def test_tokens_that_are_not_told_apart_share_equally():
    """With a budget for the segments only, every token of a segment has the same share of the segment's value."""
    path = walk(((0, (1, 2)), (3, 4)), 4)
    first, second = walk((0, 1), 4).weights
    assert path.weights == pytest.approx(np.array([first / 3] * 3 + [second / 2] * 2))


def groups(node):
    """The tokens of every group of a tree, the leaves included."""
    yield set(leaves(node))
    if not isinstance(node, int):
        for child in node:
            yield from groups(child)


@pytest.mark.parametrize("grow", [across_tree, segments_tree])
def test_a_tree_keeps_words_together(trained, grow):
    """Every token is in it once, special ones are out, and the pieces of a word part last."""
    example = Example("a", ("The doctors' blimpization ran.", "Doctors ran."), 0)
    encoding = trained.encode([example])[0]
    words = encoding.word[encoding.segment >= 0]
    tree = grow(encoding.segment, encoding.word)
    assert sorted(leaves(tree)) == list(range(len(words)))
    together = list(groups(tree))
    for word in set(words):
        assert set(np.flatnonzero(words == word)) in together


def test_one_tree_parts_the_segments_first_and_the_other_gives_each_half_its_share(trained):
    """At the root: a segment a side, or half of the words of each segment; a text alone has one tree."""
    example = Example("a", ("the doctors saw the actor near a judge", "the actor saw the judge near doctors ran"), 0)
    encoding = trained.encode([example])[0]
    inside = encoding.segment >= 0
    segments, words = encoding.segment[inside], encoding.word[inside]
    first, second = map(leaves, segments_tree(encoding.segment, encoding.word))
    assert ({*segments[first]}, {*segments[second]}) == ({0}, {1})
    first, second = map(leaves, across_tree(encoding.segment, encoding.word))
    assert {*words[first]} == {0, 1, 2, 3, 8, 9, 10, 11}
    assert {*words[second]} == {4, 5, 6, 7, 12, 13, 14, 15}
    alone = np.where(encoding.segment == 0, 0, -1), np.where(encoding.segment == 0, encoding.word, -1)
    assert across_tree(*alone) == segments_tree(*alone)


def test_a_lone_word_stands_in_the_middle_of_the_other_segment():
    """One word beside three: its place is a half, as that of the second, so it goes with the first half of both."""
    segment, word = np.array([-1, 0, -1, 1, 1, 1, -1]), np.array([-1, 0, -1, 1, 2, 3, -1])
    assert across_tree(segment, word) == ((1, 0), (2, 3))


@pytest.mark.more
def test_segments_first_says_of_two_texts_only_what_each_is_alone(trained, hans):
    """Segments first give f(first alone) - f(second alone); the default is nearer to the Shapley values."""
    examples, random = hans.examples[::100], np.random.default_rng(0)
    scores_of = {}
    for tree in ("across", "segments"):
        rows = attribute(trained, examples, SHAPSettings(tree=tree))
        scores_of[tree] = np.array([row.scores @ ((row.segment == 0) * 1.0 - (row.segment == 1)) for row in rows])
    alone, exact = [], []
    for encoding in trained.encode(examples):
        words, first = np.unique(encoding.word[encoding.segment >= 0], return_index=True)
        sign = np.where(encoding.segment[encoding.segment >= 0][first] == 0, 1, -1)
        orders = [random.permutation(len(words)) for _ in range(50)]
        orders += [order[::-1] for order in orders]
        sets = [words[sign > 0], words[sign < 0]] + [order[:k] for order in orders for k in range(len(words) + 1)]
        masks = np.array([np.isin(encoding.word, [-1, *known_words]) for known_words in sets])
        rows = [
            TokenRow(ids, encoding.type_ids) for ids in np.where(masks, encoding.ids, trained.tokenizer.pad_token_id)
        ]
        ((_, logits),) = trained.outputs_of(trained.network, [(None, rows)])
        margins = np.diff(logits)[:, 0]
        alone.append(margins[0] - margins[1])
        exact.append((np.diff(margins[2:].reshape(len(orders), -1)) * sign[orders]).sum() / len(orders))
    assert scores_of["segments"] == pytest.approx(alone, abs=1e-5)
    off = {tree: np.abs(values - exact).mean() for tree, values in scores_of.items()}
    assert off["across"] < 0.8 * off["segments"]


@pytest.mark.more
@pytest.mark.parametrize(("tree", "number"), [("across", 0), ("across", 7), ("segments", 7)])
def test_values_are_those_of_shap(shap, trained, hans, tree, number):
    """Values are those of shap's Partition explainer with the same tree, an equivalent masker and no limit."""
    example = hans.examples[number]
    encoding = trained.encode([example])[0]
    settings = SHAPSettings(tree=tree)
    (row,) = attribute(trained, [example], settings)
    values, evaluated = by_shap(shap, trained, encoding, settings.tree_of(encoding.segment, encoding.word))
    assert row.scores[encoding.segment >= 0] == pytest.approx(values, abs=1e-6)
    assert row.effort == evaluated + 2
    assert (row.scores[encoding.segment < 0] == 0).all()


def test_a_truncated_tree_is_that_of_shap_with_clusters_that_stay_whole(shap, trained, hans):
    """Values are those of shap with the deeper clusters marked as not to be split."""
    example = hans.examples[0]
    encoding = trained.encode([example])[0]
    (row,) = attribute(trained, [example], SHAPSettings(max_evaluations=60))
    values, evaluated = by_shap(shap, trained, encoding, across_tree(encoding.segment, encoding.word), depth=3)
    assert row.effort == evaluated + 2 == 44
    assert row.scores[encoding.segment >= 0] == pytest.approx(values, abs=1e-6)


def test_values_are_shapleys_where_there_are_no_groups(trained):
    """A short pair with the flat tree: the backend's values are brute force over the model itself."""
    example = Example("a", ("The poets", "poets ran"), 0)
    encoding = trained.encode([example])[0]
    inside = np.flatnonzero(encoding.segment >= 0)
    assert 4 <= len(inside) <= 8

    masks = list(product([False, True], repeat=len(inside)))
    ids = np.tile(encoding.ids, (len(masks), 1))
    ids[:, inside] = np.where(masks, encoding.ids[inside], trained.tokenizer.pad_token_id)
    rows = [TokenRow(row, encoding.type_ids) for row in ids]
    ((_, logits),) = trained.outputs_of(trained.network, [(None, rows)])
    game = dict(zip(masks, np.diff(logits)[:, 0], strict=True))
    expected = shapley(len(inside), lambda masks: [game[tuple(mask)] for mask in masks.tolist()])
    (row,) = attribute(trained, [example], SHAPSettings(tree="flat"))
    assert row.scores[inside] == pytest.approx(expected, abs=1e-6)


@pytest.mark.more
def test_values_do_not_depend_on_what_is_computed_beside_them(trained, hans):
    """One example alone, and among others with another budget of tokens a batch, has the same values."""
    examples = hans.examples[:4]
    together = list(attribute(trained, examples, "shap"))
    for example, row in zip(examples, together, strict=True):
        (alone,) = attribute(replace(trained, token_budget=300), [example], "shap")
        assert alone.scores == pytest.approx(row.scores, abs=1e-6)
        assert alone.probs == pytest.approx(row.probs, abs=1e-6)


def test_values_add_up_and_truncation_is_told(trained, hans):
    """The gate lets whole trees pass whose values add up, and no truncated one, though its values add up too."""
    by_default, cut = SHAPSettings(), SHAPSettings(max_evaluations=100)
    for example in hans.examples[:3]:
        (row,) = attribute(trained, [example], by_default)
        (rough,) = attribute(trained, [example], cut)
        assert abs(row.residual) < 1e-9 > abs(rough.residual)
        assert (by_default.accepts(row), by_default.truncated(row)) == (True, False)
        assert (cut.accepts(rough), cut.truncated(rough)) == (False, True)
        assert rough.effort <= 100 < row.effort


def test_a_wide_gap_is_not_accepted(trained, hans):
    """An additivity gap over the tolerance does not pass the gate."""
    (row,) = attribute(trained, hans.examples[:1], "shap")
    assert not SHAPSettings().accepts(replace(row, residual=0.1))


@pytest.mark.parametrize("segments", [("", ""), ("Ran", ""), ("", "Ran"), ("Ran",)])
def test_empty_segments_have_values_too(trained, segments):
    """A pair may have an empty half, or be empty: what is there has a value, and the rest has none."""
    (row,) = attribute(trained, [Example("a", segments, 0)], "shap")
    assert len(row.scores) == len(row.tokens)
    assert (row.scores[row.segment < 0] == 0).all()
    assert SHAPSettings().accepts(row)
    assert (row.scores != 0).any() == any(segments)


def test_an_output_can_be_chosen(trained, hans):
    """The margin is the difference of the logits' values: both outputs are Owen values of one linear walk."""
    by_name = {}
    for target, output in ((1, "margin"), (0, "logit"), (1, "logit")):
        (row,) = attribute(trained, hans.examples[:1], SHAPSettings(target=target, output=output))
        by_name[target, output] = row.scores
    assert by_name[1, "margin"] == pytest.approx(by_name[1, "logit"] - by_name[0, "logit"], abs=1e-6)


def test_a_model_without_the_token_is_refused(trained, hans):
    """There is nothing to hide others behind; the error names settings that this very model can run."""
    padless = replace(trained, tokenizer=SimpleNamespace(pad_token_id=None, mask_token_id=4))
    with refuses(ModelError, option="attribution", allowed=("shap:baseline=mask",)):
        list(attribute(padless, hans.examples[:1], "shap"))
    tokenless = replace(trained, tokenizer=SimpleNamespace(pad_token_id=None))
    with refuses(ModelError, option="attribution", allowed=("shap:baseline=remove",)):
        list(attribute(tokenless, hans.examples[:1], "shap"))


def test_tokens_may_be_removed(trained, hans):
    """The values then share out what the text says beside two empty segments, which the tokenizer puts together."""
    (nothing,) = attribute(trained, [replace(hans.examples[0], segments=("", ""))], "shap")
    for row in attribute(trained, hans.examples[:3], "shap:baseline=remove"):
        margin, start = (np.log(answer.probs[1] / answer.probs[0]) for answer in (row, nothing))
        assert abs(margin - start) > 0.1
        assert row.scores.sum() == pytest.approx(margin - start, abs=1e-9)


def test_values_add_up_for_a_network_of_random_numbers(trained, hans, monkeypatch):
    """Whatever is answered is shared out in full: the additivity gap is no measure of how well a model is explained."""
    rng = torch.Generator().manual_seed(0)
    monkeypatch.setattr(Classifier, "network", lambda self, batch: torch.randn(len(batch.ids), 2, generator=rng))
    for row in attribute(trained, hans.examples[:3], "shap"):
        assert abs(row.scores).sum() > 1
        assert row.residual < 1e-12
        assert SHAPSettings().accepts(row)


def test_shap_is_in_the_table():
    """The backend is found by its name."""
    assert SETTINGS["shap"] is SHAPSettings
