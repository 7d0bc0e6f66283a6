"""The words of messages, each whole and once, as other tests look at an error's type and fields alone."""

import of_inputs
import of_language_models
import of_runs
import pytest

from ranker.errors import RankModelsError

MESSAGES = [*of_inputs.MESSAGES, *of_language_models.MESSAGES, *of_runs.MESSAGES]


@pytest.mark.few(3)
@pytest.mark.parametrize(("provoke", "message"), [row[1:] for row in MESSAGES], ids=[row[0] for row in MESSAGES])
def test_a_message_is_printed_whole(tmp_path, monkeypatch, provoke, message):
    """The words are these, and the place of the error stands among them."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises((RankModelsError, ValueError, TypeError, NotImplementedError)) as stop:
        provoke(tmp_path)
    error = stop.value
    assert str(error).replace(f"{tmp_path}/", "").replace(str(tmp_path), "FOLDER") == message
    assert getattr(error, "place", "") in str(error)


def test_no_message_is_there_twice():
    """No other row has its words."""
    assert len({message for _, _, message in MESSAGES}) == len(MESSAGES)
