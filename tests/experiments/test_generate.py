"""Our own data: right by construction, the same under a seed, and as committed."""

import gzip
from collections import Counter

import numpy as np
import pytest
from refusals import refuses

from experiments import generate
from experiments.generate import nli
from experiments.generate.templates import Template, fill, rows
from ranker.datasets import embedded, sets
from ranker.errors import UnknownName

PAIRS = ["nli", "hans-sub", "hans-con", "hans-lex"]


def words(text: str) -> list[str]:
    """The lower-case words of a sentence, without marks."""
    return "".join(c for c in text.lower() if c.isalnum() or c == " ").split()


def contains(outer: list[str], inner: list[str]) -> bool:
    """Tell whether the inner words stand in the outer ones, side by side."""
    return any(outer[i : i + len(inner)] == inner for i in range(len(outer)))


@pytest.mark.parametrize("name", PAIRS)
def test_rows_are_balanced_different_and_seeded(name):
    """Half of the rows follow, no pair stands twice, a seed gives the same rows and another seed others."""
    sample = generate.SOURCES[name](np.random.default_rng(1), 400)
    assert Counter(row.target for row in sample) == {0: 200, 1: 200}
    assert len({row.segments for row in sample}) == len({row.id for row in sample}) == 400
    assert sample == generate.SOURCES[name](np.random.default_rng(1), 400)
    assert sample != generate.SOURCES[name](np.random.default_rng(2), 400)


def test_a_subsequence_is_one():
    """Every HANS-SUB-like hypothesis is a run of the premise's words, whether it follows or not."""
    for row in generate.SOURCES["hans-sub"](np.random.default_rng(0), 400):
        assert contains(*map(words, row.segments)), row


def test_lexical_overlap_is_complete():
    """Every HANS-LEX-like hypothesis has words of the premise only."""
    for row in generate.SOURCES["hans-lex"](np.random.default_rng(0), 400):
        assert not Counter(words(row.segments[1])) - Counter(words(row.segments[0])), row


def test_at_home_the_shortcut_is_right():
    """In-domain a pair without a new word follows, without exception; nine in ten pairs with one do not."""
    sample = generate.SOURCES["nli"](np.random.default_rng(0), 800)
    new = np.array([bool(set(words(row.segments[1])) - set(words(row.segments[0]))) for row in sample])
    label = np.array([row.target for row in sample])
    assert (label[~new] == 1).mean() > 0.95
    assert (label[new] == 0).mean() > 0.7


def test_slots_of_one_number_are_one_word():
    """A slot's digit decides its word, other digits are other words, and forms of a word go together."""
    for seed in range(20):
        first, second = fill(("N1 was1 hugged by N2", "N1 greeted1 N2"), nli.LEXICON, np.random.default_rng(seed))
        first_noun, _, second_noun = first.removesuffix(".").partition(" hugged by ")
        person = first_noun.rpartition(" ")[0]
        assert second.startswith(f"{person} ")
        assert second.endswith(f" {second_noun}.")
        assert person.lower().split()[1].rstrip("s") != second_noun.split()[1].rstrip("s")
        assert ("s were" in first_noun) == person.endswith("s")


def test_too_many_rows_are_refused():
    """Templates that cannot yield so many different rows say which kind is exhausted."""
    with pytest.raises(ValueError, match="maybe is exhausted after 6"):
        rows(np.random.default_rng(0), 50, {"maybe": [Template("maybe", 1, ("maybe1",))]}, nli.LEXICON)


@pytest.mark.parametrize("name", [path.parent.name for path in sorted(embedded.folder().glob("*/examples.jsonl.gz"))])
def test_embedded_samples_are_what_the_generators_give(name):
    """A committed sample holds the very lines that its generator makes."""
    card = sets.cards()[name]
    committed = gzip.decompress((card.folder / "examples.jsonl.gz").read_bytes())
    sample = gzip.decompress(generate.sample(name, committed.count(b"\n"), card.task.labels))
    assert sample == committed


def test_an_unknown_generator_is_refused():
    """A name that no generator bears gets the nearest one."""
    with refuses(UnknownName, value="hans-subb"):
        generate.sample("hans-subb", 1, ("a", "b"))
