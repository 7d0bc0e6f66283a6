"""Rows and stages of classifiers trained for robustness, and the copied summaries behind docs/results/domainsum.md."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.domainsum import copied, sentences
from benchmarks.robustness import LABELS, STAGES, WAYS, balanced, cell, interval, judged
from experiments.plan import IN_DOMAIN, Training, draw
from experiments.recipe import Base
from factors import Example


def test_sets_have_different_texts_and_as_many_rows_of_each_label():
    """Each text counts once, labels have the task's names and take turns, and what is too much of one is left out."""
    rows = [{"text": f"text {n % 7}", "label": "clean" if n % 7 < 5 else "toxic", "part": "x"} for n in range(14)]
    chosen = balanced(rows, LABELS["toxicity"])
    assert [row["label"] for row in chosen] == ["non-toxic", "toxic"] * 2
    assert len({row["text"] for row in chosen}) == 4
    assert {frozenset(row) for row in chosen} == {frozenset({"text", "label"})}


def test_texts_between_positive_and_negative_are_left_out(tmp_path):
    """A mean mark of 1 or -1 is enough, 0.99 is not; tabs part number, mark and text."""
    file = tmp_path / "marks.txt"
    file.write_text("1\t1.0\tgood\n2\t0.99\tfair\n3\t-2.5\tbad\n4\t-0.2\tso so\n", encoding="utf-8")
    assert judged(file) == [{"text": "good", "label": "positive"}, {"text": "bad", "label": "negative"}]


@pytest.mark.parametrize("way", WAYS)
def test_all_ways_take_as_many_steps(way):
    """Four thousand rows twice in batches of 32, or once beside their copies, are 250 steps."""
    pool = [Example(str(n), (f"a text of {n} words",), n % 2) for n in range(4_000)]
    stage = WAYS[way](STAGES["toxicity"])
    rows = draw(stage, {IN_DOMAIN: pool}, 2, 0, way)
    assert Training(way, stage, 0, rows, Base("encoder")).steps == 250
    assert len(rows) == (8_000 if way == "eda" else 4_000)


def test_an_interval_over_seeds_is_that_of_a_t_test_where_rows_do_not_differ():
    """The oracle is scipy's interval of one sample, the differences of five seeds on one kind of row."""
    of_seeds = np.array([0.5, 2.0, -1.0, 3.0, 1.5])
    mean, half = interval(np.repeat(of_seeds[:, None], 40, axis=1))
    expected = stats.ttest_1samp(of_seeds, 0).confidence_interval(0.95)
    assert (mean - half, mean + half) == pytest.approx((expected.low, expected.high))


def test_an_interval_covers_other_seeds_and_other_rows():
    """Differences of a seed, of a row and of both: the interval holds the true mean in at least 93 % of 400 draws."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(400):
        drawn = rng.normal(0, 1, (5, 1)) + rng.normal(0, 5, 60) + rng.normal(0, 5, (5, 60))
        mean, half = interval(drawn)
        inside += abs(mean) <= half
    assert inside >= 0.93 * 400


def test_a_cell_has_the_mean_the_range_and_the_difference():
    """Two seeds with 50 and 100 %, where plain training has 50 % each; an interval that holds 0 is not bold."""
    plain = np.array([[True, False], [True, False]])
    assert cell(plain, plain) == "50.0 (50.0 to 50.0)"
    assert cell(np.array([[True, False], [True, True]]), plain).startswith("75.0 (50.0 to 100.0), +25.0 [")


def test_copied_summaries_are_sentences_of_the_document_in_its_order():
    """Of a document of one line, sentences end in full stops; lead-3 takes the first three."""
    assert sentences("One. Two two. Three.") == ["One.", "Two two.", "Three."]
    assert copied("lead-3", ["A b\nC d\n\nE f\nG h"]) == ["A b C d E f"]
    assert copied("textrank-3", ["no word here\nthe dog ran\nthe dog sat\nthe dog slept"]) == [
        "the dog ran the dog sat the dog slept"
    ]
