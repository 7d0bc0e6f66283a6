import csv
import dataclasses
import io
import itertools
import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from deciding import decide
from goldens import PageReader, check_golden, outline
from test_evaluation import suite
from test_evaluation import table as score_table

from factors import BUILTIN, Example, Span
from factors.registry import Factor
from factors.types import split_words
from ranker import report
from ranker.commands import outputs
from ranker.report import answer as words
from ranker.report import explain as explained
from ranker.report import figures, latex, markdown, remarks
from ranker.report import ranking as of_run
from ranker.report.decision import order
from ranker.report.ranking import document
from ranker.report.words import words_of
from ranker.results.decision import DecidedModel, Decision, RowResult
from ranker.results.evaluation import EvaluatedModel, Evaluation, MethodResult, PairResult
from ranker.results.explanation import Explanation, Reading, Word
from ranker.results.header import Header, Provenance, Quality
from ranker.results.parts import ModelPart, ModelParts, PartLevel
from ranker.results.ranking import Ranking
from ranker.results.table import ScoreTable
from ranker.scoring.evaluation import evaluate
from ranker.statistics.components import Component, VarianceComponents
from ranker.statistics.forecast import Forecast
from ranker.statistics.paired import PairedComparison
from ranker.statistics.pool import CHOSEN

MODELS = ("bert_large", "bert_base", "lstm")
ACCURACY = (0.9, 0.75, 0.5)
METHODS = ("ACC", "CONF-GT", "INDEX-DIFF")

HOSTILE = (
    "<script>alert(1)</script>",
    "</style><b>",
    "=HYPERLINK(1)",
    "a|b*c*_d_`e`",
    r"\input{x}%$&#_~^{}[*]--",
    "[red]two\nlines[/red]",
    "{{ 7 * 7 }}",
    "@SUM(1)",
    "+1|cmd",
    "-1+1",
    "\t=1",
)


def method(name, kind, accuracy, difference=None, **fields):
    """A method's result with intervals of five points to either side; without a difference it is the metric's own."""
    low, high = (0.0, 0.0) if difference is None else (difference - 0.05, difference + 0.05)
    over = (accuracy - 0.05, accuracy + 0.05, None, None)
    return MethodResult(name, kind, accuracy, *over, difference or 0.0, low, high, **fields)


def read(name, scores, text="The poet slept."):
    """Make the explanation of a sentence by hand; its second word is marked, and read."""
    words = [
        Word("[CLS]", 0, None, 0.1),
        *(
            Word(text[start:end], 0, (start, end), score, ("feature",) * (i == 1), i == 1)
            for i, ((start, end), score) in enumerate(zip(split_words(text), scores, strict=False))
        ),
    ]
    values = {"ACC": 1.0, "INDEX-DIFF": scores[1]}
    return Reading(name, "yes", {"no": 0.25, "yes": 0.75}, True, tuple(words), values, {})


def telling(models=MODELS, text="The poet slept."):
    """An example as the models of the toy read it."""
    return Explanation(
        example=Example("e0", (text,), "yes", {"feature": (Span(0, *split_words(text)[1]),)}),
        labels=("no", "yes"),
        toward="yes",
        attribution="ig",
        factors=(BUILTIN["ACC"], BUILTIN["INDEX-DIFF"]),
        readings=tuple(read(name, (0.5 - i, 1.0 - i, -0.25, 0.0), text) for i, name in enumerate(models)),
        designed="INDEX-DIFF",
    )


def toy(models=MODELS, note="A note of the toy.", text="The poet slept."):
    """An evaluation of three models by methods of every kind, written down by hand."""
    best = {"ACC": 0.75, "CONF-GT": 0.775, "INDEX-DIFF": 0.875, "RANDOM": 0.5, "SURROGATE+LABEL": 0.85, "MAJORITY": 0.9}
    return Ranking(
        header=Header(
            ood="hans-sub",
            suite="toy",
            probe=10,
            seed=0,
            attribution="ig",
            failures={"gone": "no weights"},
            left_out={"SUFF-H": "no marks"},
            quality={name: Quality(0.001, 0.02, over, 0) for name, over in zip(models, (2, 0, 0), strict=True)},
            notes=(note,),
            provenance=Provenance(
                command="rank-models --ood hans-sub --models 'the toy.json'",
                models={name: letter * 64 for name, letter in zip(models, "abc", strict=True)},
                attribution="ig",
                error="the completeness gap, as a fraction of the sum of absolute scores",
                settings={"tolerance": 0.01},
                versions={"rank-models": "0.0.0"},
            ),
        ),
        found=Evaluation(
            draws="exact",
            models=tuple(
                EvaluatedModel(name, "", rank, accuracy, in_domain=0.95, misled=rank / 4)
                for rank, (name, accuracy) in enumerate(zip(models, ACCURACY, strict=True), 1)
            ),
            methods=(
                method("ACC", "baseline", 0.75, curve={2: 0.6, 10: 0.75, 50: 0.9}, splits={"near": 0.7, "far": 0.8}),
                method("CONF-GT", "baseline", 0.775, 0.025, curve={2: 0.65, 10: 0.775, 50: 0.925}),
                method(
                    *("INDEX-DIFF", "factor", 0.875, 0.125),
                    designed=True, dropped={"no word": 1}, curve={2: 0.75, 10: 0.875, 50: 1.0},
                ),
                method("RANDOM", "baseline", 0.5, -0.25, curve={2: 0.5, 10: 0.5, 50: 0.5}),
                method(
                    *("SURROGATE+LABEL", "pool", 0.85, 0.1),
                    rule=CHOSEN, draws=8, draws_error=0.0125, curve={2: 0.8, 10: 0.85, 50: 0.975},
                ),
                method("MAJORITY", "label-free", 0.9, 0.15, rule="", curve={2: 0.9, 10: 0.9, 50: 0.9}),
            ),
            pairs=tuple(
                PairResult(models[i], models[j], name, accuracy, ACCURACY[i], ACCURACY[j],
                           ACCURACY[i] - ACCURACY[j], False, None)
                for i, j in itertools.combinations(range(3), 2) for name, accuracy in best.items()
            ),
            tied_pairs=0,
            near=0.1,
        ),
        table=ScoreTable(
            models, tuple(BUILTIN[name] for name in METHODS), ("e0", "e1"), np.zeros((3, 3, 2)),
            truth=np.array(ACCURACY), dropped={"INDEX-DIFF": {"no word": 1}},
        ),
        examples=(telling(models, text),),
    )  # fmt: skip


