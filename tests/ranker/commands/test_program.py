"""Messages of the library name parameters; the command line says options instead, in one place."""

import ast
import json
import logging
from pathlib import Path

import click
import pytest

from ranker.cli import cli
from ranker.commands import stderr
from ranker.commands.explain import explain
from ranker.commands.program import FlagContext, escape_text, flags, insert_flags, name_flags, run_program
from ranker.commands.run import run as run_command
from ranker.errors import DataError, LabelError, UsageError
from ranker.sources import suites

ROOT = Path(__file__).resolve().parents[3]
FEW = [model.source.path for model in suites.load(["hans-sub-mini"]).models[::7]]


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("`probe` must be at least 1", "`--probe` must be at least 1"),
        ("`norm` must be one of `raw`, `l1`", "`--normalise` must be one of `raw`, `l1`"),
        ("`normalise`, too", "`--normalise`, too"),
        ("needs labelled rows: `in_domain`", "needs labelled rows: `--in-domain`"),
        ("name more with `models`, or `more_models`", "name more with `--models`, or `more_models`"),
        ("`store`: /x cannot be opened", "`--store`: /x cannot be opened"),
        ("`ood` and `ood_name`", "`--ood` and `--ood`"),
        ("`methods`, `factors`, `method`", "`--methods`, `--factors`, `--method`"),
        ("`isolate`, `no_isolate`, `output`", "`--isolate`, `no_isolate`, `--output`"),
        ("set `attribution` to `none`", "set `--attribution` to `none`"),
        ("`attribution ig:steps=many`: no", "`--attribution ig:steps=many`: no"),
        ("with `attribution=lime:hide=pad`.", "with `--attribution lime:hide=pad`."),
        ("`task=NAME` is needed", "`--task NAME` is needed"),
        ('say `label_map={"LABEL_0": "it\'s"}`', """say `--label-map '{"LABEL_0": "it'"'"'s"}'`"""),
        ("the setting `target=yes` of `attribution`", "the setting `target=yes` of `--attribution`"),
        ("`steps` is no option, nor is `Probe`", "`steps` is no option, nor is `Probe`"),
        ("type `rank-models fetch x --data-dir DIR`", "type `rank-models fetch x --data-dir DIR`"),
        ("probe, or ``probe``: `--probe`", "probe, or ``probe``: `--probe`"),
    ],
)
def test_a_parameter_becomes_the_option_that_says_it(text, page):
    """By the option's own name or that of its variable; whatever else stands between backticks stays."""
    assert insert_flags(text, flags(run_command)) == page
    assert insert_flags(page, flags(run_command)) == page


def test_each_command_has_its_own_options():
    """`target` is an option of `run` alone; all of a command's options are known by their variables."""
    assert insert_flags("see `target`", flags(explain)) == "see `target`"
    assert insert_flags("see `target`", flags(run_command)) == "see `--target`"
    commands = [
        *cli.commands.values(),
        *(inner for group in cli.commands.values() for inner in getattr(group, "commands", {}).values()),
    ]
    for command in commands:
        flags_of_command = flags(command)
        for option in command.params:
            assert isinstance(option, click.Argument) or flags_of_command[option.name] in option.opts


@pytest.mark.parametrize(
    ("arguments", "opening"),
    [
        ("--ood hans-sub --probe 601", "`--probe` must be between 1 and 600, the rows of hans-sub that are explained"),
        ("run --ood hans-sub --attribution ig:steps=many", "`--attribution ig:steps=many`: `steps` must be a whole"),
        ("--ood hans-sub --data-dir none", "`--data-dir` must be a folder that exists (got none)"),
        ("--ood hans-sub --models {one}", "a ranking needs at least two models (got 1); name more with `--models`"),
        ("--ood hans-sub --device gpu", "`--device` must be one that torch can use here (got 'gpu')"),
        ("--ood hans-sub --store no-such://x", "`--store`: no-such://x cannot be opened"),
        (
            "--data rows.csv --models {one} {two}",
            "rows.csv, line 1: no column has a usual name for the text; say which: `--columns text=NAME,label=NAME`",
        ),
        (
            "--data pair.csv --models {one} {two} --method surrogate",
            "`--method`: SURROGATE needs rows without labels: `--pool`",
        ),
        (
            "--data pair.csv --pool pair.csv --models {one} {two} --method atc",
            "`--method`: ATC cannot order these models: needs labelled rows: `--in-domain`",
        ),
        (
            "explain --ood hans-sub --text One. --text Two. --models {one} --toward entailment "
            "--attribution shap:output=logit,target=non-entailment",
            "`--toward` entailment: the scores speak for non-entailment alone; see `target` of `--attribution` shap",
        ),
        ("label --pool pair.csv --batch 9 --models {one} {two}", "`--batch` must be between 1 and 1, the rows of "),
        ("store info --store none", "`--store`: there is no folder none"),
        ("fetch hans-sub --data-dir x --url ftp://x", "`--url` must begin with https://, http:// or hf:// (got ftp://x)"),
    ],
)  # fmt: skip
def test_an_error_names_the_options_of_the_command_that_ran(run, tmp_path, arguments, opening):
    """Whichever command that is, the default one and those of a group among them, and wherever the error arose."""
    (tmp_path / "rows.csv").write_text("before,label\nThe cook ran.,entailment\n")
    (tmp_path / "pair.csv").write_text("premise,hypothesis,label\nThe cook ran.,It ran.,entailment\nA,B,\n")
    status, out, err = run(*(part.format(one=FEW[0], two=FEW[1]) for part in arguments.split()))
    assert status in (1, 2)
    assert out == ""
    (line,) = [line for line in err.splitlines() if line.startswith("rank-models: ")]
    assert line.removeprefix("rank-models: ").startswith(opening)


