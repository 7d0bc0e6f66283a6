import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import refuses
from test_inoculate import run

from experiments import published, recipe, render, tables
from experiments.published import Exhibit, PublishedRow, Tier
from experiments.tables import Cell, Run
from factors import BUILTIN
from ranker.datasets import sets
from ranker.datasets.embedded import SUITE
from ranker.errors import UnknownName, UsageError
from ranker.results.header import Data, Header, Provenance
from ranker.results.ranking import Ranking
from ranker.results.table import ScoreTable
from ranker.scoring.evaluation import evaluate
from ranker.sources.hf.kind import Checkpoint
from ranker.sources.suites import Model, Suite

KNOWN = published.load()
NAMES = ("ACC", "CONF", "INDEX-DIFF")
FAMILIES = ("bert", "bert", "electra", "electra")


def ranking(name="hans-sub", attribution="shap", seed=0):
    """Four models of two families, scored at random on 30 rows."""
    values = np.random.default_rng(seed).random((4, len(NAMES), 30))
    table = ScoreTable(
        models=("a", "b", "c", "d"), methods=tuple(BUILTIN[name] for name in NAMES),
        examples=tuple(map(str, range(30))), values=values, truth=np.array([0.9, 0.8, 0.7, 0.6]),
    )  # fmt: skip
    provenance = Provenance(population=30, data=Data("a file", 40, "f"))
    header = Header(name, "toy", probe=10, seed=0, attribution=attribution, provenance=provenance)
    return Ranking(header, evaluate(table, families=FAMILIES, designed="INDEX-DIFF"), table)


def exhibit(kind, *rows, **options):
    """An exhibit of two sets."""
    return Exhibit("Toy", "1", kind, ("hans-sub", "hans-con"), tuple(rows), **options)


FOUND = {("hans-sub", "shap"): ranking(), ("hans-con", "shap"): ranking("hans-con", seed=1)}


def test_published_numbers_are_the_papers():
    """One number of each table, read from the paper by eye, stands where it should."""
    cells = {
        (number, row.label, column): value
        for number, table in KNOWN.tables.items()
        for row in table.rows
        for column, value in row.published.items()
    }
    assert cells["1", "designed, lime", "msgs-adject"] == 93.5
    assert cells["2", "SWAP-AVG", "paws"] == 91.4
    assert cells["3", "GUESS", "pooled"] == 72.0
    assert cells["4", "MAX-DIFF", "E-D"] == 0.2
    assert cells["5", "2L1S", "msgs-morph"] == 68.0
    assert cells["6", "electra", "hans-con"] == 72.5
    assert cells["7", "FIRST-TOK", "hans-con"] == 81.3
    assert cells["8", "INDEX-DIFF", "hans-sub"] == 85.8
    assert cells["9", "rows", "paws"] == 677
    assert len(cells) == 18 + 27 + 7 + 35 + 18 + 22 + 24 + 24 + 15


def test_every_exhibit_and_tier_names_what_there_is():
    """Tables 1 to 9 and figures 4 to 6; sets, methods, backends and recipes exist, and recipes fit the sets."""
    assert list(KNOWN.tables) == list("123456789")
    assert list(KNOWN.figures) == list("456")
    for shown_exhibit in (*KNOWN.tables.values(), *KNOWN.figures.values()):
        assert set(shown_exhibit.sets) <= set(sets.names())
        assert set(shown_exhibit.attributions) <= {"ig", "shap", "lime", "none"}
        if shown_exhibit.kind not in ("accuracies", "sizes"):
            methods = {*BUILTIN, "RANDOM", "GUESS", "SET-DEPENDENT", "designed"}
            assert {row.name for row in shown_exhibit.rows} <= methods
    for tier in KNOWN.tiers.values():
        for name, suite in tier.suites.items():
            assert name in recipe.load(suite).ood
        for name, suite in tier.across.items():
            assert recipe.load(suite).task == sets.cards()[name].task.name