def toy_decision(models=MODELS):
    """A decision between three models, written down by hand."""
    was = toy(models)
    ends, chances = ((0.6, 0.5, 0.15), (0.975, 0.95, 0.7)), ((0.7, 0.28, 0.02), (0.75, 0.33, 0.03))
    rows = zip(models, (0.9, 0.8, 0.4), *ends, *chances, strict=True)
    return Ranking(
        dataclasses.replace(was.header, ood="mine", failures={}),
        Decision(
            method="ACC+TIES",
            kind="combined",
            models=tuple(
                DecidedModel(name, "", rank, share, share, share - 0.05, low, high, p_best, p_near_best=near)
                for rank, (name, share, low, high, p_best, near) in enumerate(rows, 1)
            ),
            p_beats=((0.5, 0.71, 0.98), (0.29, 0.5, 0.95), (0.02, 0.05, 0.5)),
            forecast=Forecast(12, 40, 1_000, 0.9),
            rows=(
                RowResult("e0", "no", dict.fromkeys(models, "no")),
                RowResult("e1", "yes", dict(zip(models, ("yes", "no", "no"), strict=True))),
            ),
        ),
        dataclasses.replace(was.table, truth=None, dropped={}),
        was.examples,
    )


def with_header(ranking, **changes):
    """The ranking with other fields of its header."""
    return dataclasses.replace(ranking, header=dataclasses.replace(ranking.header, **changes))


def with_found(ranking, **changes):
    """The ranking with other fields of what was found."""
    return dataclasses.replace(ranking, found=dataclasses.replace(ranking.found, **changes))


def with_best(ranking, *near, **changes):
    """The decision with other probabilities of being near the best, and other fields."""
    models = zip(ranking.found.models, near, strict=True)
    changed = tuple(dataclasses.replace(model, p_best=p, p_near_best=p) for model, p in models)
    return with_found(ranking, models=changed, **changes)


def evaluated(table, suite="five", **options):
    """The evaluation of a table, as a run has it."""
    return Ranking(
        Header("hans-sub", suite, options.get("probe", 10), options.get("seed", 0)), evaluate(table, **options), table
    )


def decided(table, suite="five", **options):
    """The decision by a table, whose truth is taken away, as a run has it."""
    table = dataclasses.replace(table, truth=None)
    return Ranking(Header("mine", suite, len(table.examples), 0), decide(table, **options), table)


FRAME = (r"\begin{tabular}", r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}")
"""Lines of a LaTeX table that are no rows."""


def toy_parts(models=MODELS):
    """The decision, of models that are made of two parts; some levels are named like models."""
    levels = (PartLevel(models[0], models[:2], 0.85), PartLevel(models[2], models[2:], 0.4))
    prompts = (PartLevel("review", (models[0], models[2]), 0.65), PartLevel("plain", (models[1],), 0.8))
    components = VarianceComponents(
        rows=2, first=Component(0.0784, 0.28, 0.0, 0.41), second=Component(-0.0031, 0.0, 0.0, 0.12),
        residual=Component(0.0009, 0.03, 0.0, 0.2), p_first=0.875,
    )  # fmt: skip
    parts = ModelParts((ModelPart("model", levels), ModelPart("prompt", prompts[::-1])), components, "")
    return dataclasses.replace(toy_decision(models), parts=parts)


RANKINGS = {"evaluation": toy, "decision": toy_decision, "parts": toy_parts}


@pytest.mark.parametrize("mode", RANKINGS)
@pytest.mark.parametrize("name", report.TEXTS)
def test_golden(name, mode):
    """The report of the toy is the one that was read and kept."""
    check_golden(mode, name, report.render(RANKINGS[mode](), name))


@pytest.mark.more
@pytest.mark.parametrize("mode", RANKINGS)
def test_each_drawing_of_a_page_stands_in_a_section_of_its_own(mode):
    """One figure a section, under its own heading."""
    sections = report.render(RANKINGS[mode](), "html").split("<section")[1:]
    drawn = [section for section in sections if "<svg" in section]
    assert len(drawn) == len(figures.drawings(RANKINGS[mode](), figures.ALL[RANKINGS[mode]().mode])) > 0
    for section in drawn:
        heading, figure = [line for line in outline(section).splitlines() if line.startswith(("## ", "[figure: "))][:2]
        assert section.count("<svg") == 1
        assert heading.removeprefix("## ") == figure.removeprefix("[figure: ").removesuffix("]")


@pytest.mark.parametrize("mode", RANKINGS)
def test_each_table_stands_in_formats_that_there_are(mode):
    """A format that no table knows by name would be empty; JSON and CSV have rows of their own."""
    columns = {name for table in document(RANKINGS[mode]()).tables for name in table.formats}
    assert columns == set(report.TEXTS) - {"json", "csv"}


@pytest.mark.more
@pytest.mark.parametrize("mode", RANKINGS)
def test_formats_show_the_same_numbers(mode):
    """Every number of the terminal's tables stands in Markdown, LaTeX and HTML, in the same row."""
    ranking = RANKINGS[mode]()
    for table in document(ranking).tables_for("latex"):
        for row in table.rows:
            assert f"| {' | '.join(map(markdown.escape, row))} |" in report.render(ranking, "markdown")
            cells = zip(row, table.numeric, strict=True)
            text = " & ".join(latex.number(cell) if n else latex.escape(cell) for cell, n in cells)
            assert text + r" \\" in report.render(ranking, "latex")
            on_page = sorted(cell for cell, head in zip(row, table.head, strict=True) if head != "ACC+TIES")
            assert on_page in map(sorted, PageReader(report.render(ranking, "html")).rows)


