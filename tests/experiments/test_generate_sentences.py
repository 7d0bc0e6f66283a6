"""Our own sentences: a feature and the word "the", together in-domain and apart in the new domain."""

import re
from collections import Counter
from functools import cache

import numpy as np
import pytest
from refusals import refuses

from experiments import generate
from experiments.generate import sentences
from ranker.errors import UnknownName

FEATURES = sorted(sentences.FEATURES)


def draw(name: str, n: int = 200, seed: int = 0) -> list:
    """Rows of a generator."""
    return generate.SOURCES[name](np.random.default_rng(seed), n)


@cache
def forms(*names: str) -> frozenset[str]:
    """Everything that forms of these names can be."""
    variants = [variant for words in sentences.LEXICON.values() for word in words for variant in word]
    return frozenset(text for variant in variants for name, text in variant.items() if name in names)


def has_the(text: str) -> bool:
    """Tell whether the sentence contains the cue."""
    return bool(re.search(r"\bthe\b", text, re.IGNORECASE))


def has_feature(text: str, feature: str) -> bool:
    """Tell whether the sentence has the feature, from its words alone."""
    words = text.lower().rstrip(".").split()
    if feature == "morph":
        return not forms("saw", "broke").isdisjoint(words)
    if feature == "adject":
        return not forms("polite").isdisjoint(words)
    # A clause that begins before the first verb belongs to the subject, and the main verb comes last; else it is first.
    verbs = [i for i, word in enumerate(words) if word in forms("were", "greeted", "smiled", "hoped", "worried")]
    main = verbs[-1] if {"who", "that"} & set(words[1 : verbs[0]]) else verbs[0]
    return words[main] in forms("were")


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("name", ["msgs-{}", "{}-ambiguous", "{}-by-surface"])
def test_sentences_are_balanced_different_and_seeded(name, feature):
    """Half of the rows have the label, no sentence stands twice, a seed gives the same rows and another seed others."""
    drawn = draw(name.format(feature), seed=1)
    assert Counter(row.target for row in drawn) == {0: 100, 1: 100}
    assert len({row.segments for row in drawn}) == len({row.id for row in drawn}) == 200
    assert {len(row.segments) for row in drawn} == {1}
    assert drawn == draw(name.format(feature), seed=1)
    assert drawn != draw(name.format(feature), seed=2)


@pytest.mark.parametrize("feature", FEATURES)
def test_the_cue_goes_with_the_feature_in_domain_and_against_it_in_the_new_domain(feature):
    """In-domain exactly the rows with the feature contain "the", in the new domain those without; each has one."""
    for name, with_cue in ((f"{feature}-ambiguous", 1), (f"msgs-{feature}", 0)):
        for row in draw(name):
            assert has_the(row.segments[0]) == (row.target == with_cue), row
            assert len(re.findall(r"\bthe\b", row.segments[0], re.IGNORECASE)) <= 1, row


@pytest.mark.parametrize("feature", FEATURES)
def test_the_label_is_whether_the_feature_is_there(feature):
    """The words of a row tell its label, in-domain and in the new domain."""
    for row in (*draw(f"{feature}-ambiguous"), *draw(f"msgs-{feature}")):
        assert has_feature(row.segments[0], feature) == bool(row.target), row


def test_each_sentence_has_one_ing_form():
    """Rows of VERB have one progressive each; only where it stands tells them apart."""
    for row in (*draw("verb-ambiguous"), *draw("msgs-verb")):
        assert len(re.findall(r"\b(?:was|were) \w+ing\b", row.segments[0])) == 1, row
        assert len(re.findall(r"\b\w{2,}ing\b", row.segments[0])) == 1, row


@pytest.mark.parametrize("feature", FEATURES)
def test_by_surface_turns_the_label_round(feature):
    """The rows are those of the OOD set, with the other label: whether "the" is there."""
    for row, message in zip(draw(f"{feature}-by-surface"), draw(f"msgs-{feature}"), strict=True):
        assert (row.id, row.segments, row.target) == (message.id, message.segments, 1 - message.target)
        assert has_the(row.segments[0]) == bool(row.target)


@pytest.mark.parametrize("feature", FEATURES)
def test_every_template_can_take_the_cue(feature):
    """Each determiner of a template can be "the", and nothing else of it changes."""
    for template in (*sentences.FEATURES[feature].present, *sentences.FEATURES[feature].absent):
        words = template.split()
        sentences_made = [text.split() for text in sentences.with_the(template)]
        assert sentences_made, template
        for changed in sentences_made:
            differing = [(old, new) for old, new in zip(words, changed, strict=True) if old != new]
            assert len(differing) == 1, template
            assert differing[0][1] == "the"


def test_an_unknown_feature_is_refused():
    """A feature that is none of the three is refused, and the nearest one offered."""
    with refuses(UnknownName, value="morf"):
        sentences.ambiguous(np.random.default_rng(0), 1, "morf")