def test_a_cell_is_a_methods_pairwise_accuracy_in_percent():
    """With its interval, and beside the published number; "designed" is each set's own factor."""
    rows = (PublishedRow("ACC", published={"hans-sub": 50.0}), PublishedRow("designed"), PublishedRow("CONST"))
    cells = tables.cells(exhibit("methods", *rows), FOUND)
    acc = FOUND["hans-sub", "shap"].method("ACC")
    assert (cells[0].row, cells[0].column) == ("ACC", "hans-sub")
    assert cells[0].here == pytest.approx(100 * acc.pairwise_accuracy)
    assert (cells[0].low, cells[0].high) == pytest.approx((100 * acc.ci_low, 100 * acc.ci_high))
    assert cells[0].difference == pytest.approx(cells[0].here - 50)
    assert cells[1].difference is None
    assert cells[3].here == pytest.approx(100 * FOUND["hans-con", "shap"].method("INDEX-DIFF").pairwise_accuracy)
    assert len(cells) == 4  # CONST was neither measured nor published


def test_a_row_may_read_another_attribution():
    """Then its cell comes from that ranking; without it, only the published number is there."""
    table = exhibit("methods", PublishedRow("designed", "ig"), PublishedRow("designed", "lime", {"hans-sub": 80.0}))
    rankings = {**FOUND, ("hans-sub", "ig"): ranking(attribution="ig", seed=2)}
    assert table.attributions == ("shap", "ig", "lime")
    ours, theirs = tables.cells(table, rankings)
    assert ours.here == pytest.approx(100 * rankings["hans-sub", "ig"].method("INDEX-DIFF").pairwise_accuracy)
    assert (ours.row, theirs.row, theirs.here, theirs.published) == ("designed, ig", "designed, lime", None, 80.0)


def test_sizes_are_those_of_the_sets(capsys):
    """Table 9: rows of a set, rows that are explained, and those of a probe; no model is run."""
    status, out, _ = run(
        capsys, "table", "9", "--ood", "paws", "--ood", "hans-sub", "--population", "90", "--probe", "5"
    )
    assert status == 0
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in out.splitlines() if line[:1] == "|"]
    assert lines[0] == ["number of", "paws", "published", "hans-sub", "published"]
    assert lines[2:] == [
        ["rows", f"{len(sets.load('paws').examples)}", "677", f"{len(sets.load('hans-sub').examples)}", "10,000"],
        ["explained", "90", "400", "90", "600"],
        ["probe", "5", "10", "5", "10"],
    ]
    assert "section B. All numbers are rows." in out
    rows = list(csv.DictReader(io.StringIO(run(capsys, "table", "9", "--ood", "paws", "--format", "csv")[1])))
    assert [(row["row"], row["published"]) for row in rows] == [
        ("rows", "677.0"),
        ("explained", "400.0"),
        ("probe", "10.0"),
    ]


def test_published_pairs_are_models_of_the_paper_tier():
    """Each pair of Table 4 names two members of the recipe for PAWS, the better one of Table 6 first."""
    accuracy = {row.name: row.published.get("paws") for row in KNOWN.tables["6"].rows}
    members = recipe.load(KNOWN.tiers["paper"].across["paws"]).names
    apart = {}
    for pair, models in KNOWN.tables["4"].pairs.items():
        better, worse = models.split(" > ")
        assert {better, worse} <= {*members}
        apart[pair] = accuracy[better] - accuracy[worse]
    assert sorted(apart, key=apart.get)[:2] == ["R1-E", "D-R2"]
    assert min(apart.values()) > 0


def test_what_reads_no_attribution_is_there_with_any():
    """ACC is the same beside IG as beside SHAP; a factor is not, and stays empty."""
    rankings = {("hans-sub", "ig"): ranking(attribution="ig")}
    cells = tables.cells(
        exhibit(
            "methods", PublishedRow("ACC"), PublishedRow("RANDOM"), PublishedRow("INDEX-DIFF"),
            PublishedRow("designed", "ig"),
        ),
        rankings,
    )  # fmt: skip
    assert [cell.row for cell in cells] == ["ACC", "RANDOM", "designed, ig"]
    assert cells[0].here == pytest.approx(100 * rankings["hans-sub", "ig"].method("ACC").pairwise_accuracy)