def methods_in(text, name):
    """Method -> (pairwise accuracy, low, high), fractions, as a reader finds them in a report of this format."""
    if name == "json":
        rows = json.loads(text)["evaluation"]["methods"]
        return {row["name"]: (row["pairwise_accuracy"], row["ci_low"], row["ci_high"]) for row in rows}
    if name == "csv":
        rows = csv.DictReader(io.StringIO(text))
        return {
            row["name"]: tuple(float(row[key]) for key in ("pairwise_accuracy", "ci_low", "ci_high")) for row in rows
        }
    if name == "html":
        lines = [" ".join(row) for row in PageReader(text).rows]
    else:
        lines = [re.sub(r"[|&$\\{}]", " ", line) for line in text.splitlines()]
    row = re.compile(
        r"^\s*(\S+)(?: +\*)? +(?:baseline|factor|combined|pool|label-free) +([\d.]+) +([\d.]+) +to +([\d.]+)"
    )
    row_matches = [match for match in map(row.match, lines) if match]
    return {match[1]: tuple(float(number) / 100 for number in match.groups()[1:]) for match in row_matches}


def models_in(text, name):
    """Model -> P(near best), a fraction, as a reader finds it in a report of this format."""
    if name == "json":
        return {model["name"]: model["p_near_best"] for model in json.loads(text)["decision"]["models"]}
    if name == "csv":
        return {row["name"]: float(row["p_near_best"]) for row in csv.DictReader(io.StringIO(text))}
    if name == "html":
        lines = [" ".join(row) for row in PageReader(text).rows]
    else:
        lines = [re.sub(r"[|&$\\{}]", " ", line) for line in text.splitlines()]
    ends = r"[\d.]+ \([\d.]+ to [\d.]+\)"
    columns = rf"([\d.]+) [\d.]+ {ends} [a-z]+" if name == "html" else rf"[a-z]+ +\S+ +[\d.]+ +{ends} +([\d.]+)"
    row = re.compile(rf"^\s*\d+ +(\S+) +{columns}\s*$")
    return {match[1]: float(match[2]) / 100 for match in map(row.match, lines) if match}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [name for name in report.TEXTS if name != "pairs"])
def test_numbers_read_from_every_format_are_the_rankings(name):
    """A reader of any format finds the accuracies, intervals and probabilities that the one `Ranking` holds."""
    original = evaluated(suite(), designed="INDEX-DIFF")
    methods = methods_in(report.render(original, name), name)
    assert set(methods) == {method.name for method in original.evaluation.methods}
    exact = 0 if name in ("json", "csv") else 0.000501
    for method in original.evaluation.methods:
        assert methods[method.name] == pytest.approx(
            (method.pairwise_accuracy, method.ci_low, method.ci_high), abs=exact
        )
    original = decided(suite(examples=10))
    wanted = {model.name: model.p_near_best for model in original.decision.models}
    assert models_in(report.render(original, name), name) == pytest.approx(wanted, abs=exact)


def crowd(count):
    """A decision between many models that differ by little, with their answers to 100 rows, and with examples."""
    was, names = toy_decision(), tuple(f"organisation/model-number-{n}" for n in range(count))
    places = np.arange(count)
    p_beats = np.clip(0.5 + 3 * (places[None] - places[:, None]) / count, 0.01, 0.99)
    shares = 1 - places / (2 * count)
    decision = dataclasses.replace(
        was.found,
        models=tuple(
            dataclasses.replace(was.found.models[0], name=name, rank=n + 1, outcome=shares[n], score=shares[n])
            for n, name in enumerate(names)
        ),
        p_beats=tuple(map(tuple, p_beats.tolist())),
        rows=tuple(
            RowResult(f"row{k}", "yes", {name: "no" if (k + n) % 3 else "yes" for n, name in enumerate(names)})
            for k in range(100)
        ),
    )
    table = dataclasses.replace(was.table, models=names, values=np.repeat(was.table.values[:1], count, axis=0))
    examples = [
        dataclasses.replace(
            example, readings=tuple(dataclasses.replace(example.readings[0], name=name) for name in names)
        )
        for example in was.examples
    ]
    return dataclasses.replace(was, found=decision, table=table, examples=tuple(examples))


@pytest.mark.parametrize(("models", "megabytes"), [(8, 1), (60, 1), pytest.param(1000, 3, marks=pytest.mark.slow)])
def test_a_page_stays_light(models, megabytes):
    """Each model is on it; pairs, words and figures are of the first ones, and the page says of how many."""
    page = report.render(crowd(models), "html")
    assert len(page.encode()) < megabytes * 1e6
    assert all(f"<span>{n + 1}</span>" in page for n in range(models))
    assert ("The first 25 of" in page, "The first 12 of" in page) == (models > 25, models > 12)


# ---- the terminal


LONG = tuple(f"organisation/{'a-model-with-a-long-name-' * 3}{number}" for number in range(10))


def many(decision=False):
    """Ten models with long names."""
    table = dataclasses.replace(suite(models=10, examples=20), models=LONG)
    if decision:
        return with_header(decided(table, "ten"), ood="a-file-of-rows")
    return evaluated(table, "ten", families=["a-long-family-name"] * 10, designed="INDEX-DIFF")


@pytest.mark.parametrize("decision", [False, True])
def test_eighty_columns_are_enough(decision):
    """With ten models of long names no line is wider, no name is cut, and no number is broken."""
    ranking = many(decision)
    text = report.render(ranking, "table")
    assert max(map(len, text.splitlines())) <= 80
    squeezed = re.sub(r"\s", "", text)
    for table in document(ranking).tables_for("table"):
        for row in table.rows:
            for cell, numeric in zip(row, table.numeric, strict=True):
                assert not numeric or not cell or re.search(rf"(^| ){re.escape(cell)}( |$)", text, re.M)
    assert all(number in squeezed for number in map(str, range(1, 11)))


def test_the_terminal_has_the_answer_the_ties_and_the_next_step():
    """The answer comes first; tied models share a letter; a line says what to do next."""
    lines = report.render(toy_decision(), "table").splitlines()
    assert lines[2] == "Cannot say yet: bert_large leads"
    assert any(line.startswith("Next: label more rows. In eight of ten cases it takes 12 to 40") for line in lines)
    assert [line.split()[2] for line in lines if re.match(r"[123]  ", line)] == ["a", "a", "b"]
    lines = report.render(toy(), "table").splitlines()
    assert lines[2] == "Best method: INDEX-DIFF"
    assert any(line.startswith("Next: ") for line in lines)


