"""The settings of the backends: what they say of themselves, and what they refuse."""

import re

import pytest

from ranker.attribution import SETTINGS, settings_of
from ranker.attribution.settings import Attributing, IGSettings, LIMESettings, SHAPSettings
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
        (
            LIMESettings,
            {"ridge": 1e-320},
            "`ridge` must be at least 1e-06, or the regression has no one answer (got 1e-320)",
        ),
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
        assert settings.settled(("no", "yes")) == settings
        return
    assert isinstance(settings, Attributing)
    assert isinstance(getattr(settings, settings.hides), str)
    for target in (-1, 3, "middling"):
        with pytest.raises(UsageError, match=re.escape(f"one of bad (0), fair (1), good (2) (got {target!r})")):
            SETTINGS[name](target=target).settled(("bad", "fair", "good"))
    with pytest.raises(TypeError, match="settle the settings first"):
        _ = settings.label


@pytest.mark.parametrize(
    ("target", "labels", "shortcut", "expected"),
    [
        (None, ("no", "yes"), 0, 1),  # of two, what speaks for the one speaks against the other
        (None, ("bad", "fair", "good"), 0, 0),
        (None, ("bad", "fair", "good"), None, 2),
        (1, ("bad", "fair", "good"), 0, 1),
        ("FAIR", ("bad", "fair", "good"), 0, 1),
        ("not_good", ("not-good", "good"), 0, 0),
    ],
)
def test_the_label_that_is_attributed(target, labels, shortcut, expected):
    """By number or name; else the last of two labels, and of more the one that the shortcut speaks for."""
    assert SHAPSettings(target=target).settled(labels, shortcut).label == expected


def test_a_label_is_given_in_a_line_by_its_name_or_number():
    """As in `--attribution shap:target=positive`."""
    assert settings_of("shap:target=positive").target == "positive"
    assert settings_of("shap:target=2").target == 2
    with pytest.raises(UsageError, match="`target` must be a whole number"):
        settings_of("shap:target=0.5")
