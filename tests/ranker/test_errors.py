"""Tests of `ranker.errors`, and of the helper by which tests look at errors."""

import pytest
from refusals import refuses

from ranker.errors import DataError, Question, UsageError


def probe_error():
    """Return an error that has all fields."""
    return UsageError("`probe` must be 1 to 6 (got 7)", option="probe", value=7, allowed=(1, 6), place="a.csv")


@pytest.mark.parametrize("field", ["option", "value", "allowed", "place"])
def test_a_test_fails_where_a_field_differs(field):
    """`refuses` compares each field that it is given."""
    with refuses(UsageError, **{field: getattr(probe_error(), field)}):
        raise probe_error()
    with pytest.raises(AssertionError), refuses(UsageError, **{field: "another"}):
        raise probe_error()


@pytest.mark.parametrize(("error_type", "fields"), [(DataError, {"place": ""}), (Question, {})])
def test_a_test_fails_where_the_type_differs_or_no_field_is_named(error_type, fields):
    """`refuses` accepts no subclass of the type, and no expectation without a field."""
    with pytest.raises(AssertionError), refuses(error_type, **fields):
        raise Question("which column is it?")
