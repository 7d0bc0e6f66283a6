"""What changed between two runs: the record, and how it is shown."""

import csv
import dataclasses
import io
import json

import numpy as np
import pytest
from goldens import PageReader, check_golden
from refusals import refuses
from test_evaluation import suite
from test_report_formats import HOSTILE, decided, evaluated, method, toy, toy_decision, with_found, with_header

from ranker.errors import UnknownName, UsageError
from ranker.report import GENERAL, latex, render, write
from ranker.report import changes as report
from ranker.report.markdown import escape
from ranker.results.header import Data, Provenance, Quality
from ranker.results.ranking import Ranking
from ranker.runs.changes import difference, what_changed


def later():
    """The toy's evaluation, run again: a model failed, one came, K is another, and one method is far better."""
    was = toy()
    large, base, _ = was.found.models
    run = with_header(
        was,
        probe=20,
        failures={"lstm": "no weights"},
        provenance=dataclasses.replace(
            was.header.provenance,
            versions={"rank-models": "0.1.0"},
            settings={**was.header.provenance.settings, "steps": 4},
        ),
        quality={"new": Quality(None, None, 0, 0)},
    )
    run = with_found(
        run,
        models=(
            dataclasses.replace(base, rank=1, outcome=0.92),
            dataclasses.replace(large, rank=2),
            dataclasses.replace(large, name="new", rank=3, outcome=0.4),
        ),
        methods=(
            method("ACC", "baseline", 0.95), method("CONF-GT", "baseline", 0.8, 0.05), method("NLL", "baseline", 0.7),
        ),
        pairs=(),
    )  # fmt: skip
    names = tuple(name.replace("lstm", "new") for name in was.table.models)
    return dataclasses.replace(run, table=dataclasses.replace(was.table, models=names), examples=())


def later_decision():
    """The toy's decision with more rows, by which the first two change places."""
    was = toy_decision()
    numbers = zip((1, 0, 2), (0.9, 0.8, 0.4), (0.95, 0.04, 0.01), strict=True)
    return with_found(
        with_header(was, ood="more", probe=40),
        models=tuple(
            dataclasses.replace(was.found.models[m], rank=rank, outcome=share, p_near_best=p)
            for rank, (m, share, p) in enumerate(numbers, 1)
        ),
    )


PAIRS = {"evaluation": (toy, later), "decision": (toy_decision, later_decision)}


def written(result_shown, name):
    """The comparison in a format."""
    return write(report.document(result_shown), name)


def by_name(changes):
    """The changes, by what they are changes of."""
    return {change.name: change for change in changes}


def test_models_that_come_go_fail_and_change_rank():
    """Each has its status, rank and accuracy in both runs, and the reason of a failure."""
    models = by_name(what_changed(toy(), later()).models)
    assert list(models) == ["bert_base", "bert_large", "new", "lstm", "gone"]
    changes = {name: (m.before, m.after, m.rank_before, m.rank_after) for name, m in models.items()}
    assert changes == {
        "bert_base": ("ranked", "ranked", 2, 1),
        "bert_large": ("ranked", "ranked", 1, 2),
        "new": ("absent", "ranked", None, 3),
        "lstm": ("ranked", "failed", 3, None),
        "gone": ("failed", "absent", None, None),
    }
    assert (models["bert_base"].outcome_before, models["bert_base"].outcome_after) == (0.75, 0.92)
    assert (models["lstm"].outcome_after, models["lstm"].reason) == (None, "no weights")
    assert [report.fate(model) for model in models.values()] == ["", "", "new", "FAILED: no weights", "gone"]


def test_methods_with_their_difference_and_its_interval():
    """A change is beyond its interval, within it, or none where a method was measured in one run only."""
    better = with_found(toy(), methods=later().found.methods)
    assert [by_name(what_changed(toy(), better).methods)[name].beyond for name in ("ACC", "CONF-GT", "NLL")] == [
        True, False, None,
    ]  # fmt: skip
    methods = by_name(what_changed(toy(), later()).methods)
    assert list(methods) == ["ACC", "CONF-GT", "NLL", "INDEX-DIFF", "RANDOM", "SURROGATE+LABEL", "MAJORITY"]
    assert methods["ACC"].difference == pytest.approx(0.2)
    assert (methods["ACC"].beyond, methods["CONF-GT"].beyond) == (None, None)
    assert (methods["NLL"].before, methods["NLL"].after, methods["NLL"].difference) == (None, 0.7, None)
    assert (methods["INDEX-DIFF"].before, methods["INDEX-DIFF"].after) == (0.875, None)


def test_other_models_are_other_pairs():
    """More of them, or the same with other accuracies: a method's change may be theirs, and that is said."""
    was = toy()
    models = was.found.models
    note = "The models, or their true outcomes, differ: pairwise accuracies are means over different pairs."
    other_run = with_found(was, models=(dataclasses.replace(models[0], outcome=0.99), *models[1:]))
    for now in (with_found(was, models=models[:2]), other_run):
        assert note in what_changed(was, now).notes
        assert {method.beyond for method in what_changed(was, now).methods} == {None}
    assert note not in what_changed(was, with_found(was, models=models[::-1])).notes