@pytest.mark.parametrize("name", ["table", "pairs"])
@pytest.mark.parametrize("environment", [{"FORCE_COLOR": "1"}, {"NO_COLOR": "1"}, {"COLUMNS": "30", "TERM": "dumb"}])
def test_plain_text_whatever_the_environment(name, environment, monkeypatch):
    """No colour, no escape, and the same bytes: a report can be piped and compared."""
    plain = report.render(toy(), name)
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    assert report.render(toy(), name) == plain
    assert "\x1b" not in plain


def test_on_a_narrow_terminal_sentences_are_wrapped_and_tables_are_whole(monkeypatch):
    """At the columns that there are; a pipe and a file get what they always get."""
    text = report.render(toy(), "table")
    monkeypatch.setenv("COLUMNS", "60")
    assert outputs.render_document(document(toy()), "table", None) == text
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert outputs.render_document(document(toy()), "table", Path("answer.txt")) == text
    narrow = outputs.render_document(document(toy()), "table", None)
    assert narrow.split() == text.split()
    tables = {line for line in text.splitlines() if re.search(r"  \S", line)}
    assert tables <= set(narrow.splitlines())
    assert max(len(line) for line in narrow.splitlines() if line not in tables) <= 60


@pytest.mark.parametrize("name", ["table", "pairs"])
def test_a_name_does_not_command_the_terminal(name):
    """Escapes, bells and turned writing directions of a name are shown as replaced, not obeyed."""
    text = report.render(toy(("\x1b[31mred\x07", "\u202egnp.exe", "c"), note="\x9b2J"), name)
    assert "\\u001b[31mred" in text
    assert not set(text) & set("\x1b\x07\u202e\x9b")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_in_json(name):
    """A name comes back as it was."""
    full_report = json.loads(report.render(toy((name, "b", "c"), note=name), "json"))
    assert (full_report["evaluation"]["models"][0]["name"], full_report["header"]["notes"][0]) == (name, name)


def test_csv_holds_raw_fractions():
    """CSV has every method, with the ranking's own fractions, and says which run they are from."""
    rows = list(csv.DictReader(io.StringIO(report.render(toy(), "csv"))))
    for row, method in zip(rows, toy().evaluation.methods, strict=True):
        assert (row["name"], float(row["pairwise_accuracy"])) == (method.name, method.pairwise_accuracy)
        assert float(row["ci_low"]) == method.ci_low
        for key in ("difference", "difference_low", "difference_high"):
            assert row[key] == repr(getattr(method, key))
        assert (row["suite"], row["ood"], row["metric"], row["probe"]) == ("toy", "hans-sub", "ACC", "10")


def test_csv_of_a_decision():
    """A row a model; two that share a group's number cannot be told apart."""
    rows = list(csv.DictReader(io.StringIO(report.render(toy_decision(), "csv"))))
    assert [(row["rank"], row["name"], row["groups"]) for row in rows] == [
        ("1", "bert_large", "1"),
        ("2", "bert_base", "1"),
        ("3", "lstm", "2"),
    ]
    assert [float(row["p_best"]) for row in rows] == [0.7, 0.28, 0.02]
    assert [(row["metric"], float(row["outcome"])) for row in rows] == [("ACC", 0.9), ("ACC", 0.8), ("ACC", 0.4)]


