"""The settings of the backends: what they say of themselves, and what they refuse."""

import pytest
from refusals import refuses

from ranker.attribution import SETTINGS, settings_of
from ranker.attribution.settings import Attributing, SHAPSettings
from ranker.errors import UsageError


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
        with refuses(UsageError, option="target", value=target, allowed=("bad", "fair", "good")):
            SETTINGS[name](target=target).settled(("bad", "fair", "good"))


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
    with refuses(UsageError, option="attribution", value="shap:target=0.5"):
        settings_of("shap:target=0.5")