def test_the_interval_of_a_difference_covers_it():
    """Of two independent means, 95 % intervals of each give one of the difference that covers it 95 times of 100."""
    rng = np.random.default_rng(0)
    truths, errors = (0.7, 0.75), (0.02, 0.04)
    estimates = rng.normal(truths, errors, (4000, 2))
    covered = 0
    for row in estimates:
        before, after = (
            dataclasses.replace(
                method("X", "factor", float(x)), ci_low=float(x - 1.96 * e), ci_high=float(x + 1.96 * e)
            )
            for x, e in zip(row, errors, strict=True)
        )
        change, low, high = difference(before, after)
        assert change == pytest.approx(row[1] - row[0])
        covered += low < truths[1] - truths[0] < high
    assert covered / len(estimates) == pytest.approx(0.95, abs=0.015)


def test_ends_of_a_lopsided_difference():
    """By hand: after 0.6 in [0.5, 0.9], before 0.5 in [0.2, 0.6] gives 0.1 in [0.1 - sqrt(0.02), 0.1 + sqrt(0.18)]."""
    before = dataclasses.replace(method("X", "factor", 0.5), ci_low=0.2, ci_high=0.6)
    after = dataclasses.replace(method("X", "factor", 0.6), ci_low=0.5, ci_high=0.9)
    assert difference(before, after) == pytest.approx((0.1, 0.1 - 0.02**0.5, 0.1 + 0.18**0.5))


def on_rows(table, **options):
    """The evaluation of a table whose rows have a fingerprint."""
    evaluation = evaluated(table, curve=(), designed="INDEX-DIFF", **options)
    return with_header(evaluation, provenance=Provenance(data=Data("a file", 40, "f")))


def test_runs_on_the_same_rows_are_paired():
    """A run has not changed from itself, by nothing to nothing; one with other scores has, by the paired variance."""
    table = suite()
    was = on_rows(table)
    for change in what_changed(was, was).methods:
        assert (change.difference, change.low, change.high, change.beyond, change.paired) == (0, 0, 0, False, True)
    acc, _, factor = np.arange(3)
    values = np.array(table.values)
    values[:, factor] = -values[:, acc]  # ACC under another name: lower is better
    now = on_rows(dataclasses.replace(table, values=values))
    paired_change = by_name(what_changed(was, now).methods)["INDEX-DIFF"]
    wanted = was.method("INDEX-DIFF")
    assert (-paired_change.difference, -paired_change.high, -paired_change.low) == pytest.approx(
        (wanted.difference, wanted.difference_low, wanted.difference_high)
    )
    assert what_changed(was, now).notes == (
        "The interval of a change is paired: over other samples of rows, the same for both runs.",
    )


def test_what_is_not_known_to_be_paired_takes_the_runs_as_independent():
    """Other rows, drawn probes, and methods that see a pool, which is not kept."""
    was = on_rows(suite())
    other_run = with_header(was, provenance=Provenance(data=Data("a file", 40, "g")))
    for before, after in ((was, other_run), (on_rows(suite(), draws=50),) * 2):
        assert {change.paired for change in what_changed(before, after).methods} == {False}
    with_pool_method = with_found(was, methods=(*was.found.methods, method("SURROGATE", "pool", 0.7)))
    changes = what_changed(with_pool_method, with_pool_method)
    assert [change.name for change in changes.methods if not change.paired] == ["SURROGATE"]
    assert changes.notes[1].startswith("The interval of a change of SURROGATE assumes independent runs;")


def test_settings_and_versions_that_differ():
    """Nested ones are named by the way to them; what was found is no setting."""
    settings = by_name(what_changed(toy(), later()).settings)
    assert {name: (s.before, s.after) for name, s in settings.items()} == {
        "probe": (10, 20),
        "versions.rank-models": ("0.0.0", "0.1.0"),
        "settings.steps": (None, 4),
    }


def test_a_decision_with_more_rows():
    """P(near best) is told before and after; rows of another name are said to be others."""
    changes = what_changed(toy_decision(), later_decision())
    models = by_name(changes.models)
    assert (models["bert_base"].p_near_best_before, models["bert_base"].p_near_best_after) == (0.33, 0.95)
    assert (models["bert_base"].rank_before, models["bert_base"].rank_after) == (2, 1)
    assert changes.methods == ()
    assert changes.notes == ("The rows differ, so changes may come from them.",)


@pytest.mark.parametrize(
    ("before", "after", "sides"),
    [
        (toy, toy_decision, ("evaluation", "decision")),
        (toy, lambda: with_header(toy(), ood="paws"), ("hans-sub", "paws")),
    ],
)
def test_what_cannot_be_compared_is_refused(before, after, sides):
    """Other modes, and evaluations on other sets, have no numbers in common."""
    with refuses(UsageError, value=sides):
        what_changed(before(), after())


