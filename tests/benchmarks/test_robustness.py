"""Rows and stages of classifiers trained for robustness, and the copied summaries behind docs/results/domainsum.md."""

import pytest

from benchmarks.domainsum import copied, sentences
from benchmarks.robustness import LABELS, STAGES, WAYS, balanced, judged
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
    """A thousand rows in batches of 16, or half of them beside their copies, are 62 or 63 steps."""
    pool = [Example(str(n), (f"a text of {n} words",), n % 2) for n in range(1_000)]
    stage = WAYS[way](STAGES["toxicity"])
    rows = draw(stage, {IN_DOMAIN: pool}, 2, 0, way)
    assert Training(way, stage, 0, rows, Base("encoder")).steps in (62, 63)
    assert len(rows) == (2_000 if way == "eda" else 1_000)


def test_copied_summaries_are_sentences_of_the_document_in_its_order():
    """Of a document of one line, sentences end in full stops; lead-3 takes the first three."""
    assert sentences("One. Two two. Three.") == ["One.", "Two two.", "Three."]
    assert copied("lead-3", ["A b\nC d\n\nE f\nG h"]) == ["A b C d E f"]
    assert copied("textrank-3", ["no word here\nthe dog ran\nthe dog sat\nthe dog slept"]) == [
        "the dog ran the dog sat the dog slept"
    ]