# ---- hostile text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_in_csv(name):
    """A name comes back as it was, but that what a spreadsheet would run has an apostrophe in front."""
    rows = list(csv.DictReader(io.StringIO(report.render(toy_decision((name, "b", "c")), "csv"))))
    assert rows[0]["name"] == (f"'{name}" if name.startswith(("=", "+", "-", "@", "\t")) else name)
    assert len(rows) == 3


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_in_markdown(name):
    """Tables keep their shape, and every character that Markdown would read is escaped."""
    text = report.render(toy((name, "b", "c"), note=name), "markdown")
    shapes = [
        {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        for block in text.split("\n\n")
        if block.startswith("|")
    ]
    assert shapes == [{7}, {8}]
    plain = re.sub(r"\\(.)", "", text)
    assert not set(plain) & set("<>*_`{}[]$&")
    assert f"- {markdown.escape(name)}" in text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_in_latex(name):
    """Between the lines of a table, no character of a name is left that LaTeX would read."""
    text = report.render(toy((name, "b", "c"), note=name), "latex")
    body = [line for line in text.splitlines() if not line.startswith("%")]
    (row,) = [line for line in body if line.startswith("1 & ")]
    shown_name = row.removeprefix("1 & ").partition(" & ")[0]
    left = re.sub(r"\\(text\w+\{\}|[&%$#_{}])|\{[\[*]\}|-\{\}", "", shown_name)
    assert not set(left) & set(r"\~^`<>|[*&%$#_{}")
    assert "--" not in left
    assert all(line.endswith(r"\\") or line.startswith(FRAME) for line in body if line)


@pytest.mark.parametrize("mode", RANKINGS)
def test_latex_compiles(mode, tmp_path):
    """Hostile names and all, the tables compile inside a document."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not on the PATH")
    text = report.render(RANKINGS[mode](HOSTILE[:3]), "latex")
    for name in HOSTILE:
        text += latex.escape(name) + "\n"
    document = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n" + text + "\\end{document}\n"
    (tmp_path / "report.tex").write_text(document, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex"],
        cwd=tmp_path, capture_output=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]


# ---- HTML


@cache
def plain_page(mode):
    """The page of a ranking without a hostile name."""
    return PageReader(report.render(RANKINGS[mode](), "html"))


@pytest.mark.few(3)
@pytest.mark.parametrize("mode", RANKINGS)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_in_html(name, mode):
    """The page of a hostile name has the tags of any other, and the name is in its text."""
    plain, hostile = RANKINGS[mode](), RANKINGS[mode]((name, *MODELS[1:]))
    hostile = with_header(
        hostile,
        notes=(name,),
        suite=name,
        provenance=dataclasses.replace(plain.header.provenance, command=name, settings={name: name}),
    )
    page_reader = PageReader(report.render(hostile, "html"))
    assert [tag for tag, _ in page_reader.tags] == [tag for tag, _ in plain_page(mode).tags]
    assert name in page_reader.text


@pytest.mark.parametrize("mode", RANKINGS)
def test_the_page_needs_nothing_else(mode):
    """The page names no address, loads nothing, and its policy allows no more than its own script."""
    page = report.render(RANKINGS[mode](), "html")
    assert "://" not in page
    page_reader = PageReader(page)
    assert not {"src", "href", "srcset", "action"} & {key for _, attributes in page_reader.tags for key in attributes}
    assert all(a["xlink:href"].startswith("#") for _, a in page_reader.tags if "xlink:href" in a)
    (policy,) = [a["content"] for tag, a in page_reader.tags if tag == "meta" and "http-equiv" in a]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")


def test_the_page_sets_commands_as_code_and_says_how_to_cite_it():
    """In the answer and the remarks; backticks of a name stay what they are."""
    page = report.render(toy(note="Name more with `--models`; not `e`."), "html")
    assert "Next: <code>rank-models --data ROWS --models A B ...</code> chooses" in page
    assert "<li>Name more with <code>--models</code>; not `e`.</li>" in page
    assert "How to cite: rank-models 0.0.0; the method: Singhal, Forristal, Ye and Durrett (2022), Assessing" in page


def test_intervals_over_models_stand_in_tables_for_papers():
    """LaTeX, Markdown and the page have them, as CSV and JSON do; where there is none, there is no column."""
    first, *other_methods = toy().evaluation.methods
    sure = dataclasses.replace(first, models_low=0.5, models_high=0.9375)
    ranking = with_found(toy(), methods=(sure, *other_methods))
    text = report.render(ranking, "latex")
    assert "95 \\% interval over models \\\\" in text
    assert re.search(r"^ACC & .* & 50.0 to 93.8 \\\\$", text, re.M)
    assert report.render(ranking, "markdown").count("| 50.0 to 93.8 |") == 1
    assert "50.0 to 93.8" in PageReader(report.render(ranking, "html")).rows[2]
    assert "over models" not in report.render(toy(), "latex")


def test_the_page_of_eight_models_is_small():
    """Eight models and twenty-five methods, every pair with every method: less than 200 KB."""
    names = [f"a model with a rather long name {i}" for i in range(8)]
    methods = [method(f"SOME-METHOD-{i}", "factor", 0.7, 0.1, curve=dict.fromkeys((1, 5, 20), 0.7)) for i in range(25)]
    pairs = [
        PairResult(a, b, method.name, 0.7, 0.9, 0.8, 0.1, False, None)
        for a, b in itertools.combinations(names, 2)
        for method in methods
    ]
    ranking = with_found(toy(), methods=tuple(methods), pairs=tuple(pairs))
    assert len(report.render(ranking, "html").encode()) < 200_000


def test_a_coin_is_not_the_best_method():
    """If nothing beats a coin, that is the answer."""
    coin = (method("CONF", "baseline", 0.4), method("RANDOM", "baseline", 0.5), method("MAJORITY", "label-free", 0.9))
    lead, sentence = of_run.answer(with_found(toy(), methods=coin))
    assert lead == "From 10 examples, no method beats chance"
    assert sentence[0].startswith("Truly best: ")
    assert sentence[1].startswith("Next: ")


def test_the_answer_of_an_evaluation():
    """The best method, how far from ACC, and the truly best model; equal ones are named."""
    lead, answer = of_run.answer(toy())
    assert lead == "Best method: INDEX-DIFF"
    assert "87.5 % of the time (95 % interval 82.5 to 92.5)" in answer[0]
    assert answer[1] == (
        "That is +12.5 points compared with accuracy, ACC, on the same examples (95 % interval +7.5 to +17.5)."
    )
    assert answer[-2] == "Truly best: bert_large (90.0 % right on hans-sub)."
    assert answer[-1].startswith("Next: `rank-models --data ROWS --models A B ...`")
    assert not any("designed for" in sentence for sentence in answer)  # it is the best method
    behind = dataclasses.replace(method("CONST", "factor", 0.7, -0.05), designed=True)
    ahead = with_found(toy(), methods=(method("ACC", "baseline", 0.75), method("NLL", "baseline", 0.9, 0.15), behind))
    assert of_run.answer(ahead)[1][-3] == (
        "CONST, the factor designed for hans-sub, has 70.0 %: -5.0 points compared with ACC (-10.0 to +0.0)."
    )
    equal = with_found(toy(), methods=(method("ACC", "baseline", 0.75), method("NLL", "baseline", 0.75, 0.0)))
    assert of_run.answer(equal)[1][1:3] == ["Equally good: NLL.", "From 10 examples, no method beats accuracy, ACC."]


def test_one_example_is_one():
    """A probe of one row, and one draw, are said so."""
    single = with_found(with_header(toy(), probe=1), draws=1)
    assert of_run.answer(single)[1][0].startswith("From 1 example, ")
    assert "correctly from 1 example; mean over 3 pairs, 1 draw, seed 0" in next(remarks.evaluation_notes(single))


def test_equal_methods_are_named_whichever_is_ahead_by_rounding():
    """A last bit puts none ahead: the first of equal methods is named, and the other as its equal."""
    close = (method("NLL", "baseline", 0.75), method("CONF-H", "baseline", 0.75))
    assert of_run.answer(with_found(toy(), methods=close))[1][1] == "Equally good: CONF-H."
    close = (method("NLL", "baseline", 0.75), method("CONF-H", "baseline", 0.75 + 2e-16))
    lead, sentence = of_run.answer(with_found(toy(), methods=close))
    assert lead == "Best method: NLL"
    assert sentence[1] == "Equally good: CONF-H."


@pytest.mark.parametrize(
    ("name", "rule", "against"),
    [("SURROGATE+LABEL", CHOSEN, "random examples"), ("SURROGATE", "random", "the same examples")],
)
def test_accuracy_is_on_other_examples_where_these_are_chosen(name, rule, against):
    """Chosen rows are not the random ones that ACC has, and the difference is not paired."""
    best = with_found(toy(), methods=(toy().evaluation.methods[0], method(name, "pool", 0.9, 0.15, rule=rule)))
    assert of_run.answer(best)[1][1].startswith(f"That is +15.0 points compared with accuracy, ACC, on {against} ")
    paired = list(remarks.evaluation_notes(best))[-1]
    assert paired.endswith("minus ACC: paired, except for methods that see no label or chosen rows.") == (
        name == "SURROGATE+LABEL"
    )


def test_models_that_a_method_ties_share_their_rank():
    """In words, in the table and in the CSV; none is said to be put first."""
    models = zip(toy_decision().decision.models, (1, 1, 3), strict=True)
    ranking = with_found(toy_decision(), models=tuple(dataclasses.replace(model, rank=rank) for model, rank in models))
    _, sentence = of_run.answer(ranking)
    assert sentence[0].startswith(
        "ACC+TIES ties bert_large, bert_base in first place. bert_large's accuracy on the 10 rows is 90.0 %"
    )
    assert [row[0] for row in order(ranking.decision, words_of(ranking)).rows] == ["1", "1", "3"]
    assert [row["rank"] for row in csv.DictReader(io.StringIO(report.render(ranking, "csv")))] == ["1", "1", "3"]


@pytest.mark.parametrize("label", ["[neg]", "[/neg]", "[red]neg[/red]"])
@pytest.mark.parametrize("name", ["table", "pairs", "html", "markdown"])
def test_labels_are_text_in_the_heads_of_tables(name, label):
    """A label of a checkpoint's configuration names a column; none is taken for markup, nor lost."""
    ranking = with_found(
        toy_decision(),
        rows=(
            RowResult("e0", label, dict.fromkeys(MODELS, label)),
            RowResult("e1", "pos", dict.fromkeys(MODELS, label)),
        ),
    )
    text = report.render(ranking, name)
    if name != "table":
        plain = text.replace("\\", "").replace("&#x2F;", "/")
        assert f"{label}, 1 row" in " ".join(plain.split())


@pytest.mark.more
def test_a_page_without_attributions_promises_no_scores():
    """No tooltip, no help and no table speaks of scores that were not asked for."""
    bare = dataclasses.replace(telling(), attribution="none")
    nowhere = tuple(
        dataclasses.replace(
            reading,
            words=tuple(dataclasses.replace(word, score=None, read=False) for word in reading.words),
            **({"predicted": "no", "probabilities": {"no": 0.9, "yes": 0.1}} if reading is bare.readings[0] else {}),
        )
        for reading in bare.readings
    )
    page = report.render(
        dataclasses.replace(
            with_header(toy(), attribution="none"),
            examples=(dataclasses.replace(bare, readings=nowhere, designed=None),),
        ),
        "html",
    )
    assert "not seen" not in page
    assert "score of each word" not in page
    assert "Scores in numbers" not in page
    assert "What the models look at" not in page
    assert "1 example on which the most pairs of models disagree." in page
    (cells,) = re.findall(r'<th scope="row"><span>e0</span></th>(.*)', page)
    assert re.findall(r"<td[^>]*>(.*?)</td>", cells)[1:] == ["yes", "✗ no", "✓ yes", "✓ yes"]
    assert "Factor values and the score of each word are below each example." in report.render(toy(), "html")


def test_a_page_explains_the_marks_of_all_its_examples():
    """Marks that only a later example has are in the key, too."""
    plain = dataclasses.replace(telling(), designed=None)
    none = tuple(
        dataclasses.replace(
            reading, words=tuple(dataclasses.replace(word, marks=(), read=False) for word in reading.words)
        )
        for reading in plain.readings
    )
    first = dataclasses.replace(plain, readings=none)
    page = report.render(dataclasses.replace(toy(), examples=(first, telling())), "html")
    assert "Outlined: the words that INDEX-DIFF reads. Underlined: words with a mark." in page


def test_a_lead_that_may_be_none_is_said_to_be_one():
    """The answer says so if the interval of the difference to ACC includes 0."""
    unsure = with_found(toy(), methods=toy().evaluation.methods[:2])
    assert of_run.answer(unsure)[1][1] == (
        "That is +2.5 points compared with accuracy, ACC, on the same examples (95 % interval -2.5 to +7.5; this "
        "includes 0: ACC may do as well)."
    )


def two_models(p, low):
    """A decision between a and b: how probable it is that a is better, and the lower end of the difference."""
    models = tuple(
        DecidedModel(name, "", rank, mean, mean, mean, 0.2, 0.95, near, p_near_best=near)
        for rank, (name, mean, near) in enumerate((("a", 0.8, p), ("b", 0.6, 1 - p)), 1)
    )
    high = None if low is None else 0.1 if low < -0.1 else 0.5
    if p < 0.5 and high:
        low, high = -0.3, -0.01
    pair = PairedComparison("a", "b", 0.2, 0.1, low, high, 5, 1, 0.03, "mcnemar", 0.03, 0.2, 0.4, 20, None, 0.1)
    decision = Decision("ACC", "baseline", models, ((0.5, p), (1 - p, 0.5)), versus=(pair,))
    complete = toy_decision(("a", "b", "c"))
    return dataclasses.replace(
        complete,
        found=decision,
        table=ScoreTable(("a", "b"), complete.table.methods, complete.table.examples, complete.table.values[:2].copy()),
        examples=(),
    )


def test_no_probability_is_rounded_to_certainty():
    """In words, tables and pairs, whatever the format; the numbers for programs are as they are."""
    sure = ((0.5, 0.9998, 1.0), (0.0002, 0.5, 0.9), (0.0, 0.1, 0.5))
    sure_decision = with_best(toy_decision(), 0.9998, 0.0002, 0.0, p_beats=sure)
    for form in ("table", "pairs", "markdown", "latex", "html"):
        text = report.render(sure_decision, form)
        assert "100.0" not in text.replace("to 100.0", ""), form  # an interval may end there
        assert any(high in text for high in (">99.9", r"\>99.9", "$>$99.9", "&gt;99.9")), form
    assert "in the domain is >99.9 %." in " ".join(report.render(sure_decision, "table").split())
    models = json.loads(report.render(sure_decision, "json"))["decision"]["models"]
    assert [model["p_best"] for model in models] == [0.9998, 0.0002, 0.0]


GOAL = "it is 90 % sure which model is within a point of the best."


@pytest.mark.parametrize(
    ("forecast", "says"),
    [
        (Forecast(12, 40, 290, 0.9), f"label more rows. In eight of ten cases it takes 12 to 40 until {GOAL}"),
        (Forecast(12, 12, 290, 0.9), f"label more rows. In eight of ten cases it takes 12 until {GOAL}"),
        (
            Forecast(1_200, None, 2_900, 0.9),
            f"label more rows. In nine of ten cases it takes 1,200 or more until {GOAL}",
        ),
        (Forecast(5, None, 290, 0.9), "label 10 more rows and ask again. How many it takes cannot be said yet."),
        (
            Forecast(None, None, 290, 0.9),
            "get labels of other rows. With 290 more labels of these it would hardly be 90 % sure which model is "
            "within a point of the best.",
        ),
        (Forecast(None, None, 0, 0.9), "get labels of other rows."),
        (None, "label more rows. How many cannot be said: ACC+TIES gives no forecast."),
    ],
)
def test_the_next_step_of_a_decision(forecast, says):
    """While no model is probably near the best: the range of labels with its probability, or why there is none."""
    decision = dataclasses.replace(toy_decision().decision, forecast=forecast)
    assert words.next_step(toy_decision(), decision) == f"Next: {says}"


def test_labels_that_are_all_alike_forecast_nothing():
    """Labels that are all alike measure one label's recall, and the advice says so instead of a number."""
    rows = tuple(dataclasses.replace(row, label="no") for row in toy_decision().decision.rows)
    ranking = with_found(toy_decision(), rows=rows, forecast=None)
    text = "Next: label more rows. How many cannot be said: all labels are alike so far."
    assert of_run.answer(ranking)[1][-1] == text


def test_a_model_is_as_good_only_where_a_small_gap_is_probable():
    """With 90 % for a gap of a point at most; models that are merely not told apart are not called equal."""
    models = toy_decision().decision.models
    for equal in (0.9, 0.89):
        second = dataclasses.replace(models[1], p_equal=equal)
        sentences = of_run.answer(with_found(toy_decision(), models=(models[0], second, models[2])))[1]
        same = "bert_base is as good: within a point of bert_large with a probability of 90.0 %."
        assert (same in sentences) == (equal == 0.9)


def test_models_that_cannot_be_told_apart_need_not_be_neighbours():
    """The first and the last of an order that goes by another thing than accuracy are as good as each other."""
    decision = dataclasses.replace(
        toy_decision().decision, p_beats=((0.5, 0.02, 0.5), (0.98, 0.5, 0.98), (0.5, 0.02, 0.5))
    )
    ranking = dataclasses.replace(toy_decision(), found=decision)
    assert "Not told from bert_large: lstm." in of_run.answer(ranking)[1]
    lines = report.render(ranking, "table").splitlines()
    assert [line.split()[2] for line in lines if re.match(r"[123]  ", line)] == ["a", "b", "a"]
    rows = csv.DictReader(io.StringIO(report.render(ranking, "csv")))
    assert [row["groups"] for row in rows] == ["1", "2", "1"]


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(5))
def test_two_models_share_a_set_exactly_if_they_cannot_be_told_apart(seed):
    """Whatever the order: every pair is in a set together or told apart, and no set is part of another."""
    rng = np.random.default_rng(seed)
    decision = decided(suite(models=7, examples=12, seed=seed)).decision
    order = rng.permutation(7)
    decision = dataclasses.replace(decision, p_beats=tuple(tuple(decision.p_beats[i][j] for j in order) for i in order))
    sets = [set(group) for group in decision.groups]
    for i, a in enumerate(decision.names):
        for j, b in enumerate(decision.names):
            near = max(decision.p_beats[i][j], 1 - decision.p_beats[i][j]) < decision.level
            assert any({a, b} <= group for group in sets) == near
    assert not any(smaller < larger for smaller in sets for larger in sets)


