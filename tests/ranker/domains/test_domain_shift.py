import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from factors import Example
from ranker.datasets import sets
from ranker.domains import references
from ranker.domains.shift import Domain, compare_domains, measure_shift
from ranker.domains.statistics.shift import estimate
from ranker.statistics.correlation import DistanceMeasure

_DATA = os.environ.get("RANK_MODELS_DATA")
SHARED = Path(_DATA) if _DATA else Path(__file__).parents[4] / "shared" / "data"


def domain(name, texts, labels=None):
    """A set of single texts."""
    rows = [Example(str(n), (text,) if isinstance(text, str) else text) for n, text in enumerate(texts)]
    return Domain(name, rows, labels or [None] * len(rows))


def embedded(name):
    """The texts of a set that comes with the product."""
    return [row.segments for row in sets.load(name).examples]


def halves(rng, texts):
    """A set in two."""
    order = rng.permutation(len(texts))
    return [domain(name, [texts[n] for n in part]) for name, part in zip("ab", np.array_split(order, 2), strict=True)]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["hans-sub", "msgs-verb", "paws"])
def test_two_halves_of_a_set_are_near(name):
    """Of three splits all; a hundred are a slow test."""
    rng = np.random.default_rng(0)
    texts = embedded(name)
    verdicts = [compare_domains(*halves(rng, texts), np.random.default_rng(0)).verdict for _ in range(3)]
    assert verdicts == ["near"] * 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hans-sub", "msgs-verb", "paws", "sst2"])
def test_ninety_five_of_a_hundred_splits_are_near(name):
    """Two halves of one file, whatever it is."""
    if name != "sst2":
        texts = embedded(name)
    elif (SHARED / "sst2").exists():
        with gzip.open(SHARED / "sst2" / "dev.tsv.gz", "rt", encoding="utf-8") as file:
            texts = [(line.partition("\t")[0],) for line in file]
    else:
        pytest.skip("needs ../shared/data/sst2")
    rng = np.random.default_rng(1)
    verdicts = [compare_domains(*halves(rng, texts), np.random.default_rng(n)).verdict for n in range(100)]
    assert verdicts.count("near") >= 95


@pytest.mark.more
def test_sets_of_one_task_are_far_and_of_two_are_other():
    """As the reference pairs themselves."""
    shifts = measure_shift([domain(name, embedded(name)) for name in ("hans-sub", "hans-lex", "paws")])
    assert [(pair.a, pair.b, pair.verdict) for pair in shifts.pairs] == [
        ("hans-sub", "hans-lex", "far"),
        ("hans-sub", "paws", "other"),
        ("hans-lex", "paws", "other"),
    ]
    assert [pair.b for pair in shifts.new] == ["hans-lex", "paws"]
    assert "hans-lex and hans-sub" in shifts.pairs[0].reason
    assert shifts.pairs[0].p < 0.01


@pytest.mark.more
def test_a_third_set_changes_nothing():
    """A pair is measured by itself: with the seed come all of its numbers."""
    a, b, c = (domain(name, embedded(name)) for name in ("hans-sub", "hans-con", "paws"))
    assert measure_shift([a, b, c]).pair("hans-sub", "hans-con") == measure_shift([a, b]).pairs[0]
    assert measure_shift([a, b], seed=1).pairs[0] != measure_shift([a, b]).pairs[0]


def test_the_reference_pairs_are_those_of_the_script():
    """Two of them, computed again."""
    from benchmarks.shift_references import squared
    from ranker.domains.words import count_words

    mmds = {(pair.a, pair.b): pair.mmd for pair in references.reference_pairs()}
    assert len(mmds) == 28
    assert {pair.kind for pair in references.reference_pairs()} == {"near", "far", "other"}
    for pair in (("hans-con", "hans-sub"), ("hans-sub", "paws")):
        texts = [count_words([" ".join(row) for row in embedded(name)]) for name in pair]
        assert squared(*texts, np.random.default_rng(0)) == pytest.approx(mmds[pair], abs=2e-4)


def test_every_kind_of_pair_is_nearer_than_the_next():
    """The references part into three stretches, so that the nearest one gives the verdict a meaning."""
    kinds = [pair.kind for pair in references.reference_pairs()]
    assert kinds == sorted(kinds, key=["near", "far", "other"].index)


def test_an_interval_that_reaches_every_kind_tells_nothing():
    """From half of a set to another task."""
    assert references.verdicts_within(DistanceMeasure("mmd", 0.01, -0.03, 0.09)) == {"near", "far", "other"}
    assert references.verdicts_within(DistanceMeasure("mmd", 0.0, -0.001, 0.001)) == {"near"}
    assert references.verdicts_within(DistanceMeasure("mmd", 0.002, 0.001, 0.005)) == {"near", "far"}


