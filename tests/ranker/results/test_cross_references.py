"""A saved run in which one part names what another does not have is refused, and never ends in a traceback."""

import copy
import dataclasses
import json

import pytest

from factors import BUILTIN
from ranker import Ranking, decide, rank, report
from ranker.datasets import sets
from ranker.errors import DataError

FACTORS = [BUILTIN[name] for name in ("ACC", "CONF", "CONF-H", "INDEX-DIFF", "SUM-DIFF")]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A saved run of each mode, with examples as models see them."""
    folder = tmp_path_factory.mktemp("saved")
    rows = dataclasses.replace(sets.load("hans-sub", limit=16), population=12)
    first = dataclasses.replace(rows, examples=rows.examples[:6])
    rank("hans-sub-mini", rows, probe=2, attribution="occlusion", factors=FACTORS).save(folder / "evaluation.json")
    decide("hans-sub-mini", first, attribution="occlusion", factors=FACTORS).save(folder / "decision.json")
    return {mode: json.loads((folder / f"{mode}.json").read_text()) for mode in ("evaluation", "decision")}


def places(value, path=()):
    """Where strings stand in a saved run, keys among them: of a list the first item and the last."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield (*path, [key])
            yield from places(inside, (*path, key))
    elif isinstance(value, list):
        for at in sorted({0, len(value) - 1} if value else ()):
            yield from places(value[at], (*path, at))
    elif isinstance(value, str):
        yield path


def changed(whole, path):
    """The run with one string changed: a value, or a key."""
    *outer, last = path
    result = copy.deepcopy(whole)
    inside = result
    for step in outer:
        inside = inside[step]
    if isinstance(last, list):
        inside["changed"] = inside.pop(last[0])
    else:
        inside[last] = "changed"
    return result


@pytest.mark.parametrize("mode", ["evaluation", pytest.param("decision", marks=pytest.mark.slow)])
def test_one_string_changed_anywhere_is_one_line_or_a_report(saved, mode, tmp_path):
    """Every format is made of what is read; a name that is changed in one place is missed in another."""
    file, refused, kinds = tmp_path / "run.json", 0, set()
    for path in places(saved[mode]):
        kind = tuple("*" if isinstance(step, int) else str(step) for step in path)
        if kind in kinds:  # one of each kind of place is enough
            continue
        kinds.add(kind)
        file.write_text(json.dumps(changed(saved[mode], path)))
        said, ranking = read(file)
        refused += ranking is None
        assert "\n" not in said, path
        for name in report.FORMATS if ranking else ():
            assert report.render(ranking, name), path
    assert len(kinds) > 59
    assert refused > 30


def read(file):
    """The run in a file; else why there is none."""
    try:
        return "", Ranking.load(file)
    except DataError as error:
        return str(error), None


NAMES = {
    "evaluation": [
        (("table", "models", 0), "`models` are some that are not in the table"),
        (("table", "methods", 1, "name"), "has scores by methods that are not in the table: 'CONF'"),
        (("models", 0, "name"), "`models` are some that are not in the table"),
        (("methods", 0, "name"), "`pairs` name methods that are not in `methods`"),
        (("pairs", 0, "a"), "`pairs` name models that are not in `models`: 'changed'"),
        (("pairs", 0, "method"), "`pairs` name methods that are not in `methods`: 'changed'"),
        (("examples", 0, "models", 0, "name"), "is read by models that are not in `models`: 'changed'"),
        (("examples", 0, "factors", 0, "name"), "reads in .* must be those of the factors of the example"),
    ],
    "decision": [
        (("decision", "models", 0), "decision.models must be those of the models"),
        (("rows", 0, "predicted", ["untouched"]), "what is predicted of .* must be those of the models"),
        (("quality", ["untouched"]), "`quality` is of models that are not in `models`: 'changed'"),
    ],
}


@pytest.mark.parametrize(("mode", "path", "said"), [(mode, *one) for mode, all_ in NAMES.items() for one in all_])
def test_a_name_that_leads_nowhere_is_named(saved, mode, path, said, tmp_path):
    """The line says which part has it, and which lacks it."""
    file = tmp_path / "run.json"
    file.write_text(json.dumps(changed(saved[mode], path)))
    with pytest.raises(DataError, match=f"is no whole ranking: .*{said}"):
        Ranking.load(file)
