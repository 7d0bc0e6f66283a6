import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from test_changes import PAIRS
from test_report_formats import toy, toy_decision

from ranker.domains.compare import compare
from ranker.domains.report import over_sets
from ranker.report import GENERAL
from ranker.report import changes as changed
from ranker.report import write as written
from ranker.runs.changes import what_changed


@pytest.fixture
def run(tmp_path, monkeypatch, rank_models):
    """A folder with a table, and runs that were kept; gives status, stdout and stderr of a command."""
    monkeypatch.chdir(tmp_path)
    write("table.csv", table())
    toy().save("run.json")
    toy_decision().save("decision.json")
    for mode, (before, after) in PAIRS.items():
        before().save(f"{mode}.json")
        after().save(f"{mode}-later.json")

    return lambda *arguments: rank_models("compare", *arguments)


def table():
    """Eight models on three tasks of two sets, an in-domain set each; a ninth has in-domain values alone."""
    rng = np.random.default_rng(0)
    for m in range(9):
        for task in ("nli", "qa", "ner"):
            yield row(m, f"{task} id", task, "in-domain", 0.6 + 0.03 * m + rng.normal(0, 0.004))
            for s in (1, 2) if m < 8 else ():
                yield row(m, f"{task} {s}", task, "ood", 0.3 + 0.05 * m + 0.04 * s + rng.normal(0, 0.01))


def measures():
    """Return three measures of each task, of which two are hard."""
    for place, task in enumerate(("nli", "qa", "ner")):
        yield {"set": task, "level": "hard" if place else "easy", "a": place, "b": 3 - place, "c": 1 + place % 2}


def row(model, name, task, kind, value):
    """One line of the table."""
    return {"model": f"model-{model}", "set": name, "value": round(value, 4), "group": task, "kind": kind}


def write(name, rows):
    """A file of such lines."""
    rows = list(rows)
    with open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [name for name in GENERAL if name != "parquet"])  # which is bytes, for a file
def test_a_table_in_each_format(run, name):
    """The comparison is written in each format; of a page eight figures, too."""
    status, out, err = run("table.csv", "--format", name)
    assert (status, err) == (0, "")
    comparison = compare("table.csv")
    assert out == written(over_sets.document(comparison), name)
    assert out.count("<svg") == (2 + 6 if name == "html" else 0)


def test_the_answer_on_a_terminal(run):
    """The leader comes first, and no line is longer than 80 characters."""
    out = run("table.csv")[1]
    lead = "Cannot say yet: model-7 leads on 3 tasks, too few to speak for others"
    assert out.startswith(f"8 models over 3 tasks\n\n{lead}\n")
    assert max(map(len, out.splitlines())) <= 80
    for text in ("P(better)", "joint", "model-8", "Left out: model-8 (in-domain values alone)."):
        assert text in out


def test_json_and_csv_hold_fractions(run):
    """In CSV a row for each model, with its tasks."""
    content = json.loads(run("table.csv", "--format", "json")[1])
    rows = list(csv.DictReader(io.StringIO(run("table.csv", "--format", "csv")[1])))
    assert [model["model"] for model in rows] == [model["model"] for model in content["models"]]
    for row_of_csv, model_of_json in zip(rows, content["models"], strict=True):
        assert float(row_of_csv["value"]) == pytest.approx(model_of_json["value"])
        assert float(row_of_csv["task: qa"]) == pytest.approx(model_of_json["tasks"]["qa"])
        assert 0 < model_of_json["value"] < 1


@pytest.mark.more
def test_options_reach_the_library(run):
    """Each changes what is written as the argument of that name does."""
    write("measures.csv", measures())
    for option, argument in (
        (["--missing", "models"], {"missing": "models"}),
        (["--rope", "0.05"], {"rope": 0.05}),
        (["--axes", "probit"], {"axes": "probit"}),
        (["--seed", "3"], {"seed": 3}),
        (["--percent"], {"percent": True}),
        (["--lower-is-better"], {"lower_is_better": True}),
        (["--measures", "measures.csv", "--level", "hard"], {"measures": "measures.csv", "level": "hard"}),
    ):
        wanted = written(over_sets.document(compare("table.csv", **argument)), "json")
        assert run("table.csv", "--format", "json", *option)[1] == wanted, option


@pytest.mark.more
def test_figures_are_files(run, tmp_path):
    """As PNG, SVG and PDF: ranks, critical differences, a trend a set."""
    assert run("table.csv", "--plots", "figures", "-o", "answer.txt")[0] == 0
    names = {file.name for file in (tmp_path / "figures").iterdir()}
    stems = {
        "ranks",
        "critical-difference",
        *(f"trend-{task}-{task}-{s}" for task in ("nli", "qa", "ner") for s in (1, 2)),
    }
    assert names == {f"{stem}.{ending}" for stem in stems for ending in ("png", "svg", "pdf")}