AGAINST = ((0.5, 0.08, 0.98), (0.92, 0.5, 0.95), (0.02, 0.05, 0.5))
"""P(row > column), where the second of the order is told from the first as the better one."""


def test_the_choice_is_the_first_of_the_order_whatever_else_is_likely():
    """One rule: the model that is last in the order is no choice, though its P(near best) is the highest."""
    likely = with_best(toy_decision(), 0.22, 0.1, 0.29, kind="pool", method="SURROGATE")
    lead, answer = of_run.answer(likely)
    assert lead == "Cannot say yet: bert_large leads"
    assert answer[1] == "The probability that no other model is better by more than a point in the domain is 22.0 %."
    assert not any("lstm" in sentence for sentence in answer)
    text = (
        "The order is that of SURROGATE, not of P(near best): a model about which these rows say little can have a "
        "high one."
    )
    assert text in of_run.remarks(likely)
    assert text not in of_run.remarks(with_best(likely, 0.29, 0.1, 0.22))
    assert text not in of_run.remarks(with_best(likely, 0.29, 0.1, 0.3))  # which is noise


def test_rows_on_which_the_method_is_undefined_are_counted_beside_it():
    """An order by two rows of ten is no order by ten; nothing is said where all are there."""
    values = np.ones((3, 2, 10))
    values[0, 1, 2:] = np.nan
    table = dataclasses.replace(score_table(values, ["ACC", "NLL"], np.zeros(3)), dropped={"NLL": {"undefined": 8}})
    ranking = decided(table, method="NLL")
    line = of_run.answer(ranking)[1][0]
    assert line.startswith("NLL (defined on 2 of the 10 rows) ties m0, m1, m2 in first place.")
    assert "NLL: 8 of 10 examples dropped for all models (undefined)." in of_run.remarks(ranking)
    assert "(defined on" not in of_run.answer(decided(table, method="ACC"))[1][0]


