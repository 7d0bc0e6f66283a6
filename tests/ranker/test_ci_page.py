"""docs/ci.md: its commands print what it shows, and its workflows end as they should on logs that pass and fail."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml  # noqa: TID251 - a workflow is YAML
from logmaking import choice_row, eval_log, header, lm_log, sample

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
FILE = (ROOT / "docs" / "workflows" / "rank-models.yml").read_text(encoding="utf-8")
ON_GITHUB, ON_GITLAB = re.findall(r"(?ms)^```yaml\n(.*?)^```", PAGE)
SIZE = 120
WRONG = {"pass": range(12), "fail": range(40)}
"""Whether the check passes -> rows on which the candidate is wrong; the base is wrong on the first twelve."""


def write_lm_log(folder, wrong):
    """Write a log of lm-evaluation-harness in the folder of its model, as the program does."""
    rows = []
    for n in range(SIZE):
        chosen = 1 - n % 2 if n in wrong else n % 2
        rows.append(choice_row(n, {"q": n}, n % 2, [-1.0 - chosen, -2.0 + chosen], acc=float(n not in wrong)))
    lm_log(folder / "org__model", rows)


def write_inspect_log(folder, wrong):
    """Write a log of Inspect."""
    folder.mkdir(parents=True)
    ids = [f"s{n}" for n in range(SIZE)]
    eval_log(folder / "small.eval", [sample(ids[n], "I" if n in wrong else "C") for n in range(SIZE)], header(ids=ids))


WRITERS = {"lm-evaluation-harness": write_lm_log, "Inspect": write_inspect_log}


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """Write the logs of base and candidate: (writer, whether the check passes)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    def write(writer="lm-evaluation-harness", outcome="fail"):
        WRITERS[writer](tmp_path / "logs" / "base", WRONG["pass"])
        WRITERS[writer](tmp_path / "logs" / "candidate", WRONG[outcome])
        return tmp_path

    return write


def run_step(text, folder):
    """Run a step as GitHub does, with `rank-models` of this checkout on the PATH: (exit status, stdout, stderr)."""
    program = folder / "bin" / "rank-models"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m ranker "$@"\n')
    program.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "RANK_MODELS_STORE": str(folder / "store"),
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
        cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def steps_that_run(texts):
    """Return commands but that of the installation, which needs a network."""
    return [text for text in texts if not text.startswith("pip install")]


@pytest.mark.more
def test_the_commands_print_what_is_shown(logs, rank_models):
    """With the exit status that follows, else 0 or that of a check that fails."""
    logs()
    commands = [
        command
        for block in re.findall(r"(?ms)^```console\n(.*?)^```", PAGE)
        for command in re.split(r"(?m)^\$ ", block)
    ]
    statuses = []
    for typed, _, page_output in (command.partition("\n") for command in commands if command):
        if typed == "echo $?":
            assert int(page_output) == statuses[-1]
            continue
        status, out, err = rank_models(*shlex.split(typed)[1:])
        statuses.append(status)
        assert " ".join(out.split()).startswith(" ".join(page_output.split())), (typed, err)
    assert statuses == [3, 3, 0, 0]
    assert Path("report.html").read_text().count('<p class="verdict">NOT PASSED') == 1


def test_the_page_shows_the_workflow():
    """The same lines as in the file, below its comment."""
    assert FILE.endswith(ON_GITHUB)
    used = [step["uses"] for step in yaml.safe_load(FILE)["jobs"]["no-worse"]["steps"] if "uses" in step]
    own_text = "".join(path.read_text() for path in (ROOT / ".github" / "workflows").glob("*.yml"))
    assert used
    assert all(f"uses: {action} # v" in own_text for action in used)


@pytest.mark.more
@pytest.mark.parametrize(("outcome", "status"), [("pass", 0), ("fail", 3)])
@pytest.mark.parametrize("writer", WRITERS)
def test_the_workflow_goes_from_two_logs_to_a_check(logs, writer, outcome, status):
    """The workflow's steps give an exit status, annotations, and a summary, one after the other."""
    folder = logs(writer, outcome)
    steps = yaml.safe_load(FILE)["jobs"]["no-worse"]["steps"]
    (text,) = steps_that_run(step["run"] for step in steps if "run" in step)
    exit_status, out, err = run_step(text, folder)
    assert exit_status == status, err
    verdict = "PASSED: no worse than base" if outcome == "pass" else "NOT PASSED: not shown to be no worse than base"
    first, *other_lines = out.splitlines()
    assert re.match(rf"::{'notice' if outcome == 'pass' else 'error'} title=[^:]*::{verdict} by more than 5", first)
    assert all(re.match("::(notice|error) title=", line) for line in other_lines)
    summary = (folder / "summary.md").read_text()
    assert summary.startswith(verdict)
    assert "| lost |" in summary if outcome == "fail" else "| lost |" not in summary


@pytest.mark.more
@pytest.mark.parametrize(("outcome", "status"), [("pass", 0), ("fail", 3)])
def test_the_job_of_gitlab_leaves_tests(logs, outcome, status):
    """A file at the place that the job names, whose failures are the check's."""
    folder = logs(outcome=outcome)
    job = yaml.safe_load(ON_GITLAB)["no-worse"]
    (text,) = steps_that_run(job["script"])
    assert run_step(text, folder)[0] == status
    suite = ElementTree.parse(folder / job["artifacts"]["reports"]["junit"]).getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "0" if outcome == "pass" else "1")
    assert [case.get("name") for case in suite.iter("testcase")] == [
        "candidate is no worse than base",
        "nothing is absent",
    ]
