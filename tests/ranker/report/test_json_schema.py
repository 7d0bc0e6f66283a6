"""docs/json-schema.md and the schema files: every output keeps to them, and they say the same."""

import copy
import dataclasses
import json
import re
from pathlib import Path

import jsonschema
import pytest
from published_tables import answered
from schema_tables import tables, with_tables
from test_changes import PAIRS
from test_evaluation import suite
from test_report_formats import decided, evaluated, toy, toy_decision, toy_parts

from ranker import report
from ranker.domains.compare import compare
from ranker.domains.report import over_sets as many
from ranker.domains.report import shift as shifted
from ranker.domains.results import over_sets, shift
from ranker.domains.runs.shift import shift as measure
from ranker.domains.statistics import leaders
from ranker.errors import DataError
from ranker.report import changes as compared
from ranker.report import over_tasks as several
from ranker.report import votes as voted
from ranker.results import agreement, changes, choice, costs, decision, evaluation, header, over_tasks, ranking, votes
from ranker.results import parts as model_parts
from ranker.runs.changes import what_changed
from ranker.runs.votes import rank_votes
from ranker.scoring.over_tasks import parts, task_outcomes
from ranker.statistics import components, paired
from ranker.statistics.correlation import DistanceMeasure

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "json-schema.md"
NAMES = ("ranking", "changes", "over_tasks", "over_sets", "shift", "selection", "votes")
FILES = {file.name: file for file in (ROOT / "ranker").rglob("*.schema.json")}
SCHEMAS = {
    f"{name}.schema.json": json.loads(FILES[f"{name}.schema.json"].read_text(encoding="utf-8")) for name in NAMES
}
RUN, CHANGES, TASKS, SETS, SHIFT, SELECTION, VOTES = SCHEMAS.values()

RECORDS = [
    (RUN, "header", header.Header), (RUN, "evaluation", evaluation.Evaluation),
    (RUN, "model", evaluation.EvaluatedModel), (RUN, "method", evaluation.MethodResult),
    (RUN, "pair", evaluation.PairResult), (RUN, "decision", decision.Decision), (RUN, "choice", choice.Choice),
    (RUN, "costs", costs.Costs), (RUN, "model_cost", costs.ModelCost), (RUN, "usage", costs.ModelUsage),
    (RUN, "preference", costs.Preference), (RUN, "decided_model", decision.DecidedModel),
    (RUN, "versus", paired.PairedComparison), (RUN, "row", decision.RowResult), (RUN, "label", decision.LabelResult),
    (RUN, "parts", model_parts.ModelParts), (RUN, "model_part", model_parts.ModelPart),
    (RUN, "level", model_parts.PartLevel), (RUN, "components", components.VarianceComponents),
    (RUN, "component", components.Component), (RUN, "agreement", agreement.Agreement), (RUN, "quality", header.Quality),
    (CHANGES, "model", changes.ModelChange), (CHANGES, "method", changes.MethodChange),
    (CHANGES, "setting", changes.SettingChange), (TASKS, "choice", choice.Choice), (TASKS, "part", over_tasks.Part),
    (TASKS, "mean", over_tasks.Mean), (TASKS, "gap", over_tasks.Gap), (SHIFT, "domain", shift.DomainSummary),
    (SHIFT, "pair", shift.Pair), (SHIFT, "measure", DistanceMeasure), (SHIFT, "score", shift.Score),
    (SHIFT, "correlation", shift.Correlation), (SELECTION, "choice", shift.SetChoice),
    (VOTES, "model", votes.VotedModel), (VOTES, "choice", choice.Choice),
    (VOTES, "pair", votes.PairRate), (VOTES, "judge", votes.VotingJudge), (VOTES, "effect", votes.Effect),
    (SETS, "choice", choice.Choice), (SETS, "leader", over_sets.Leader), (SETS, "difference", over_sets.Difference),
    (SETS, "friedman", leaders.Friedman), (SETS, "trend", over_sets.Trend), (SETS, "point", over_sets.Point),
    (SETS, "on_average", over_sets.OnAverage), (SETS, "correlation", shift.Correlation),
]  # fmt: skip