def test_who_is_wrong_on_which_row_is_shown():
    """In every format to read, and not in the terminal's short answer: ten rows are looked at one by one."""
    ranking = toy_decision()
    page = PageReader(report.render(ranking, "html")).rows
    assert ["e1", "yes", "bert_base (no), lstm (no)"] in page
    assert ["e0", "no", ""] in page
    assert ["bert_large", "1", "1"] in page
    assert ["lstm", "1", "0"] in page
    assert "| e1 | yes | bert\\_base (no), lstm (no) |" in report.render(ranking, "markdown")
    assert re.search("^e1 +yes +bert_base \\(no\\), lstm \\(no\\)$", report.render(ranking, "pairs"), re.M)
    assert "e1" not in report.render(ranking, "table")
    many = with_found(ranking, rows=ranking.decision.rows * 200)
    for name in ("html", "markdown", "pairs"):
        assert "bert_base (no)" not in report.render(many, name)


@pytest.mark.parametrize(
    ("tied", "part"),
    [(0, None), (1, "1 pair of equal OOD accuracy is left"), (2, "2 pairs of equal OOD accuracy are left")],
)
def test_pairs_without_a_truth_are_counted(tied, part):
    """Pairs of equally good models count, on which no order can be right."""
    legend = report.render(with_found(toy(), tied_pairs=tied), "table")
    assert (part in " ".join(legend.split())) if part else ("left out" not in legend)