def test_what_a_file_says_is_no_option(run, tmp_path):
    """Keys of files bear the names of options by chance: a message that quotes what is wrong with them leaves them."""
    (tmp_path / "suite.json").write_text(json.dumps({"schema_version": 1, "name": "a", "models": "many"}))
    status, _, err = run("--ood", "hans-sub", "--models", "suite.json")
    assert status == 2
    assert "`--models`" not in err
    (tmp_path / "card.toml").write_text('description = "d"\nsource = "s"\nlicence = "l"\npopulation = 0\n'
                                        '[task]\nname = "t"\nlabels = ["a", "b"]\n')  # fmt: skip
    status, _, err = run("--ood", "hans-sub", "--include", tmp_path)
    assert status == 2
    assert "`population` must be at least 1 (got 0)" in err


def raising(error, *options):
    """A program of one command in a group, which ends with an error."""

    @click.group()
    def program():
        """All."""

    @program.command()
    def fails(**_):
        """One."""
        raise error

    for option in options:
        fails.params.append(click.Option([option]))
    return program


@pytest.mark.parametrize(
    ("error", "cause", "line"),
    [
        (UsageError("`probe` is too large"), None, "p: `--probe` is too large"),
        (DataError("x.json: `probe` is a key"), ValueError("`probe` is a key"), "p: x.json: `probe` is a key"),
        (
            UsageError("`probe`: `probe` is a key; see `probe`"),
            ValueError("`probe` is a key"),
            "p: `--probe`: `probe` is a key; see `--probe`",
        ),
        (LabelError("a: `probe`"), UsageError("`probe`"), "p: a: `--probe`"),
        (UsageError("\x1b `probe`"), None, "p: \\x1b `--probe`"),
        (UsageError(), None, "p: "),
    ],
)
def test_what_an_error_quotes_of_another_stays(capsys, error, cause, line):
    """The library's error is translated as a whole, and said as it always was: in one line."""
    error.__cause__ = cause
    with pytest.raises(SystemExit) as stop:
        run_program(raising(error, "--probe"), "p", ["fails"], "stopped")
    assert stop.value.code == error.exit_code
    assert capsys.readouterr().err == f"{line}\n"


def test_an_error_of_another_kind_is_left_alone():
    """An error that no user can meet keeps its words and its traceback."""
    with pytest.raises(ZeroDivisionError, match="^`probe`$"):
        run_program(raising(ZeroDivisionError("`probe`"), "--probe"), "p", ["fails"], "stopped")


def test_lines_of_the_log_name_options_while_a_command_runs(capsys):
    """And parameters where none does, as in a program of somebody else."""
    stderr.log({"quiet": False, "verbose": False})
    logger = logging.getLogger("ranker")
    logger.warning("%s: name %s", "`store`", "`probe`")
    with FlagContext(run_command):
        logger.warning("%s: say %s", "`store`", "`probe`")
        assert name_flags("`norm`") == "`--normalise`"
    assert name_flags("`norm`") == "`norm`"
    assert capsys.readouterr().err.splitlines() == ["`store`: name `probe`", "`--store`: say `--probe`"]


