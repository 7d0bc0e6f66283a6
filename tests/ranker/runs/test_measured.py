"""Scores that read attributions are kept: under all that can change them, and never longer than that holds."""

from dataclasses import fields, replace
from shutil import copytree

import pytest

from factors import BUILTIN, Example, factor
from factors.types import Attributions, Span
from ranker import rank
from ranker.datasets import sets
from ranker.runs import measured
from ranker.runs.measured import rows_digest
from ranker.runs.rows import NamedDataset
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store
from ranker.runtime.upkeep import contents, verify
from ranker.scoring.score import Evidence
from ranker.sources import suites

FACTORS = tuple(BUILTIN[name] for name in ("CONF", "INDEX-DIFF", "SUM-DIFF"))
SET = NamedDataset("hans-sub", limit=24)
MODELS = suites.Suite("two", suites.load(["hans-sub-mini"]).models[::4])

EXAMPLES = {
    "id": "b", "segments": ("The doctor saw the actor.", "An old judge danced"), "target": 0,
    "marks": {"subject": (Span(0, 0, 3),)}, "group": "passage 1",
}  # fmt: skip
"""What an example is: field -> another value; a factor can read all of them."""


@factor("MINE", higher_is_better=True, explains="predicted", source="mine")
def mine(attributions: Attributions, example: Example) -> float:
    """The score of the first token."""
    return float(attributions.scores[0])


@factor("TIRED", higher_is_better=True, explains="predicted", source="mine")
def tired(attributions: Attributions, example: Example) -> float:
    """A factor that fails on some rows."""
    if len(example.words) % 2:
        raise RuntimeError(f"{len(example.words)} words")
    return float("nan") if len(example.words) % 3 else 1.0


@pytest.fixture
def calls(monkeypatch):
    """The factors that are computed, a list for each model that any is computed of."""
    computed = []
    compute = measured.score_model

    def counted(answers, attributions, examples, factors, *flags):
        computed.append([column.name for column in factors])
        return compute(answers, attributions, examples, factors, *flags)

    monkeypatch.setattr(measured, "score_model", counted)
    return computed


@pytest.fixture(scope="module")
def attributed(tmp_path_factory):
    """A store that knows all attributions, and no scores."""
    folder = tmp_path_factory.mktemp("store")
    rank(MODELS, SET, evidence=Evidence("occlusion", factors=(), methods=()), runtime=Runtime(store=folder))
    return folder


def ranked(store, own_factors=(), **options):
    """A ranking by occlusion, as saved."""
    own_terms = {k: options.pop(k) for k in ("target", "norm") if k in options}
    evidence = Evidence("occlusion", (*FACTORS, *own_factors), methods=(), **own_terms)
    ranking = rank(MODELS, options.pop("examples", SET), evidence=evidence, runtime=Runtime(store=store), **options)
    return ranking.to_dict()


@pytest.fixture
def store(attributed, tmp_path):
    """A copy of it, of one's own."""
    return copytree(attributed, tmp_path / "store")


@pytest.mark.more
def test_what_is_known_is_not_computed_again(store, calls):
    """No factor of ours runs the second time, whatever seed and probe are; the answer is the same to the last bit."""
    first = ranked(store)
    assert calls == [["CONF", "INDEX-DIFF", "SUM-DIFF"]] * 2
    calls.clear()
    assert ranked(store) == first
    ranked(store, seed=3)
    ranked(store, probe=5)
    assert calls == []
    assert ranked(None) == first


@pytest.mark.more
def test_reasons_are_kept_with_the_numbers(store, calls, monkeypatch):
    """A factor that failed on some rows is said to have failed on these, from the store as well."""
    monkeypatch.setattr(measured.functions, "identity", lambda score: score.__qualname__)
    first, second = (ranked(store, [tired.factor]) for _ in range(2))
    assert calls == [["CONF", "INDEX-DIFF", "SUM-DIFF", "TIRED"]] * 2
    assert first == second
    dropped = next(method["dropped"] for method in first["evaluation"]["methods"] if method["name"] == "TIRED")
    assert len(dropped) > 1