def test_the_page_shows_how_good_the_attributions_are():
    """A row a model with the error's median and 95th percentile; every reason for leaving something out is there."""
    rows = PageReader(report.render(toy(), "html")).rows
    assert ["bert_large", "0.001", "0.02", "2", "0"] in rows
    assert ["INDEX-DIFF", "1", "no word"] in rows
    assert ["SUFF-H", "all", "no marks"] in rows


@pytest.mark.parametrize("mode", RANKINGS)
def test_what_was_dropped_is_said_in_both_modes(mode):
    """A method that an example is missing from, in an evaluation and in a decision."""
    shown_ranking = RANKINGS[mode]()
    shown_ranking = dataclasses.replace(
        shown_ranking, table=dataclasses.replace(shown_ranking.table, dropped={"CONF-GT": {"no verb": 2}})
    )
    assert "CONF-GT: 2 of 2 examples dropped for all models (no verb)." in report.render(shown_ranking, "table")
    assert ["CONF-GT", "2", "no verb"] in PageReader(report.render(shown_ranking, "html")).rows


@pytest.mark.parametrize("mode", RANKINGS)
@pytest.mark.parametrize("name", ["table", "markdown", "latex", "html"])
def test_notes_of_the_run_and_of_its_numbers_are_in_every_report(name, mode):
    """Notes on rows and models stand before those on what was found."""
    noted_ranking = with_found(with_header(RANKINGS[mode](), notes=("Of rows.",)), notes=("Of numbers.",))
    text = report.render(noted_ranking, name)
    assert 0 < text.index("Of rows.") < text.index("Of numbers.")


def test_a_metric_of_another_name_is_named_everywhere():
    """In heads and sentences: no number is called accuracy that is none, and nobody is said to be right."""
    rouge = Factor("ROUGE-L", None, True, "true", "", "baseline")
    table = dataclasses.replace(toy().table, methods=(rouge, *toy().table.methods[1:]), metric="ROUGE-L")
    methods = [
        dataclasses.replace(method, name=method.name.replace("ACC", "ROUGE-L")) for method in toy().evaluation.methods
    ]
    evaluation = with_found(toy(), methods=tuple(methods), pairs=())
    decision = with_found(toy_decision(), method="ROUGE-L+TIES", rows=())
    for renamed in (evaluation, decision):
        renamed = dataclasses.replace(with_header(renamed, metric="ROUGE-L"), table=table)
        for name in ("markdown", "latex"):
            text = " ".join(report.render(renamed, name).replace("pairwise accuracy", "").split())
            assert "ROUGE-L" in text
            short = re.sub("Pairwise accuracy \\(few-shot accuracy in the paper.{,2}\\)", "", text.replace("\\", ""))
            assert not re.search(r"\bACC\b|accura|% right|right on", short), (name, short)


@pytest.mark.more
def test_the_page_shows_examples_as_every_model_reads_them():
    """The words of each model, coloured by their scores; what the designed factor reads is outlined; scores as text."""
    page = PageReader(report.render(toy(), "html"))
    words = [attributes for tag, attributes in page.tags if tag == "span" and "title" in attributes]
    assert len(words) == 3 * len(["[CLS]", "The", "poet", "slept", "."])
    assert [word["title"] for word in words if "read" in word["class"]] == [f"{s:+.2f}, feature" for s in (1, 0, -1)]
    assert words[1]["style"] == "background: rgb(var(--for) / 32%)"
    assert words[11]["style"] == "background: rgb(var(--against) / 65%)"
    assert ["poet", "+1.00", "+0.00", "-1.00"] in page.rows
    assert "Outlined: the words that INDEX-DIFF reads." in page.text


@pytest.mark.few(1)
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_examples_in_html(text):
    """An example's text is shown, and not obeyed: no tag that another text would not give."""
    sentence = f"word {text} word word"
    page_reader = PageReader(report.render(toy(text=sentence), "html"))
    assert {tag for tag, _ in page_reader.tags} == {tag for tag, _ in plain_page("evaluation").tags}
    assert [tag for tag, _ in page_reader.tags].count("script") == 1


def test_an_explanation_and_a_report_show_words_alike():
    """The page of an explanation has the very words, colours and outlines that a report has."""
    (alone,) = toy().examples
    spans = [
        [attributes for tag, attributes in PageReader(page).tags if tag == "span" and "title" in attributes]
        for page in (explained.render(alone, "html"), report.render(toy(), "html"))
    ]
    assert spans[0] == spans[1]


OBEYED = "\x1b[31m\x9b\x7f\u202e\u2066\u200f\u061c\u2028"
"""What a terminal or a page obeys: escapes, other controls, marks that turn the direction of writing, a line end."""


@pytest.mark.parametrize("mode", RANKINGS)
@pytest.mark.parametrize("name", report.TEXTS)
def test_controls_are_shown_as_escapes(name, mode):
    """In names of models, and wherever else others' text stands: none is in the report, and each can be read in it."""
    models = tuple(f"{name}{OBEYED}" for name in MODELS)
    odd = RANKINGS[mode](models=models)
    ranking = dataclasses.replace(odd, header=dataclasses.replace(odd.header, notes=(f"A note{OBEYED}.",)))
    text = report.render(ranking, name)
    assert not set(text) & set(OBEYED.replace("[31m", ""))
    if (name, mode) != ("csv", "evaluation"):  # which names no model
        assert "u001b" in text
    if name == "json":
        assert models[0] in [model["name"] for model in json.loads(text)[odd.mode]["models"]]