@pytest.mark.parametrize("name", ["mini", "minilm", "paper"])
def test_tables_3_and_4_pool_paws_and_hans(name):
    """Each tier has models of several architectures for all three sets, as the paper has."""
    tier = KNOWN.tiers[name]
    for number in ("3", "4"):
        assert list(tier.across) == list(KNOWN.tables[number].sets) == ["paws", "hans-sub", "hans-con"]


def test_pooled_cells_are_those_of_across_families():
    """Over the pairs of different families of all sets, the designed factors together as SET-DEPENDENT."""
    rows = (PublishedRow("ACC", published={"pooled": 61.0}), PublishedRow("SET-DEPENDENT"))
    cells = tables.cells(exhibit("pooled", *rows, models="across"), FOUND)
    truth = tables.across_families(list(FOUND.values()))
    assert [cell.here for cell in cells] == pytest.approx([100 * truth["ACC"], 100 * truth["SET-DEPENDENT"]])
    assert cells[0].published == 61.0


def test_pairs_across_families_are_pooled_over_sets():
    """The mean is over pairs, not over sets; the designed factor of each set stands under one name."""
    first = FOUND["hans-sub", "shap"]
    evaluation = first.evaluation
    second = replace(
        first,
        found=replace(
            evaluation,
            methods=tuple(replace(m, designed=m.name == "CONF") for m in evaluation.methods),
            pairs=evaluation.pairs[: len(evaluation.methods) * 4],
        ),
    )
    pooled = tables.across_families([first, second])
    rows = [pair for ranking in (first, second) for pair in ranking.evaluation.pairs if not pair.same_family]
    assert pooled["ACC"] == pytest.approx(np.mean([pair.accuracy for pair in rows if pair.method == "ACC"]))
    assert pooled["GUESS"] == 0.5
    designed = [p.accuracy for p in first.evaluation.pairs if not p.same_family and p.method == "INDEX-DIFF"]
    designed += [p.accuracy for p in second.evaluation.pairs if not p.same_family and p.method == "CONF"]
    assert pooled["SET-DEPENDENT"] == pytest.approx(np.mean(designed))


def test_pairs_across_are_of_two_families():
    """Four models of two families have four such pairs; within and across they are six."""
    table = exhibit("pairs", PublishedRow("ACC", published={"R-E": 3.0}), pairs={"R-E": "r > e"}, models="across")
    cells = tables.cells(table, FOUND)
    assert [cell.row for cell in cells[:4]] == [f"hans-sub: {pair}" for pair in ("a > c", "a > d", "b > c", "b > d")]
    assert len([cell for cell in cells if cell.row.startswith("hans-con: ")]) == 4
    assert [(cell.row, cell.published) for cell in cells if cell.published is not None] == [
        ("published: R-E (r > e)", 3.0),
        ("decided, published", 100.0),
    ]
    within = tables.cells(replace(table, models="inoculated", draw="scatter"), FOUND)
    assert len([cell for cell in within if cell.row.startswith("hans-sub: ")]) == 6
    assert not [cell for cell in within if cell.row.startswith("decided")]


def test_a_table_of_pairs_has_our_numbers_and_the_published_ones():
    """Each pair's accuracy in percent under its method, to the digit; those of the paper in rows of their own."""
    page = exhibit("pairs", PublishedRow("ACC", published={"A-B": 61.5}), pairs={"A-B": "a > b"})
    text = render.markdown("Table 0", page, FOUND, tables.cells(page, FOUND))
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    cell_of = {line[0].replace("\\", ""): line[1] for line in lines}
    ours = {
        f"{name}: {pair.a} > {pair.b}": f"{100 * pair.accuracy:.1f}"
        for (name, _), found_ranking in FOUND.items()
        for pair in found_ranking.evaluation.pairs
        if pair.method == "ACC" and pair.same_family is False
    }
    assert len(ours) == 8
    assert cell_of == {**cell_of, **ours}
    assert cell_of["published: A-B (a > b)"] == "61.5"