def check(page, schema):
    """Hold a JSON text to a schema."""
    jsonschema.Draft202012Validator(schema).validate(json.loads(page))


@pytest.fixture(scope="module")
def runs():
    """Runs of both modes, by hand and from numbers, with families and parts and without."""
    return (
        toy(),
        dataclasses.replace(toy(), agreement=(agreement.Agreement("shap", "lime", 0.5, {"CONST": None}),)),
        toy_decision(),
        toy_parts(),
        evaluated(suite(), families=["a", "a", "b", "b", "b"], designed="INDEX-DIFF"),
        evaluated(suite(models=2), draws=50),
        decided(suite(examples=6)),
    )


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_page_has_a_place_for_each_schema(name):
    """The site's page has its tables there, and the page here a link to its file."""
    page = PAGE.read_text(encoding="utf-8")
    assert f"(../{FILES[name].relative_to(ROOT)})" in page
    assert tables(SCHEMAS[name]) in with_tables(page)


def test_tables_say_what_a_schema_says():
    """The object's own keys first, then each part by name, a row a key with its type in words."""
    share = {"type": "number", "minimum": 0, "maximum": 1, "description": "a | b"}
    part = {"description": "A part", "properties": {"share": share}, "required": ["share"]}
    pair = {"type": "object", "description": "two", "properties": {"a": {"type": "string", "description": "one"}}}
    lists = {"type": "array", "items": {"$ref": "#/$defs/part"}, "description": "all parts"}
    maybe = {"anyOf": [{"$ref": "#/$defs/part"}, {"type": "null"}], "description": "one or none"}
    keys = {"parts": lists, "pair": pair, "maybe": maybe}
    assert tables({"properties": keys, "required": ["parts", "pair"], "$defs": {"part": part}}).splitlines() == [
        "| key | type | what it is |",
        "|---|---|---|",
        "| `parts` | list of part | all parts |",
        "| `pair` | object | two |",
        "| `pair.a` | string | one |",
        "| `maybe` | part or null (may be left out) | one or none |",
        "",
        "### part",
        "",
        "A part.",
        "",
        "| key | type | what it is |",
        "|---|---|---|",
        r"| `share` | fraction | a \| b |",
    ]


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_the_schemas_are_schemas(schema):
    """Of the draft that they name, with a description of every key."""
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)
    for part in (schema, *schema["$defs"].values()):
        assert all(value["description"] for value in part["properties"].values())


@pytest.mark.parametrize(("schema", "name", "record"), RECORDS, ids=[record.__name__ for *_, record in RECORDS])
def test_the_schema_has_the_fields_of_the_record(schema, name, record):
    """A field that is new, or gone, is so in both."""
    part = schema["$defs"][name]
    names = [field.name for field in dataclasses.fields(record)]
    assert list(part["properties"]) == names
    assert part["required"] == names


def test_the_schema_has_the_keys_of_a_run(runs):
    """Keys are those of `to_dict`, each required, with the part of its mode, parts, agreement and the score table."""
    modes = [part["required"] for part in RUN["oneOf"]]
    assert modes == [["evaluation"], ["decision"]]
    for run in runs:
        further = [name for name in ("parts", "agreement") if getattr(run, name)]
        other_parts = {"evaluation", "decision", "parts", "agreement"} - {run.mode, *further}
        assert [key for key in RUN["properties"] if key not in other_parts] == [*run.to_dict(), "table", "examples"]
        assert list(run.to_dict()) == [*RUN["required"], run.mode, *further]
    changes = what_changed(toy(), toy()).to_dict()
    assert list(CHANGES["properties"]) == list(changes) == CHANGES["required"]


def two_tasks():
    """One decision, taken for those on two tasks."""
    ranking = toy_decision()
    groups = [""] * len(ranking.table.examples)
    names, part = parts({task: task_outcomes(ranking, groups) for task in ("one", "two")}, {"both": ["one", "two"]})
    return over_tasks.OverTasks(names, part, {"one": ranking, "two": ranking}, {"a": ("three",)}, {"four": "no"})