@pytest.mark.more
def test_a_new_factor_computes_only_itself(store, calls):
    """So does one of somebody else in each run; the scores of ours are taken as they are."""
    ranked(store)
    calls.clear()
    ranked(store, [mine.factor])
    ranked(store, [mine.factor])
    assert calls == [["MINE"]] * 4


@pytest.mark.parametrize(
    "change",
    [
        {"target": "true"},
        pytest.param({"norm": "l1"}, marks=pytest.mark.slow),
        pytest.param({"examples": NamedDataset("hans-sub", limit=23)}, marks=pytest.mark.slow),
        pytest.param({"examples": NamedDataset("hans-sub", limit=24, population=20)}, marks=pytest.mark.slow),
    ],
    ids=lambda change: "-".join(map(str, change)),
)
def test_what_changes_a_score_finds_no_other(store, attributed, tmp_path, calls, change):
    """The target rule, the norm, and the rows."""
    ranked(store)
    calls.clear()
    ranking, computed = ranked(store, **change), calls.copy()
    all_factors = ["CONF", "INDEX-DIFF", "SUM-DIFF"]
    assert computed == [all_factors[1:] if "target" in change else all_factors] * 2
    assert ranking == ranked(copytree(attributed, tmp_path / "without"), **change)


@pytest.mark.more
@pytest.mark.parametrize("field", ["shortcut", "evidence"])
def test_the_labels_that_factors_are_about_change_what_is_found(store, calls, field):
    """Which label the shortcut speaks for is in no model's key, and in this one."""
    ranked(store)
    dataset = SET.load()
    calls.clear()
    ranked(store, examples=replace(dataset, task=replace(dataset.task, **{field: 0})))
    assert len(calls) == 2


def test_every_field_of_an_example_stands_in_the_table():
    """Nobody adds one without saying that a factor can read it."""
    assert {field.name for field in fields(Example) if field.compare} == EXAMPLES.keys()


@pytest.mark.parametrize("field", EXAMPLES)
def test_rows_are_known_by_all_that_is_in_them(field):
    """And by their order."""
    example = Example("a", ("The doctor saw the actor.", "An old judge danced."), 1)
    assert rows_digest([replace(example, **{field: EXAMPLES[field]})]) != rows_digest([example])
    other_example = sets.load("hans-sub").examples[0]
    assert rows_digest([example, other_example]) != rows_digest([other_example, example])


def scores(store):
    """Where what factors gave is kept, model by model; what methods gave to draws lies beside it."""
    return [entry for entry in contents(Store(store).root) if "scores" in entry.key and "method" not in entry.key["of"]]


def test_damaged_scores_are_set_aside_and_computed_anew(store, calls, caplog):
    """A flipped bit is noticed, and costs what was kept in that file."""
    first = ranked(store)
    damaged = scores(store)
    assert len(damaged) == 2
    assert all("  scores" in str(e) and e.rows == 6 for e in damaged)  # three factors, and quality in three parts
    shard = next(damaged[0].folder.glob("*.parquet"))
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.write_bytes(content)
    calls.clear()
    assert ranked(store) == first
    assert calls == [["CONF", "INDEX-DIFF", "SUM-DIFF"]]
    assert "set aside" in caplog.text
    assert verify(Store(store).root)[1] == []


def test_scores_of_one_model_are_not_those_of_another(store):
    """A shard that lies in another model's folder is none of its own."""
    first = ranked(store)
    first_folder, second_folder = (entry.folder for entry in scores(store))
    for shard in first_folder.glob("*.parquet"):
        (second_folder / shard.name).write_bytes(shard.read_bytes())
    assert ranked(store) == first
    assert len(list(second_folder.glob("*.damaged"))) == 1