def test_models_stand_beside_published_ones_of_their_name():
    """Published models first, then those that are ours alone."""
    cells = tables.cells(
        exhibit("accuracies", PublishedRow("b", published={"hans-sub": 70.0}), PublishedRow("old")), FOUND
    )
    first = cells[0]
    assert (first.row, first.here, first.published, first.difference) == ("b", 80.0, 70.0, pytest.approx(10.0))
    assert [cell.row for cell in cells] == ["b", "b", "a", "a", "c", "c", "d", "d"]


def test_a_published_number_for_no_column_is_refused():
    """A misspelt set in the file of published numbers is an error, not a number that is never shown."""
    with refuses(UnknownName, value="hans-sup"):
        exhibit("methods", PublishedRow("ACC", published={"hans-sup": 1.0}))


def test_inoculated_models_are_those_of_the_most_frequent_family():
    """A suite of several architectures serves both kinds of exhibits."""
    families = ("x", "y", "x", "z")
    suite = Suite(
        "toy", tuple(Model(Checkpoint(name, name, family)) for name, family in zip("abcd", families, strict=True))
    )
    assert [model.name for model in tables.select(suite, "inoculated").models] == ["a", "c"]
    assert tables.select(suite, "all") == tables.select(suite, "across") == suite
    with refuses(UsageError, option="suite", place="toy"):
        tables.select(tables.select(suite, "inoculated"), "across")


def test_a_missing_suite_names_the_command_that_makes_it(tmp_path):
    """Also whether it needs data."""
    with pytest.raises(UsageError) as caught:
        tables.find("paws", "paws-minilm", Run(folder=tmp_path))
    assert str(caught.value) == (
        f"the suite paws-minilm is not in {tmp_path}; make it: "
        f"`python -m experiments inoculate paws-minilm --data-dir DIR -o {tmp_path}/paws-minilm`"
    )


def test_suites_of_ones_own_are_taken_instead():
    """`--suite SET=PATH`, repeated, puts several models or suites together."""
    own_suites = {"hans-sub": ["hans-sub-mini", "hans-con-mini"]}
    names = {model.name for model in tables.find("hans-sub", "", Run(own=own_suites)).models}
    assert {"hans-sub-mini/untouched", "hans-con-mini/untouched"} <= names
    assert tables.find("hans-sub", "", Run(own={"hans-sub": ["paws-mini"]})).name == "paws-mini"


@pytest.mark.more
def test_what_is_ranked_follows_from_the_exhibit(monkeypatch, tmp_path):
    """Every set of the tier with every attribution of the rows, on the population, probe, draws and seed of the run."""
    calls = []
    monkeypatch.setattr(tables, "rank", lambda suite, rows, **options: calls.append((suite.name, rows, options)))
    run = Run(probe=5, draws=40, seed=3, population=20, target="predicted")
    table = KNOWN.tables["1"]
    assert set(tables.rankings(table, KNOWN.tiers["mini"], run)) == {
        (s, a) for s in table.sets for a in table.attributions
    }
    assert {call[0] for call in calls} == {f"{name}-mini" for name in table.sets}
    for _, rows, options in calls:
        assert (rows.population, options["probe"], options["draws"], options["seed"]) == (20, 5, 40, 3)
        assert options["evidence"].target == "predicted"


def test_official_rows_need_a_folder(tmp_path):
    """A tier whose rows are not embedded asks for `--data-dir` before it loads a model."""
    own_suites = {"paws": ["paws-mini"]}
    with refuses(UsageError, option="data_dir"):
        tables.rankings(KNOWN.tables["2"], Tier({}), Run(own=own_suites))


def test_a_tier_without_a_suite_for_any_set_is_told_so():
    """Then there is nothing to rank."""
    with refuses(UsageError, option="suite", value=["hans-sub", "hans-con"]):
        tables.rankings(exhibit("methods", PublishedRow("ACC")), Tier({}), Run())


