"""Targets as cells of files: every kind of task reads back what it writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker.tasks.classes import ClassificationTask
from ranker.tasks.names import spelled
from ranker.tasks.numbers import NumberTask
from ranker.tasks.precomputed import PrecomputedTask
from ranker.tasks.tags import TagTask
from ranker.tasks.texts import SpanTask, TextTask

WRITTEN = st.text(min_size=1).filter(str.strip)
REFERENCES = st.lists(
    WRITTEN | st.sampled_from(["[sic]", "[1]", '["a"]', "{}", '{"text": "b"}']), min_size=1, unique=True
)
TYPES = st.text(min_size=1).filter(lambda name: spelled(name).strip() == name)
TAGS = st.lists(st.just("O") | st.builds("{}-{}".format, st.sampled_from("BI"), TYPES), min_size=1)


@pytest.mark.parametrize(
    ("task", "targets"),
    [
        (ClassificationTask("mood", ("bad", "1", "good")), st.integers(0, 2)),
        (PrecomputedTask("mood", "JUDGED", ("bad", "good")), st.integers(0, 1)),
        (NumberTask("marks", -5, 1e9), st.floats(-5, 1e9)),
        (TextTask("summaries"), REFERENCES.map(tuple)),
        (SpanTask("questions"), st.just(()) | REFERENCES.map(tuple)),
        (TagTask("entities"), TAGS.map(tuple)),
    ],
    ids=lambda part: getattr(part, "name", ""),
)
@given(drawing=st.data())
def test_a_cell_is_read_as_the_target_that_it_was_written_from(task, targets, drawing):
    """Whatever a person may type: brackets, quotes, blanks, numbers that are names."""
    target = drawing.draw(targets)
    assert task.target_of(task.cell_of(target)) == target


def test_cells_are_as_people_write_them():
    """One reference is its text, a whole number has no point, and tags have blanks between."""
    assert TextTask("t").cell_of(("The [old] dog",)) == "The [old] dog"
    assert TextTask("t").cell_of(("a", "b")) == '["a", "b"]'
    assert SpanTask("s").cell_of(()) == "[]"
    assert [NumberTask("n", 0, 9).cell_of(value) for value in (3.0, 2.5)] == ["3", "2.5"]
    assert TagTask("e").cell_of(("B-PER", "O")) == "B-PER O"
