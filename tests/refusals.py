"""Errors of ours that a test expects, by their type and their fields; `test_messages_*.py` holds their words."""

from contextlib import contextmanager

import pytest


@contextmanager
def refuses(error_type, **fields):
    """Expect an error of exactly this type, whose named fields (`option`, `value`, `allowed`, `place`) are these."""
    if "place" in fields:
        fields["place"] = str(fields["place"])
    with pytest.raises(error_type) as stop:
        yield stop
    actual = {field: getattr(stop.value, field) for field in fields or ("option", "value", "allowed", "place")}
    assert (type(stop.value), actual) == (error_type, fields)