@pytest.mark.parametrize(
    ("option", "value", "options"),
    [
        ("suite", ["hans-con"], {"sets": ("hans-sub", "hans-con")}),
        ("data_dir", Path("none"), {"data_dir": Path("none")}),
    ],
)
def test_what_is_asked_for_and_is_not_there_is_refused(tmp_path, option, value, options):
    """A set without a suite, though another has one, and a folder of official rows beside an embedded suite."""
    tier = Tier({"hans-sub": "hans-sub-mini"}, {}, embedded=True)
    with refuses(UsageError, option=option, value=value):
        tables.rankings(exhibit("methods"), tier, Run(folder=tmp_path, **options))


def test_markdown_puts_published_numbers_beside_ours():
    """A column is as many as it has kinds of numbers, and says whose they are; what it was made of stands below."""
    cells = [
        Cell("ACC", "hans-sub", 88.31, 87.4, 89.2, 90.6),
        Cell("ACC", "hans-con", 50.0),
        Cell("CONST", "hans-con", published=87.1),
        Cell("CONST", "paws", published=70.0),
    ]
    text = render.markdown("Table 0", exhibit("methods", PublishedRow("ACC")), FOUND, cells)
    assert text.splitlines()[2:6] == [
        "| method | hans-sub | published | difference | hans-con | published | paws, published |",
        "| :--- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| ACC | 88.3 (87.4 to 89.2) | 90.6 | -2.3 | 50.0 |  |  |",
        "| CONST |  |  |  |  | 87.1 | 70.0 |",
    ]
    assert "- toy on hans-con: 4 models, 30 rows, shap" in text
    assert "K = 10, all draws (exact)" in text


def test_a_table_says_under_it_why_published_numbers_are_not_met():
    """The first remark, where there is a difference to explain; none where nothing was published."""
    row = PublishedRow("ACC", published={"hans-sub": 50.0})
    for rows, remark in (((row,), True), ((PublishedRow("ACC"),), False)):
        page = exhibit("methods", *rows)
        text = render.markdown("Table 0", page, FOUND, tables.cells(page, FOUND))
        assert ("\n\n- Each of our numbers is followed by the published one" in text) is remark


def test_csv_has_a_line_a_cell():
    """Numbers are percent; what is not there is empty."""
    text = render.comma_separated(
        [Cell("=ACC", "paws", 88.312345, published=90.0), Cell("CONF", "paws", published=9.2)]
    )
    first, second = csv.DictReader(io.StringIO(text))
    assert first["row"] == "'=ACC"
    assert (first["here"], first["published"], first["difference"]) == ("88.3123", "90.0", "-1.6877")
    assert (second["here"], second["low"], second["published"], second["difference"]) == ("", "", "9.2", "")