def test_few_texts_cannot_be_told():
    """Two rows against a hundred, and two against two: no measure fails, and the reason says how many are needed."""
    many = domain("many", [f"w{n} w{n % 7} x" for n in range(100)])
    two = domain("two", ["a b", "w1 x"])
    for a in (many, two):
        verdict = compare_domains(a, domain("new", ["a b", "w1 x"]), np.random.default_rng(0))
        assert verdict.verdict == "cannot be told"
        assert verdict.reason.endswith("2 texts, and 20 are needed.")
    on_one = compare_domains(many, domain("one", ["a"]), np.random.default_rng(0))
    assert (on_one.verdict, on_one.p, on_one.measure("mmd").value) == ("cannot be told", None, None)


def test_equal_texts_cannot_be_told():
    """All of one set, or of both."""
    same = domain("same", ["the same text"] * 50)
    verdict = compare_domains(same, domain("other", [f"w{n} w{n % 7} x" for n in range(50)]), np.random.default_rng(0))
    assert (verdict.verdict, verdict.reason) == ("cannot be told", "All texts of same are equal.")
    assert compare_domains(same, same, np.random.default_rng(0)).verdict == "cannot be told"


def test_another_script_is_pointed_out():
    """No word in common, and nothing fails."""
    rng = np.random.default_rng(0)
    russian = [" ".join(rng.choice(["дом", "кот", "был", "стол", "он"], 5)) for _ in range(60)]
    english = [" ".join(rng.choice(["house", "cat", "was", "table", "he"], 5)) for _ in range(60)]
    shifts = measure_shift([domain("en", english), domain("ru", russian)])
    assert shifts.pairs[0].verdict == "other"
    assert shifts.pairs[0].measure("word_overlap").value == 0
    assert shifts.notes == ("en and ru have no word in common: another language, or another script?",)
    assert measure_shift([domain("en", english), domain("ru", ["…"] * 60)]).notes[0] == "No word occurs in ru."


def test_texts_without_a_common_word_cannot_be_told():
    """No word stands twice, so that all vectors are 0, and no distance is none."""
    first, second = domain("a", [f"w{n}" for n in range(40)]), domain("b", [f"v{n}" for n in range(40)])
    verdict = compare_domains(first, second, np.random.default_rng(0))
    assert (verdict.verdict, verdict.reason) == ("cannot be told", "No word of a and b occurs in two of the texts.")
    blank = compare_domains(
        domain("c", [f"w{n % 9} x" for n in range(40)]), domain("d", ["…", "!"] * 20), np.random.default_rng(0)
    )
    assert (blank.verdict, blank.reason) == ("cannot be told", "No word of d occurs in two of the texts.")


def test_numbers_are_no_labels():
    """A column of scores is called a label, too; nothing is said of its frequencies."""
    texts = [f"w{n} w{n % 7} x" for n in range(60)]
    shifts = measure_shift([domain(name, texts, [f"{n}.5" for n in range(60)]) for name in ("a", "b")])
    assert shifts.domains[0].labels == {}
    assert shifts.pairs[0].measure("label_shift").value is None


def test_leakage_is_counted():
    """Of 40 new texts ten are in-domain ones."""
    rng = np.random.default_rng(2)
    own_texts = [" ".join(f"w{n}" for n in rng.integers(5_000, size=30)) for _ in range(50)]
    new = [" ".join(f"w{n}" for n in rng.integers(5_000, size=30)) for _ in range(30)]
    verdict = compare_domains(domain("a", own_texts), domain("b", [*own_texts[:10], *new]), rng)
    assert verdict.measure("repeated").value == pytest.approx(0.25)
    assert verdict.measure("repeated").low < 0.25 < verdict.measure("repeated").high


def test_labels_are_compared_by_name():
    """Case does not matter; of a set without labels, or with others, nothing is said."""
    texts = [f"w{n} w{n % 7} x" for n in range(40)]
    first = domain("a", texts, ["yes"] * 20 + ["no"] * 20)
    second = domain("b", texts, ["No"] * 30 + ["YES"] * 9 + [None])
    shifts = measure_shift([first, second])
    assert shifts.pairs[0].measure("label_shift").value == pytest.approx(abs(9 / 39 - 0.5))
    assert shifts.domains[1].labels == {"No": 30 / 39, "YES": 9 / 39}
    other_shifts = measure_shift([first, domain("c", texts, ["x"] * 40)])
    assert other_shifts.pairs[0].measure("label_shift").value is None
    assert other_shifts.notes == ("c: no label of a (yes, no), so no shift of labels.",)
    assert measure_shift([first, domain("c", texts)]).notes == ()


def test_what_is_not_defined_is_none():
    """In the record of a result, where a nan would be no JSON."""
    assert estimate("auc", np.nan, np.ones(3)).value is None
