"""Options of a kind of source: a record, of whose fields the flags are made."""

import json
import os
import pickle  # noqa: TID251  # options travel to processes
import subprocess
import sys
from dataclasses import dataclass

import click
import numpy as np
import pytest
from click.testing import CliRunner
from refusals import refuses

from ranker import (
    CheckpointOptions,
    EndpointOptions,
    LMOptions,
    LogOptions,
    SourceOptions,
    TableOptions,
    UsageError,
    load_suite,
    option,
)
from ranker.commands.options import flags_from
from ranker.sources import kinds
from ranker.sources.options import flags_of, from_flags, non_defaults

PROMPTED = """
from dataclasses import dataclass

import numpy as np

from ranker import TextSource, option


@dataclass(frozen=True)
class Options:
    temperature: float = option(1.0, "Of prompted models: how random answers are.", metavar="T")


@dataclass(frozen=True)
class Prompted(TextSource):
    name: str
    temperature: float

    def labels(self):
        return ("non-entailment", "entailment")

    def content(self):
        return f"prompted at {self.temperature}"

    def probabilities(self, texts):
        sure = 1 / (1 + np.exp(-len(texts[0]) / self.temperature))
        return np.tile([1 - sure, sure], (len(texts), 1))


def claims(reference, options):
    return False


def sources(reference, options, cache):
    return [Prompted(reference.place, options.of(Options).temperature)]
"""
"""A kind of source with an option of its own."""


@pytest.fixture
def command(tmp_path):
    """Runs `rank-models` in a process that has the kind installed, as pip leaves it on disk."""
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rank_models.sources]\nprompted = theirs\n")

    def run(*arguments, kind=PROMPTED):
        (tmp_path / "theirs.py").write_text(kind)
        paths = [str(tmp_path), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "1",  # what is compiled goes by seconds and sizes, and a test writes two alike
            "RANK_MODELS_STORE": str(tmp_path / "store"),
        }
        line = [sys.executable, "-m", "ranker", *map(str, arguments)]
        return subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)

    return run


ASKED = ("explain", "--ood", "hans-sub", "--text", "a b", "--text", "a", "--models", "prompted:one", "--format", "json",
         "--attribution", "occlusion:hide=remove", "--no-isolate", "--quiet")  # fmt: skip


def sureness(done):
    """Probability that the model gives entailment."""
    assert done.returncode == 0, done.stderr
    (reading,) = json.loads(done.stdout)["models"]
    return reading["probabilities"]["entailment"]


@pytest.mark.more
def test_a_package_adds_a_flag_by_declaring_it(command, tmp_path):
    """The flag stands in the help, its value reaches the model, and a file of options may say it."""
    for name, help_option in (("explain", "--help-all"), ("shift", "--help")):
        assert "--temperature T" in command(name, help_option).stdout
    assert sureness(command(*ASKED)) == pytest.approx(1 / (1 + np.exp(-2)))
    assert sureness(command(*ASKED, "--temperature", "4")) == pytest.approx(1 / (1 + np.exp(-0.5)))
    (tmp_path / "a.toml").write_text("temperature = 4\n")
    assert sureness(command(*ASKED, "--config", "a.toml")) == pytest.approx(1 / (1 + np.exp(-0.5)))


@pytest.mark.more
def test_a_flag_of_a_kind_that_no_reference_is_of_is_refused(command):
    """By its name, before a model is opened; and so where there is no model."""
    done = command("--ood", "hans-sub", "--temperature", "4", "--dry-run")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == ("rank-models: none of these models reads `--temperature`; leave it out")

    done = command("shift", "hans-sub", "paws", "--temperature", "4")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("none of these models reads `--temperature`; leave it out\n")


def test_options_that_are_no_record_are_told_of(command):
    """In one line, with the package's name."""
    done = command("run", "--help", kind=f"{PROMPTED}\nOptions = 3\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "rank-models: the package 'theirs', entry point 'prompted' of 'rank_models.sources': "
    )
    assert done.stderr.endswith("`Options` must be a dataclass (got 3 in theirs)\n")


@pytest.mark.more
def test_a_package_takes_no_flag_of_ours(command):
    """Nor the name under which the value of one is kept: one of the two would be lost."""
    for name, stated in (("seed", "--seed"), ("norm", "norm")):
        kind = PROMPTED.replace("    temperature: float = option", f"    {name}: float = option")
        done = command("run", "--help", kind=kind)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"a package adds an option that there is already: {stated}" in done.stderr