@pytest.mark.more
def test_notes_and_reasons_of_a_run_name_options(run, tmp_path):
    """Reasons for what is left out or absent name options: on the screen, in JSON and in what is kept."""
    (tmp_path / "ten.csv").write_text(
        "premise,hypothesis,label\n"
        + "".join(f"The cook ran {n} miles.,It ran.,entailment\n" for n in range(4))
        + "A,B,\n"
    )
    decision = ("--data", "ten.csv", "--models", *FEW, "--attribution", "none", "--format", "json")
    status, out, _ = run(*decision, "--save", "run.json")
    note = "1 row has no label yet, and counts only in a pool (`--pool`)."
    assert (status, note in json.loads(out)["header"]["notes"]) == (0, True)
    assert note in json.loads((tmp_path / "run.json").read_text())["header"]["notes"]
    evaluation = ("--ood", "hans-sub", "--limit", "20", "--methods", "ATC", "--attribution", "none", "--models", *FEW)
    status, out, err = run(*evaluation, "no/model", "--format", "json")
    header = json.loads(out)["header"]
    assert status == 1
    assert header["left_out"]["ATC"] == "needs labelled rows: `--in-domain`"
    assert header["failures"]["model"].startswith("`--models`: no/model is no directory")
    assert "model is left out: `--models`: no/model is no directory" in err


OSC = "\x1b]52;c;aGFjaw==\x07\u202e"
"""What writes to the clipboard of some terminals, and turns the direction of writing."""


@pytest.fixture
def talks(run, tmp_path):
    """Ends with what others wrote, in a way that is named: (exit status, stdout, stderr)."""
    rows = [{"id": f"r{n}", "text": f"Row {n}.", "label": f"{n % 2}{OSC}"} for n in range(6)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in "ab":
        predictions = [{"id": row["id"], "prediction": f"stray {OSC}" if n < 2 else row["label"]}
                for n, row in enumerate(rows)]  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in predictions))

    def call(way):
        if way == "an error":
            return run("--data", "rows.jsonl", "--models", "a.jsonl", "b.jsonl", "--truth", f"no {OSC}")
        if way == "an option":
            return run("--limit", f"many{OSC}")
        if way == "a column":
            return run("--data", "rows.jsonl", "--columns", f"text={OSC}")
        arguments = ("label", "--pool", "rows.jsonl", "--models", "a.jsonl", "b.jsonl", "-o", "x.csv")
        return run(*arguments, *(("--batch", "2") if way == "a batch" else ("--plain",)))

    return call


@pytest.mark.parametrize("way", ["an error", "an option", "a column", "a batch", "a session"])
def test_nothing_that_others_wrote_is_obeyed(talks, way):
    """Whatever it is quoted in: it is shown as text."""
    _, out, err = talks(way)
    assert out + err
    assert not {"\x1b", "\x07", "\u202e"} & {*out, *err}


def test_what_libraries_say_is_inert(run, capsys, caplog, monkeypatch):
    """Warnings of Python, and the log of a library that has no handler."""
    import warnings

    stderr.log({"quiet": False, "verbose": False})
    handler = logging.lastResort
    assert handler is not None
    line = logging.LogRecord("theirs", logging.WARNING, "", 0, f"said {OSC}", (), None)
    assert handler.format(line) == "said \\u001b]52;c;aGFjaw==\\u0007\\u202e"
    logging.captureWarnings(False)
    with caplog.at_level(logging.WARNING), warnings.catch_warnings():
        warnings.simplefilter("always")
        stderr.log({"quiet": False, "verbose": False})
        warnings.warn(f"wrong {OSC}", stacklevel=1)
        logging.captureWarnings(False)
    assert [record.name for record in caplog.records] == ["py.warnings"]


def test_lines_are_cut():
    """Each by itself, with how long it was."""
    assert escape_text(f"{'a' * 2_000}\n{'b' * 5_000}") == f"{'a' * 2_000}\n{'b' * 2_000}... (5,000 characters)"


@pytest.mark.more
def test_nothing_is_told_in_another_way():
    """One function tells; reports, what is asked, and the log have a place of their own each, which escapes as well."""
    allowed = {
        "ranker/commands/program.py": 1,  # say
        "ranker/commands/outputs.py": 1,  # an answer in its format, which escapes
        "ranker/commands/labelling_ui.py": 1,  # rows, of which each is made visible
        "ranker/commands/options.py": 1,  # help of all options, which is ours
    }
    texts = {}
    for file in sorted(ROOT.glob("ranker/**/*.py")) + sorted(ROOT.glob("experiments/**/*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                if name in ("print", "click.echo", "click.secho", "click.prompt") or name.endswith(
                    ("stderr.write", "stdout.write")
                ):
                    key = file.relative_to(ROOT).as_posix()
                    texts[key] = texts.get(key, 0) + 1
    assert {key: count for key, count in texts.items() if count != allowed.get(key)} == {}


def test_a_current_folder_that_is_gone_is_not_taken_for_stdout(monkeypatch, capsys, tmp_path):
    """`os.getcwd` names no file in its error, and nor does a stream that cannot be written."""
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(FileNotFoundError) as caught:
        Path.cwd()
    with pytest.raises(SystemExit) as stop:
        run_program(raising(caught.value, "--probe"), "p", ["fails"], "stopped")
    assert (stop.value.code, capsys.readouterr().err) == (1, "p: the current folder is gone; go to another one\n")
