"""The settings of the backends: what they say of themselves, and what they refuse."""

import re

import pytest

from ranker.backends import SETTINGS, Attributing, IGSettings, LIMESettings, SHAPSettings
from ranker.errors import UsageError


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (IGSettings, {"steps": 0}, "`steps` must be between 1 and `max_steps`, 320 (got 0)"),
        (IGSettings, {"steps": 40, "max_steps": 20}, "`steps` must be between 1 and `max_steps`, 20 (got 40)"),
        (IGSettings, {"tolerance": 0.0}, "`tolerance` must be above 0 (got 0.0)"),
        (IGSettings, {"share": 0.0}, "`share` must be above 0 and at most 1 (got 0.0)"),
        (IGSettings, {"share": 1.5}, "`share` must be above 0 and at most 1 (got 1.5)"),
        (SHAPSettings, {"max_evaluations": 1}, "`max_evaluations` must be at least 2 (got 1)"),
        (LIMESettings, {"samples": 1}, "`samples` must be at least 2 (got 1)"),
        (LIMESettings, {"kernel_width": 0.0}, "`kernel_width` must be above 0 (got 0.0)"),
        (LIMESettings, {"ridge": 0.0}, "`ridge` must be above 0 (got 0.0)"),
    ],
)
def test_a_number_out_of_range(kind, given, message):
    """It is refused where it is said, long before a model is loaded."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        kind(**given)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_backend_says_what_it_attributes(name):
    """Whatever gives scores to tokens has a class, and hides words in a way that a field names."""
    settings = SETTINGS[name]()
    if name == "none":
        settings.check(2)
        return
    assert isinstance(settings, Attributing)
    assert isinstance(getattr(settings, settings.hides), str)
    for target in (-1, 3):
        with pytest.raises(UsageError, match="one of 3 classes"):
            SETTINGS[name](target=target).check(3)
    SETTINGS[name](target=2).check(3)