@pytest.mark.few(1)
@pytest.mark.parametrize(("form", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
@pytest.mark.parametrize("number", ["4", "5"])
def test_figures_are_drawn_the_same_each_time(form, begins, number):
    """A scatter of pairs and a distribution, as bytes that do not change from run to run."""
    figures = pytest.importorskip("experiments.figures", reason="matplotlib is not installed")
    figure = replace(KNOWN.figures[number], sets=("hans-sub", "hans-con"))
    cells = tables.cells(figure, FOUND)
    picture = figures.draw(figure, cells, form)
    assert picture.startswith(begins)
    assert picture == figures.draw(figure, cells, form)


@pytest.fixture
def two_suites(tmp_path):
    """A suite.json of two embedded models for each of three sets, so that a whole command takes seconds."""
    options = []
    for name in KNOWN.tables["6"].sets:
        source = tables.suites.bundled_suites()[f"{name}-mini"]
        content = json.loads((source / SUITE).read_text(encoding="utf-8"))
        content["models"] = [{**m, "path": str(source / m["path"])} for m in content["models"][-2:]]
        (tmp_path / name).mkdir()
        (tmp_path / name / SUITE).write_text(json.dumps(content), encoding="utf-8")
        options += ["--suite", f"{name}={tmp_path / name}"]
    return options


@pytest.mark.more
def test_the_command_prints_a_table(capsys, two_suites, tmp_path):
    """The table goes to stdout; a second time everything comes out of the store."""
    store = tmp_path / "store"
    arguments = ["table", "2", "--ood", "paws", "--population", "12", "--workers", "1", "--store", store, *two_suites]
    status, out, _ = run(capsys, *arguments)
    assert status == 0
    assert out.startswith("## Table 2. ")
    assert "| ACC | " in out
    assert "paws-mini on paws: 2 models, 12 rows, shap" in out
    assert run(capsys, *arguments)[:2] == (0, out)
    picture = tmp_path / "figure.svg"
    status, out, err = run(capsys, "figure", "5", "--suite", "paws=x", "-o", picture)
    assert (status, out) == (2, "")
    assert "there is no set of this exhibit 'paws'" in err


def test_a_format_that_makes_it_slower_is_pointed_out(capsys, monkeypatch):
    """As `rank-models` does, before anything runs."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)
    status, _, err = run(capsys, "table", "2", "--tier", "minilm", "--dtype", "bfloat16")
    assert status == 2
    assert err.count("`--dtype bfloat16`: cpu has no units for it; float32 may be faster") == 1


@pytest.mark.slow
def test_the_target_rule_turns_factors_and_no_baseline(capsys, tmp_path, two_suites):
    """`--target predicted` moves a factor about another label, leaves ACC as it is, and is named below the table."""
    arguments = ["table", "2", "--ood", "paws", "--population", "12", "--workers", "1", "--store", tmp_path / "store"]
    declared = run(capsys, *arguments, *two_suites)[1]
    predicted = run(capsys, *arguments, *two_suites, "--target", "predicted")[1]
    lines = {name: [next(line for line in out.splitlines() if line.startswith(f"| {name} ")) for out in
                    (declared, predicted)] for name in ("ACC", "CONF", "SUM-DIFF")}  # fmt: skip
    assert lines["ACC"][0] == lines["ACC"][1]
    assert lines["CONF"][0] == lines["CONF"][1]
    assert lines["SUM-DIFF"][0] != lines["SUM-DIFF"][1]
    assert "12 rows, shap\n" in declared
    assert "12 rows, shap, target predicted\n" in predicted


@pytest.mark.slow
def test_a_part_of_a_table(capsys, tmp_path, two_suites):
    """The rest keeps its published numbers, and nothing is run for it."""
    arguments = ["table", "2", "--ood", "paws", "--population", "12", "--workers", "1", "--store", tmp_path / "store"]
    status, out, _ = run(capsys, *arguments, *two_suites, "--format", "csv")
    assert status == 0
    columns = {row["column"] for row in csv.DictReader(io.StringIO(out)) if row["here"]}
    assert columns == {"paws"}
    assert "ACC,hans-sub,,,,90.6," in out
    arguments = ["table", "1", "--ood", "msgs-verb", *arguments[4:]]
    status, out, _ = run(capsys, *arguments, "--attribution", "ig", "--format", "csv")
    rows = {row["row"] for row in csv.DictReader(io.StringIO(out)) if row["here"]}
    assert rows == {"ACC", "CONF", "CONF-GT", "NLL", "CONF-H", "RANDOM", "designed, ig"}
    status, out, _ = run(capsys, *arguments, "--attribution", "ig:baseline=zero,steps=4")
    assert (status, "12 rows, ig:baseline=zero,steps=4\n" in out) == (0, True)


@pytest.mark.slow
def test_a_table_says_what_its_numbers_were_computed_in(capsys, tmp_path, two_suites):
    """A run in bfloat16 says so; float32 goes without saying."""
    store = tmp_path / "store"
    arguments = ["table", "2", "--ood", "paws", "--population", "12", "--workers", "1", "--store", store, *two_suites]
    assert "12 rows, shap in bfloat16\n" in run(capsys, *arguments, "--dtype", "bfloat16")[1]
    assert "12 rows, shap\n" in run(capsys, *arguments)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table", "10"], "there is no table '10'"),
        (["figure", "5", "--tier", "minilmm"], "there is no tier 'minilmm'; did you mean minilm?"),
        (["table", "2", "--ood", "msgs-verb"], "there is no set of this exhibit 'msgs-verb'"),
        (["table", "2", "--target", "gold"], "'gold' is not one of 'declared', 'shortcut', 'evidence', 'true'"),
        (["table", "2", "--attribution", "lime"], "there is no attribution of this exhibit 'lime'; known: shap"),
        (["table", "2", "--attribution", "shap:samples=5"], "there is no key of `shap` 'samples'; known: target"),
        (["table", "2", "--suite", "paws"], "`--suite` must be SET=PATH (got 'paws')"),
        (["table", "2", "-o", "x.png"], "`--output`: Table 2 is no picture; write to a .md or a .csv file"),
        (
            ["figure", "5", "-o", "x.jpg"],
            "Figure 5 is written as .md or .csv, a figure as .png, .svg or .pdf (got .jpg)",
        ),
        (
            ["table", "2", "--format", "markdown", "-o", "x.csv"],
            "`--format markdown` is not what a file ending in .csv",
        ),
        (["figure", "5", "--format", "csv", "-o", "x.PNG"], "`--format csv` is not what a file ending in .png holds"),
        (["table", "2", "--draws", "many"], "`--draws` must be a number of at least 1, or `exact` (got many)"),
        (
            ["table", "2", "--tier", "minilm", "--suites", "nowhere"],
            "make it: `python -m experiments inoculate paws-minilm",
        ),
    ],
)
def test_a_wrong_argument_of_a_table_is_one_line(capsys, tmp_path, arguments, message):
    """The line says what was expected, on stderr, with status 2."""
    status, out, err = run(capsys, *arguments, "--store", tmp_path)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_what_is_there_is_not_written_over(capsys, tmp_path):
    """A table on disk took minutes to make; it is refused before any work."""
    (tmp_path / "table.md").write_text("kept")
    status, _, err = run(capsys, "table", "2", "-o", tmp_path / "table.md", "--store", tmp_path / "store")
    assert status == 2
    assert "table.md is there already; `--force` writes over it" in err
    assert (tmp_path / "table.md").read_text() == "kept"


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Rankings of two sets by SHAP, saved where the tier base has its own."""
    folder = tmp_path / KNOWN.tiers["base"].saved
    folder.mkdir(parents=True)
    for (name, attribution), of_set in FOUND.items():
        of_set.save(folder / f"{name}-{attribution}.json")
    monkeypatch.setattr(tables, "REPOSITORY", tmp_path)


def test_saved_rankings_are_shown_without_a_model(capsys, saved):
    """The cells are those of the rankings that were saved; a set without one keeps its published number."""

    def shown(number):
        status, out, err = run(capsys, "table", number, "--tier", "base", "--format", "csv")
        assert (status, err) == (0, "")
        return {(row["row"], row["column"]): row["here"] for row in csv.DictReader(io.StringIO(out))}

    accuracy = 100 * FOUND["hans-con", "shap"].method("ACC").pairwise_accuracy
    assert float(shown("2")["ACC", "hans-con"]) == pytest.approx(accuracy, abs=0.05)
    assert shown("2")["ACC", "paws"] == ""
    assert float(shown("6")["a", "hans-sub"]) == pytest.approx(90.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["2", "--probe", 5], "`--probe 5`: the rankings of this tier are saved with 10; `--data-dir` ranks anew"),
        (["2", "--population", 12], "`--population 12`: the rankings of this tier are saved with 30"),
        (["2", "--draws", 50], "`--draws 50`: the rankings of this tier are saved with exact"),
        (["2", "--target", "true"], "`--target true`: the rankings of this tier are saved with declared"),
        (["3"], "no ranking of models of several architectures is saved with this tier"),
        (["1"], "no ranking of msgs-morph, msgs-verb, msgs-adject is saved with this tier"),
    ],
)
def test_what_was_not_saved_is_refused(capsys, saved, arguments, message):
    """One line, with the option that cannot be had."""
    status, out, err = run(capsys, "table", *arguments, "--tier", "base")
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
