"""Our own pairs of questions: the same words in the new domain, and in-domain a shortcut that is right."""

from collections import Counter

import numpy as np
import pytest
from test_generate import words

from experiments import generate
from experiments.generate import paraphrase


def draw(name: str, n: int = 400, seed: int = 0) -> list:
    """Rows of a generator."""
    return generate.SOURCES[name](np.random.default_rng(seed), n)


@pytest.mark.parametrize("name", ["paraphrase", "paws"])
def test_questions_are_balanced_different_and_seeded(name):
    """Half of the rows are paraphrases, no pair stands twice, a seed gives the same rows and another seed others."""
    drawn = draw(name, seed=1)
    assert Counter(row.target for row in drawn) == {0: 200, 1: 200}
    assert len({row.segments for row in drawn}) == len({row.id for row in drawn}) == 400
    assert all(segment.endswith("?") for row in drawn for segment in row.segments)
    assert drawn == draw(name, seed=1)
    assert drawn != draw(name, seed=2)


def test_a_swapped_pair_has_the_same_words_in_another_order():
    """Every PAWS-like pair has one bag of words and two orders of them."""
    for row in draw("paws"):
        first, second = map(words, row.segments)
        assert Counter(first) == Counter(second), row
        assert first != second, row


def test_in_the_new_domain_the_kind_decides():
    """All rows of a kind have one label, and there are as many kinds of either label."""
    labels = [{template.label for template in templates} for templates in paraphrase.SWAPPED.values()]
    assert all(len(label) == 1 for label in labels)
    assert labels.count({0}) == labels.count({1}) > 0


def test_at_home_the_shortcut_is_right():
    """In-domain a pair of the same words is a paraphrase without exception, and overlap tells most of the others."""
    drawn = draw("paraphrase", 2000)
    label = np.array([row.target for row in drawn])
    bags = [[Counter(words(segment)) for segment in row.segments] for row in drawn]
    same = np.array([first == second for first, second in bags])
    new = np.array([(second - first).total() / second.total() for first, second in bags])
    assert same.sum() > 200
    assert (label[same] == 1).all()
    assert new[label == 0].mean() > new[label == 1].mean() + 0.1


def test_no_question_of_changed_meaning_is_at_home():
    """No template in-domain swaps what changes the meaning, whichever label it has."""
    swaps = {
        template.segments for templates in paraphrase.SWAPPED.values() for template in templates if not template.label
    }
    assert not swaps & {template.segments for template in paraphrase.REWORDED}
    assert {row.id.rpartition("-")[0] for row in draw("paraphrase")} == {
        "reworded", "reordered", "changed", "unrelated",
    }  # fmt: skip
