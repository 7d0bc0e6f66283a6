"""Parts of models, as they are saved with a run."""

import dataclasses
import json

import pytest
from test_report_formats import toy_parts

from ranker import Ranking
from ranker.errors import DataError

PARTS = toy_parts().parts


@pytest.mark.parametrize(
    "changes",
    [
        {"components": None},
        {"reason": "unknown"},
        {"parts": PARTS.parts[:1]},
        {"parts": (*PARTS.parts, PARTS.parts[0])},
    ],
)
def test_components_are_of_two_parts_or_have_a_reason(changes):
    """Neither is there without cause, and not both."""
    with pytest.raises(ValueError, match="`components` are those of two parts, or there is a `reason`"):
        dataclasses.replace(PARTS, **changes)


def test_parts_of_unknown_models_are_refused(tmp_path):
    """A saved run whose parts name a model that it does not have is no whole ranking."""
    file = tmp_path / "run.json"
    toy_parts().save(file)
    content = json.loads(file.read_text())
    content["parts"]["parts"][1]["levels"][0]["models"] = ["gone"]
    file.write_text(json.dumps(content))
    with pytest.raises(DataError, match="the prompts are parts of models that are not in `models`: 'gone'"):
        Ranking.load(file)