def test_several_tasks_keep_to_the_schema():
    """A run on folders of logs writes JSON in which the decision on each task is a run."""
    text = report.write(several.document(two_tasks()), "json")
    check(text, TASKS)
    content = json.loads(text)
    assert list(TASKS["properties"]) == list(content) == TASKS["required"]
    for task in content["tasks"].values():
        check(json.dumps(task), RUN)


@pytest.mark.more
def test_shifts_keep_to_the_schema():
    """JSON of `shift` keeps to the schema, also of sets of which nothing can be told."""
    rows = [{"text": "a b"}, {"text": "c"}]
    for shifts in (measure("hans-sub", "hans-con", "paws"), measure(rows, rows)):
        text = report.write(shifted.document(shifts), "json")
        check(text, SHIFT)
        assert list(SHIFT["properties"]) == list(json.loads(text)) == SHIFT["required"]


@pytest.mark.parametrize("swapped", [False, True])
def test_votes_keep_to_the_schema(swapped):
    """JSON of `--votes` keeps to the schema: with a judge, two people and sides that vary, and without."""
    rows = [
        {"id": n, "model_a": a, "model_b": b, "winner": winner, "rater": rater}
        for n in range(6)
        for rater, winner in (("ann", "model_a"), ("bob", "tie"), ("gpt", "model_b"))
        for a, b in (("x", "y"), ("y", "z"), *([("y", "x")] if swapped else []))
    ]
    votes = rank_votes(rows, judges=["gpt"] if swapped else ())
    text = report.write(voted.document(votes), "json")
    check(text, VOTES)
    assert list(VOTES["properties"]) == list(json.loads(text)) == VOTES["required"]
    assert (votes.side is None, bool(votes.judges)) == (not swapped, swapped)


def test_sets_from_a_table_keep_to_the_schema():
    """JSON of `shift --select` keeps to the schema, for a table of numbers."""
    content = answered("shift", "--select", "boss-sentiment.csv")
    check(json.dumps(content), SELECTION)
    assert list(SELECTION["properties"]) == list(content) == SELECTION["required"]


def test_levels_and_measures_keep_to_the_schema():
    """JSON of `compare` keeps to the schema, for a table of sets with levels and measures."""
    content = answered("compare", "domainsum.csv", "--measures", "domainsum-measures.csv")
    check(json.dumps(content), SETS)
    assert content["levels"].keys() == content["models"][0]["levels"].keys() == content["models"][0]["drops"].keys()


@pytest.mark.parametrize("few", [False, True])
def test_models_over_sets_keep_to_the_schema(few):
    """JSON of `compare` keeps to the schema, for a table with trends, and one that says next to nothing."""
    rows = [
        {"model": f"m{m}", "set": f"s{s}", "kind": kind, "value": 0.5 + 0.01 * m * (s + 2) + 0.013 * ((m + s) % 3)}
        for m in range(2 if few else 8)
        for s, kind in enumerate(["in-domain", "ood", "ood", "ood"][: 2 if few else 4])
    ]
    text = report.write(many.document(compare(rows)), "json")
    check(text, SETS)
    content = json.loads(text)
    assert list(SETS["properties"]) == list(content) == SETS["required"]
    assert bool(content["trends"][0]["points"]) != few


def test_versions_are_those_of_the_program():
    """A schema is of the version that the program writes."""
    assert RUN["properties"]["schema_version"]["const"] == ranking.SCHEMA_VERSION
    assert CHANGES["properties"]["schema_version"]["const"] == changes.SCHEMA_VERSION
    assert TASKS["properties"]["schema_version"]["const"] == over_tasks.SCHEMA_VERSION
    assert SHIFT["properties"]["schema_version"]["const"] == shift.SHIFT_VERSION
    assert SELECTION["properties"]["schema_version"]["const"] == shift.SELECTION_VERSION
    assert SETS["properties"]["schema_version"]["const"] == over_sets.SCHEMA_VERSION
    assert VOTES["properties"]["schema_version"]["const"] == votes.SCHEMA_VERSION


def test_outputs_keep_to_the_schema(runs, tmp_path):
    """JSON of `--format json` and `--save` keeps to the schema, in both modes."""
    for run in runs:
        check(report.render(run, "json"), RUN)
        run.save(tmp_path / "run.json")
        check((tmp_path / "run.json").read_text(encoding="utf-8"), RUN)