@pytest.mark.more
def test_measures_of_sets_are_drawn_by_level(run, tmp_path):
    """A radar chart for each level of two sets; the terminal has values, drops and correlations by level."""
    write("measures.csv", measures())
    out = run("table.csv", "--measures", "measures.csv", "--plots", "figures")[1]
    assert {file.name for file in (tmp_path / "figures").glob("measures-*.svg")} == {"measures-hard.svg"}
    for head in ("model / value  easy  hard", "model / drop  easy  hard", "measure / value ", "measure / drop "):
        assert head in re.sub(r" {3,}", "  ", out)
    assert "Largest: a ner, b qa, c qa." in run("table.csv", "--measures", "measures.csv", "--format", "html")[1]


def test_low_values_come_first_if_asked(run):
    """The order is reversed, and says so."""
    out = run("table.csv", "--lower-is-better")[1]
    assert "model-0 has the lowest mean" in out
    assert "Lower values are better: differences and robustness below 0 favour a model" in " ".join(out.split())


def test_a_page_escapes_names(run, tmp_path):
    """A model, a set and a task that look like markup are text."""
    rows = [{**row, **{k: f"<b>{row[k]}&" for k in ("model", "set", "group")}} for row in table()]
    write("hostile.csv", rows)
    out = run("hostile.csv", "--format", "html")[1]
    assert "<b>" not in out
    assert "&lt;b&gt;model-7&amp;" in out


@pytest.mark.parametrize("name", [name for name in GENERAL if name != "parquet"])  # which is bytes, for a file
@pytest.mark.parametrize("mode", PAIRS)
def test_two_runs_on_one_set_are_what_changed(run, name, mode):
    """In each format, in both modes."""
    before, after = (make() for make in PAIRS[mode])
    wanted = written(changed.document(what_changed(before, after)), name)
    assert run(f"{mode}.json", f"{mode}-later.json", "--format", name) == (0, wanted, "")


@pytest.mark.parametrize(
    "flags", [("--lower-is-better",), ("--percent",), ("--rope", "0.02"), ("--level", "x"), ("--axes", "probit")]
)
def test_two_runs_on_one_set_take_no_option_of_several(run, flags):
    """Each was ignored."""
    status, out, err = run("decision.json", "decision-later.json", *flags)
    assert (status, out) == (2, "")
    assert err.startswith(f"rank-models: `{flags[0]}` is for models over sets")


def test_runs_on_several_sets_are_a_table(run):
    """A run on another set, and a third: values, in-domain values and rows are those of the runs."""
    runs = [toy(), named(toy(), "second"), named(toy(), "third")]
    for index, model in enumerate(runs):
        model.save(f"{index}.json")
    content = json.loads(run("0.json", "1.json", "2.json", "--format", "json")[1])
    assert list(content["tasks"]) == [runs[0].header.ood, "second", "third"]
    outcomes = {model.name: model.outcome for model in toy().found.models}
    for model in content["models"]:
        assert model["value"] == pytest.approx(outcomes[model["model"]])
    assert " over 2 tasks\n" in run("0.json", "1.json")[1]


def named(ranking, ood):
    """The same run on a set of another name."""
    return replace(ranking, header=replace(ranking.header, ood=ood))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("none.csv", "none.csv cannot be read: No such file or directory"),
        ("none.json run.json", "none.json cannot be read: No such file or directory"),
        ("run.json", "one run has nothing to be compared with (got run.json)"),
        ("table.csv run.json", "tables and runs that were kept cannot be mixed (got table.csv and run.json)"),
        ("run.json run.json run.json", "run 2 of "),
        ("table.csv table.csv", "table.csv, line 2: model-0 on nli: nli id a second time"),
        ("table.txt2", "table.txt2: a file of rows or a table ends in"),
        ("table.csv --missing rank", "there is no rule for missing cells 'rank'; did you mean ranks?"),
        ("table.csv --axes log", "there is no kind of axes 'log'; known: plain, probit"),
        ("table.csv --rope 2", "Invalid value for '--rope'"),
        ("table.csv --format pairs", "there is no format of comparisons 'pairs'; known: "),
        ("table.csv -o run.json", "`--output`: run.json is there already; `--force` writes over it"),
        ("run.json run.json --plots figures", "`--plots`: there is nothing to draw"),
        ("mixed.csv", "mixed.csv, line 3: some values are above 1 (55), others below (0.5): percentages beside "
         "fractions? Where all are percentages, say so with `--percent`"),
        ("one.csv", "at least two models are needed (got 1)"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_gets_one_line(run, tmp_path, arguments, message):
    """Status 2, and nothing is written."""
    write("mixed.csv", [{"model": m, "set": "x", "value": v} for m, v in (("a", 0.5), ("b", 55))])
    write("one.csv", [{"model": "a", "set": s, "value": 0.5} for s in "xy"])
    status, out, err = run(*arguments.split())
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1 or "Usage" in err
    assert not (tmp_path / "figures").exists()


def test_on_a_narrow_terminal_sentences_are_wrapped(run, monkeypatch):
    """As those of a run are; a pipe gets what it always gets."""
    _, piped, _ = run("table.csv")
    monkeypatch.setenv("COLUMNS", "50")
    assert run("table.csv")[1] == piped
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    narrow = run("table.csv")[1]
    assert narrow.split() == piped.split()
    assert max(len(line) for line in narrow.splitlines() if not re.search(r"  \S", line)) <= 50
    assert max(len(line) for line in piped.splitlines() if not re.search(r"  \S", line)) > 50
