"""The check of CI in every format: the verdict, the rows that were lost and won, JUnit's XML and GitHub's commands."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from goldens import PageReader
from test_report_formats import MODELS, toy_decision

from ranker import Ranking, report
from ranker.commands.program import escape_text
from ranker.report import github, junit, markdown
from ranker.report.document import Check, Document
from ranker.report.ranking import document
from ranker.results.gate import Gate, HeldModel

SIZE = 40
OBEYED = "b\n::error::x\r\x1b[31m##[error]y%0A,:"
"""A model's name that a terminal, a CI log or a parser would obey."""


def table(folder, wrong=(), names=("a", "b"), size=SIZE, **options):
    """A table of models: the first is wrong on rows 0 to 2, the second on those named."""
    lines = ["id,label," + ",".join([*names, *options])]
    for n in range(size):
        right = ("no", "yes")[n % 2]
        other_label = ("yes", "no")[n % 2]
        cells = [other_label if n < 3 else right, other_label if n in wrong else right]
        cells += [other_label if n in rows else right for rows in options.values()]
        lines.append(",".join([f"r{n}", right, *cells]))
    (folder / "models.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture
def gate(tmp_path, monkeypatch, rank_models):
    """`rank-models` on that table with a check: arguments -> (exit status, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    table(tmp_path, wrong=range(1, 10))

    def call(*flags, base="a", by="0.02"):
        return rank_models("--models", "models.csv", "--not-worse-than", base, "--by", by, *flags)

    return call


def flat(text):
    """Text without its line ends."""
    return " ".join(text.split())


FAILED = (
    "NOT PASSED: not shown to be no worse than a by more than 2.0 points: "
    "b (may be 29.1 points worse; lost 7 rows, won 1)"
)
CHOICE = re.compile(r"Take a|Cannot say yet: a leads")


@pytest.mark.parametrize("name", ["table", "markdown", "latex", "pairs"])
def test_the_verdict_is_the_first_line(gate, name):
    """Before the title and the choice, with the rows that were lost and won."""
    status, out, _ = gate("--format", name)
    assert status == 3
    shown_text = flat(out.replace("\\", "").replace("% ", ""))
    assert re.sub(r"\d+\.\d points worse", "29.1 points worse", shown_text).startswith(FAILED), out
    assert bool(CHOICE.search(out)) == (name != "pairs")  # which is a table of pairs alone


def body_lines(page):
    """List the texts of a page's body, from top to bottom."""
    return [flat(text) for text in PageReader(page.partition("<body>")[2]).texts if text.strip()]


def test_the_verdict_is_the_first_line_of_a_page(gate):
    """Before the title; the choice follows."""
    texts = body_lines(gate("--format", "html")[1])
    assert texts[0].startswith("NOT PASSED: not shown to be no worse than a")
    assert CHOICE.search(" ".join(texts[1:4]))


def test_a_check_that_passes_says_so_first(gate):
    """The same words as on stderr."""
    status, out, err = gate(by="0.9")
    assert status == 0
    assert flat(out).startswith(f"PASSED: {flat(err)}. ")
    assert "lost 7 rows, won 1" in err


@pytest.mark.parametrize("name", ["table", "markdown", "html"])
def test_the_first_rows_that_were_lost_and_won_are_listed(gate, name):
    """Five at most of each, with what both models said; without a check there are none."""
    out = gate("--format", name)[1]
    text = " ".join(body_lines(out)) if name == "html" else out
    for row in ("r0", "r3", "r7"):
        assert re.search(rf"\b{row}\b", text), row
    assert "✓ no" in text
    if name == "table":
        assert not re.search(r"\br9\b", text)


def test_each_of_several_models_has_its_line(gate, tmp_path):
    """Models that fail come first, with the rows that each lost and won."""
    table(tmp_path, wrong=(), c=range(12))
    status, out, _ = gate("--format", "markdown", by="0.2")
    assert status == 3
    held = re.findall(r"(?m)^\| (b|c) \| (not passed|passed) \| (\d+) \| (\d+) \|", out)
    assert held == [("c", "not passed", "9", "0"), ("b", "passed", "0", "3")]
    assert re.search(r"(?m)^\| c \| r3 \| lost \|", out)
    assert re.search(r"(?m)^\| b \| r0 \| won \|", out)


def test_json_has_the_rows_lost_and_won(gate):
    """As numbers beside the verdict."""
    held = json.loads(gate("--format", "json")[1])["decision"]["gate"]["held"]
    assert [(model["model"], model["lost"], model["won"]) for model in held] == [("b", 7, 1)]


def test_a_notebook_shows_the_verdict_first(gate, tmp_path):
    """Of a kept run, too, which says it in every format again."""
    gate("--save", "run.json")
    ranking = Ranking.load(tmp_path / "run.json")
    assert repr(ranking).startswith("NOT PASSED: ")
    assert repr(ranking.decision).startswith("NOT PASSED: ")
    assert "<caption>NOT PASSED: " in ranking._repr_html_()
    assert report.render(ranking, "table").startswith("NOT PASSED: ")
    assert "PASSED" not in repr(toy_decision())


# ---- JUnit


def with_gate(gate, models=MODELS):
    """The decision of the toy, with a check."""
    gated = toy_decision(models)
    return replace(gated, found=replace(gated.decision, gate=gate))


def parsed(text):
    """The root of an XML, and its test cases by class and name."""
    root = ElementTree.fromstring(text)
    return root, {(case.get("classname"), case.get("name")): case for case in root.iter("testcase")}


def test_junit_has_a_case_for_each_model(gate, tmp_path):
    """A failure says why, and lists rows; the counts are right, and the plain report stands below."""
    table(tmp_path, wrong=(), c=range(12))
    status, out, _ = gate("--format", "junit", by="0.2")
    root, cases = parsed(out)
    assert status == 3
    assert (root.tag, root.get("name").partition(":")[0]) == ("testsuites", "NOT PASSED")
    (suite,) = root
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["3", "1", "0", "0"]
    assert [child.tag for child in cases["rank-models", "b is no worse than a"]] == ["system-out"]
    (failure,) = cases["rank-models", "c is no worse than a"].iter("failure")
    assert failure.get("message").endswith("points worse; lost 9 rows, won 0")
    assert "lost r3: a said ✓ yes, c said ✗ no; true label yes" in failure.text
    assert "NOT PASSED" in suite.find("system-out").text


def test_junit_without_a_check_skips_the_choice(tmp_path, monkeypatch, rank_models):
    """A green test would say that something had been checked."""
    monkeypatch.chdir(tmp_path)
    table(tmp_path, wrong=range(3, 18))
    status, out, _ = rank_models("--models", "models.csv", "--format", "junit")
    root, cases = parsed(out)
    ((name, case),) = cases.items()
    assert (status, name) == (0, ("rank-models", "Take a"))
    assert [child.tag for child in case] == ["skipped"]
    assert [root[0].get(name) for name in ("tests", "failures", "errors", "skipped")] == ["1", "0", "0", "1"]


def test_junit_is_xml_whatever_a_name_holds():
    """Controls, halves of surrogate pairs and signs that XML has no place for are escapes; markup is text."""
    name = f"<b>&'\"{OBEYED}\ufffe\udc80]]>"
    check = Check("task\x00", f"{name} is no worse", "failed", f"worse {name}", (f"lost {name}",))
    text = report.write(Document(name, [], [name], [], dict, lead=name, verdict=name, checks=[check]), "junit")
    root, cases = parsed(text)
    ((group, case_name),) = cases
    assert group == "task\\u0000"
    assert case_name.startswith("<b>&'\"b ::error::x")
    assert "\\ufffe\\udc80]]>" in case_name
    assert "\\u001b" in next(root.iter("failure")).text


def test_a_gap_of_the_comparison_fails_a_case():
    """Unless it is allowed: then the case passes, and says so."""
    for allowed, tags in ((False, ["failure"]), (True, ["system-out"])):
        ranking = with_gate(Gate("lstm", 0.1, (), ("x was not asked y",), allowed, allowed))
        _, cases = parsed(report.render(ranking, "junit"))
        case = cases["rank-models", "nothing is absent"]
        assert [child.tag for child in case] == tags
        assert "x was not asked y" in (case[0].get("message") or case[0].text)


# ---- GitHub


COMMAND = re.compile(r"::(error|warning|notice) title=([^:,\r\n]*)::([^\r\n]*)")


def commands(text):
    """Every line as (command, title, message); no line is anything else."""
    matches = [COMMAND.fullmatch(line) for line in text.splitlines()]
    assert all(matches), text
    return [match.groups() for match in matches]


def test_github_shows_the_verdict_and_each_model_that_fails(gate, tmp_path):
    """As annotations; the rows are lines of the message."""
    table(tmp_path, wrong=(), c=range(12))
    status, out, _ = gate("--format", "github", by="0.2")
    first, second, *other_commands = commands(out)
    assert status == 3
    assert first[0] == "error"
    assert first[2].startswith("NOT PASSED: not shown to be no worse than a by more than 20.0 points: c (")
    assert second[:2] == ("notice", "Choice")
    ((kind, title, message),) = other_commands
    assert (kind, title) == ("error", "c is no worse than a")
    assert "lost 9 rows, won 0%0Alost r3: a said ✓ yes" in message


def test_github_passes_with_a_notice(gate):
    """No line is an error."""
    status, out, _ = gate("--format", "github", by="0.9")
    assert status == 0
    assert [kind for kind, _, _ in commands(out)] == ["notice", "notice"]
    assert commands(out)[0][2].startswith("PASSED: ")


@pytest.mark.more
@pytest.mark.parametrize("existing", ["", "# Another step\n"])
def test_the_summary_of_the_step_has_the_report(gate, tmp_path, monkeypatch, existing):
    """As Markdown, after the text that is there; only for this format."""
    summary = tmp_path / "summary.md"
    summary.write_text(existing)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    wanted = gate("--format", "markdown")[1]
    assert summary.read_text() == existing
    assert gate("--format", "github", "-o", "annotations.txt")[1] == ""
    assert summary.read_text() == f"{existing}{wanted}"
    commands((tmp_path / "annotations.txt").read_text())


def test_a_summary_that_cannot_be_written_is_one_line(gate, monkeypatch):
    """The annotations are there by then."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "/nowhere/summary.md")
    status, out, err = gate("--format", "github")
    assert status == 1
    assert commands(out)
    assert "GITHUB_STEP_SUMMARY: /nowhere/summary.md cannot be written: No such file or directory" in err


def test_a_long_summary_is_cut_at_a_line(gate, tmp_path, monkeypatch):
    """GitHub shows no summary of more than a mebibyte."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setattr("ranker.commands.outputs.MAX_SUMMARY_BYTES", 500)
    gate("--format", "github")
    text = (tmp_path / "summary.md").read_text()
    assert len(text.encode()) <= 500
    assert text.startswith("NOT PASSED: ")
    assert text.endswith("\n\nThe rest of this report is too long for a summary.\n")


@pytest.mark.parametrize("name", ["b\n::error::x", "::stop-commands::x", "##[add-mask]x", "a%0A::warning::y", OBEYED])
def test_no_name_runs_a_command_of_a_ci_log(name):
    """A name stays within its line: as data it has no line end, and no line of another report begins with "::"."""
    held = HeldModel(name, "", -0.1, False, "may be 10.0 points worse", 2, 1)
    ranking = with_gate(Gate("lstm", 0.0, (held,), (f"{name} was not asked x",), False, False), (name, "lstm", "b"))
    for _, title, message in commands(report.render(ranking, "github")):
        assert not re.search(r"%(?!25|0A|0D|3A|2C)", title + message)
    for form in ("table", "markdown", "pairs"):
        text = report.render(ranking, form)
        assert not re.search(r"(?m)^\s*::|##\w*\[", text), (form, text)
    assert not markdown.escape(name).startswith("::")  # a choice may begin with a name
    parsed(report.render(ranking, "junit"))


def test_stderr_runs_no_command_of_a_ci_log(tmp_path, monkeypatch, rank_models):
    """The verdict and the notes name models, too."""
    monkeypatch.chdir(tmp_path)
    table(tmp_path, wrong=range(1, 10), names=("a", "::error::x ##[error]y"))
    status, out, err = rank_models("--models", "models.csv", "--not-worse-than", "a")
    assert status == 3
    assert "##[" not in err + out
    assert not re.search(r"(?m)^\s*::", err + out)
    assert escape_text("a\n  ::error::x") == "a\n  \\u003a:error::x"


def test_github_escapes_percent_and_line_ends():
    """As the runner reads them back: "%" first."""
    check = Check("", "50 %, a:b", "failed", "100 % of\r\nrows", ())
    lines = github.write(Document("t", [], [], [], dict, lead="Take a", checks=[check])).splitlines()
    assert lines[-1] == "::error title=50 %25%2C a%3Ab::100 %25 of rows"


def test_many_failures_stay_within_the_annotations_that_github_shows():
    """Ten errors of a step; the last says how many are left."""
    checks = [Check("", f"m{n}", "failed", "worse", ()) for n in range(30)]
    lines = github.write(Document("t", [], [], [], dict, lead="l", verdict="NOT PASSED", checks=checks)).splitlines()
    errors = [line for line in lines if line.startswith("::error")]
    assert len(errors) == 10
    assert errors[-1].endswith("::22 more")


def test_formats_are_listed(rank_models):
    """With the endings of their files."""
    assert {"junit", "github"} <= {*rank_models("ls", "formats")[1].split()}
    assert report.FORMATS["junit"] == "xml"
    assert junit.write(Document("t", [], [], [], dict)).startswith("<?xml")


def test_documents_of_a_toy_have_no_check():
    """Nobody asked for one."""
    full_document = document(toy_decision())
    assert (full_document.verdict, list(full_document.checks)) == ("", [])