def test_two_decisions_on_the_same_rows_are_compared():
    """As before and after a pool: nobody knows a truth that examples could weigh in."""
    table = suite(examples=10)
    same_rows = {"provenance": Provenance(data=Data("a file", 10, "same"))}
    before, after = (with_header(decided(table, method=method), **same_rows) for method in ("ACC", "NLL"))
    assert {change.name for change in what_changed(before, after).models} == set(table.models)
    assert what_changed(before, after).methods == ()


@pytest.mark.parametrize("make", [toy, toy_decision])
def test_a_run_has_not_changed_from_itself(make):
    """Nothing differs, and the report says so."""
    changes = what_changed(make(), make())
    assert changes.settings == ()
    assert not changes.changed
    for name in ("table", "markdown"):
        assert "Nothing changed." in written(changes, name)
    assert what_changed(*[make() for make in PAIRS["decision"]]).changed


@pytest.mark.parametrize("mode", PAIRS)
@pytest.mark.parametrize("name", [name for name in GENERAL if name != "parquet"])
def test_golden_comparison(name, mode):
    """The comparison of the toys is the one that was read and kept."""
    check_golden(f"changes-of-{mode}s", name, written(what_changed(*[make() for make in PAIRS[mode]]), name))


def test_csv_and_json_hold_raw_fractions():
    """The same numbers in both, as the record has them."""
    news = what_changed(toy(), later())
    full_report = json.loads(written(news, "json"))
    assert full_report == json.loads(json.dumps(news.to_dict()))
    rows = {(row["part"], row["name"], row["what"]): row for row in csv.DictReader(io.StringIO(written(news, "csv")))}
    for change in news.methods:
        row = rows["method", change.name, "pairwise_accuracy"]
        wanted = (change.before, change.after, change.difference, change.low, change.high)
        numbers = (row["before"], row["after"], row["difference"], row["low"], row["high"])
        assert numbers == tuple("" if number is None else repr(number) for number in wanted)
    assert rows["model", "lstm", "status"]["after"] == "failed"
    assert rows["setting", "probe", "value"]["after"] == "20"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_in_a_comparison(name):
    """In every format a name is text."""
    changes = what_changed(toy((name, "b", "c")), later())
    text = {kind: written(changes, kind) for kind in GENERAL}
    assert f"| {escape(name)} |" in text["markdown"]
    assert ("'" if name.startswith(("=", "+", "-", "@", "\t")) else "") + name in [
        row["name"] for row in csv.DictReader(io.StringIO(text["csv"]))
    ]
    assert name in [model["name"] for model in json.loads(text["json"])["models"]]
    assert "\x1b" not in text["table"]
    assert f"\n{latex.escape(name)} & " in text["latex"]
    plain, hostile = PageReader(written(what_changed(toy(("a", "b", "c")), later()), "html")), PageReader(text["html"])
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    assert name in hostile.text


def test_the_page_of_a_comparison_sorts_as_that_of_a_run_does():
    """The same script, under a policy that allows no other; tables and remarks stand in it as in any page."""
    page, run = (PageReader(text) for text in (written(what_changed(toy(), later()), "html"), render(toy(), "html")))
    policies = [[a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a] for page in (page, run)]
    assert policies[0] == policies[1]
    assert [tag for tag, _ in page.tags].count("script") == 1


def test_an_unknown_format_of_comparisons():
    """The near one is offered."""
    with refuses(UnknownName, value="jsn"):
        written(what_changed(toy(), toy()), "jsn")


def test_no_model_is_needed(tmp_path):
    """Runs that were kept are compared as those that were just made."""
    reports = []
    for number, ranking in enumerate((toy(), later())):
        ranking.save(tmp_path / f"{number}.json")
        reports.append(Ranking.load(tmp_path / f"{number}.json"))
    assert what_changed(*reports) == what_changed(toy(), later())


def with_provenance(**options):
    """The toy, made from something else, too."""
    return with_header(toy(), provenance=dataclasses.replace(toy().header.provenance, **options))


def test_another_checkpoint_of_the_same_name_is_named():
    """Its content is a setting, cut as a fingerprint is; that of a model which is new or gone is none."""
    models = toy().header.provenance.models
    changes = what_changed(toy(), with_provenance(models={**models, "lstm": "d" * 64}))
    assert [(setting.name, setting.before, setting.after) for setting in changes.settings] == [
        ("models.lstm", "c" * 64, "d" * 64)
    ]
    assert "c" * 12 in written(changes, "table")
    assert "c" * 13 not in written(changes, "table")
    assert what_changed(toy(), with_provenance(models={**models, "new": "d" * 64})).settings == ()
    assert what_changed(with_provenance(models={}), toy()).settings == ()


def test_the_command_is_no_setting():
    """Two runs that differ in the names of their files alone did not change."""
    changes = what_changed(toy(), with_provenance(command="rank-models --ood hans-sub --save other.json"))
    assert changes.settings == ()
    assert "Nothing changed." in written(changes, "table")