@dataclass(frozen=True)
class Options:
    """An option of each shape."""

    word: str = option("", "A word.")
    words: tuple[str, ...] = option((), "Words.", metavar="W")
    share: float = option(0.5, "A share.")
    pair: tuple[int, int] | None = option(None, "Two.", type=(int, int), name="two")
    sure: bool = option(False, "A switch.")
    rule: str = option("a", "A rule.", choices=("a", "b"))
    parts: tuple[str, ...] | None = option(None, "Parts.", parse=lambda text: tuple(text.split("+")))


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", Options()),
        ("--word x --words y --words z", Options(word="x", words=("y", "z"))),
        ("--share 0.25 --two 3 4", Options(share=0.25, pair=(3, 4))),
        ("--sure --rule b --parts p+q", Options(sure=True, rule="b", parts=("p", "q"))),
        ("--share 0.5 --rule a", Options()),
    ],
)
def test_what_is_typed_becomes_the_record(typed, expected):
    """A default's type is the flag's; a switch, a list, a pair and a choice are what click has for them."""
    records = []
    program = click.command()(flags_from(Options)(lambda **values: records.append(from_flags(Options, values))))
    done = CliRunner().invoke(program, typed.split())
    assert (done.exit_code, records) == (0, [expected])
    changed = {name: value for name, value in vars(expected).items() if value != vars(Options())[name]}
    assert non_defaults(expected) == changed


def test_what_two_kinds_share_is_one_flag():
    """A shared flag stands behind those of one kind, and means the same of both."""
    program = flags_from(TableOptions, LogOptions)(lambda: None)
    names = [parameter.name for parameter in reversed(program.__click_params__)]
    alone = ["prediction", "truth", "id_column", "answers", "by_order", "metric", "filter", "scorer", "reducer"]
    assert names == [*alone, *SHARED]
    for name in SHARED:
        assert flags_of(TableOptions)[name] == flags_of(LogOptions)[name]


SHARED = ("runs", "cluster", "scale", "lower_is_better", "errors")
"""What tables and logs have in common."""


def test_every_kind_of_ours_has_its_flags():
    """The records that the commands are made from are those that the kinds declare."""
    declared = {getattr(kind, "Options", None) for kind in kinds.available_kinds().values()}
    assert declared == {CheckpointOptions, EndpointOptions, LMOptions, LogOptions, TableOptions}


@pytest.mark.parametrize(("record", "option", "value"), [
    (TableOptions, "answers", "words"), (TableOptions, "encoding", "utf-99"), (LogOptions, "scale", (1, 1)),
    (LogOptions, "errors", "lost"), (TableOptions, "runs", "all"),
])  # fmt: skip
def test_what_cannot_be_right_is_refused_when_it_is_said(record, option, value):
    """By the record itself, before a file is read."""
    with refuses(UsageError, option=option, value=value):
        record(**{option: value})


def test_options_are_a_record():
    """Frozen, hashable, equal where they say the same, and the same behind a pickle; of a kind there is one."""
    options = SourceOptions({"a": "b"}, kinds=[TableOptions(prediction=("x",)), LogOptions(metric="acc")])
    again = pickle.loads(pickle.dumps(options))  # noqa: S301  # our own
    assert (again, hash(again)) == (options, hash(options))
    assert options != SourceOptions({"a": "b"})
    assert (options.of(TableOptions).prediction, options.of(LogOptions).metric) == (("x",), "acc")
    assert SourceOptions().of(LogOptions) == LogOptions()
    with refuses(UsageError, option="kinds"):
        SourceOptions(kinds=[LogOptions(), LogOptions()])


def test_what_is_said_of_other_kinds_is_refused_from_python(tmp_path):
    """Options that tables and logs share pass where one of both is there, and so does an encoding of rows."""
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("id,prediction,label,doc\n1,x,x,p\n2,y,x,q\n")
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    with refuses(UsageError, option="cluster"):
        load_suite(files, SourceOptions(kinds=[LogOptions(metric="acc", cluster="doc")]))
    kind_options = [TableOptions(cluster="doc"), LogOptions(cluster="doc")]
    assert len(load_suite(files, SourceOptions(kinds=kind_options)).models) == 2
    with refuses(UsageError, option="truth"):
        load_suite(["hans-sub-mini"], SourceOptions(kinds=[TableOptions(truth="x", encoding="cp1252")]))
    load_suite(["hans-sub-mini"], SourceOptions(kinds=[TableOptions(encoding="cp1252"), LogOptions(errors="left-out")]))