@pytest.mark.parametrize("mode", PAIRS)
def test_comparisons_keep_to_the_schema(mode):
    """JSON of `compare` keeps to the schema, for two runs in both modes."""
    check(report.write(compared.document(what_changed(*[make() for make in PAIRS[mode]])), "json"), CHANGES)


@pytest.mark.parametrize(
    ("make", "path", "value"),
    [
        (toy, ("schema_version",), 1),
        (toy, ("decision",), {}),
        (toy, ("header", "probe"), "10"),
        (toy, ("header", "metric"), None),
        (toy, ("header", "provenance", "versions"), ["1.0"]),
        (toy, ("header", "quality", "lstm", "truncated"), "many"),
        (toy, ("evaluation",), None),
        (toy, ("evaluation", "methods", 0, "pairwise_accuracy"), 75.0),
        (toy, ("evaluation", "methods", 0, "ci_low"), None),
        (toy, ("evaluation", "methods", 0, "difference_low"), None),
        (toy, ("evaluation", "methods", 0, "kind"), "model"),
        (toy, ("evaluation", "methods", 0, "rule"), None),
        (toy, ("evaluation", "methods", 0, "curve", "2"), 1.5),
        (toy, ("evaluation", "models", 0, "rank"), "1"),
        (toy, ("evaluation", "models", 0, "outcome"), 90.0),
        (toy, ("evaluation", "models", 0, "outcome"), None),
        (toy, ("evaluation", "pairs", 0, "accuracy"), -0.1),
        (toy_decision, ("evaluation",), json.loads(report.render(toy(), "json"))["evaluation"]),
        (toy_decision, ("decision",), None),
        (toy_decision, ("decision", "models", 0), "bert_large"),
        (toy_decision, ("decision", "models", 0, "p_best"), 1.1),
        (toy_decision, ("decision", "forecast", "low"), 0.5),
        (toy_decision, ("decision", "p_beats", 0, 1), None),
        (toy_decision, ("decision", "versus"), [{"a": "bert_large", "b": "lstm"}]),
    ],
)
def test_what_is_wrong_does_not_pass(make, path, value):
    """A number out of its range or of another type, or a mode with the other's parts, is no valid run."""
    full_report = json.loads(report.render(make(), "json"))
    wrong = copy.deepcopy(full_report)
    *way, last = path
    place = wrong
    for step in way:
        place = place[step]
    place[last] = value
    check(json.dumps(full_report), RUN)
    with pytest.raises(jsonschema.ValidationError):
        check(json.dumps(wrong), RUN)


def test_every_key_is_needed():
    """A run without one of its keys is none, nor is one without a key of its header or of what was found."""
    for make in (toy, toy_decision):
        full_report = json.loads(report.render(make(), "json"))
        for key, part in full_report.items():
            with pytest.raises(jsonschema.ValidationError):
                check(json.dumps({k: v for k, v in full_report.items() if k != key}), RUN)
            for inner in part if isinstance(part, dict) else ():
                reduced = {k: v for k, v in part.items() if k != inner}
                with pytest.raises(jsonschema.ValidationError):
                    check(json.dumps(full_report | {key: reduced}), RUN)


def test_the_example_of_the_page(tmp_path, monkeypatch, capsys):
    """The program on the page prints the numbers of a kept run, in both modes."""
    (program,) = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    for made_run, opening in ((toy(), "{'ACC': 0.75,"), (toy_decision(), "{'bert_large': 0.7,")):
        made_run.save("run.json")
        exec(compile(program, PAGE, "exec"), {})
        assert capsys.readouterr().out.startswith(opening)


def test_a_run_of_another_version_is_refused(tmp_path):
    """In one line, which says what to do."""
    (tmp_path / "run.json").write_text('{"schema_version": 1, "mode": "evaluation"}')
    with pytest.raises(DataError, match=r"run.json must be a ranking of schema 2 \(got 1\); rank again"):
        ranking.Ranking.load(tmp_path / "run.json")
