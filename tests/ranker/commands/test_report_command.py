"""`rank-models report`, and files that are there already, as a user meets them."""

import json
import sys

import pytest
from test_report_formats import toy, toy_decision, with_header

from ranker import report
from ranker.results.header import Provenance
from ranker.results.ranking import Ranking


@pytest.fixture
def run(tmp_path, monkeypatch, rank_models):
    """`rank-models` in a folder of its own: arguments -> (exit status, stdout, stderr)."""
    monkeypatch.setenv("RANK_MODELS_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    toy().save("run.json")
    toy_decision().save("decision.json")

    return rank_models


def test_no_model_library_is_loaded(run, monkeypatch):
    """A report comes from the file alone."""
    for name in ("torch", "transformers", "captum"):
        monkeypatch.setitem(sys.modules, name, None)
    assert run("report", "run.json") == (0, report.render(toy(), "table"), "")


@pytest.mark.parametrize("name", report.TEXTS)
def test_the_ending_of_a_file_means_its_format(run, tmp_path, name):
    """In capitals, too; that of plain text means the table, which has it before the pairs."""
    file = f"page.{report.TEXTS[name].upper()}"
    assert run("report", "run.json", "-o", file) == (0, "", "")
    assert (tmp_path / file).read_text(encoding="utf-8") == report.render(toy(), "table" if name == "pairs" else name)


@pytest.mark.parametrize("name", report.TEXTS)
def test_several_runs_are_a_file_each(run, tmp_path, name):
    """Each run's report is that of the run alone, in a folder, under the run's own name."""
    assert run("report", "run.json", "decision.json", "--format", name.upper(), "-o", "all") == (0, "", "")
    ending = report.TEXTS[name]
    texts = {file.name: file.read_text(encoding="utf-8") for file in (tmp_path / "all").iterdir()}
    assert texts == {
        f"run.{ending}": report.render(toy(), name),
        f"decision.{ending}": report.render(toy_decision(), name),
    }
    status, _, err = run("report", "run.json", "decision.json", "-o", "all")
    assert status == 2
    assert "all is there already; `--force` writes over it" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("run.json decision.json", "`--output FOLDER` is needed for 2 runs, a file each"),
        ("run.json ./run.json -o all", "two of the runs would be written to run.txt; report them one by one"),
        ("run.json decision.json -o all --plots p", "`--plots` takes one run (got 2)"),
        ("run.json decision.json -o run.json", "`--output`: run.json must be a folder, and is a file"),
        ("run.json none.json -o all", "none.json cannot be read as a ranking: No such file or directory"),
    ],
)
def test_wrong_reports_of_several_runs_get_one_line(run, tmp_path, arguments, message):
    """And nothing is written, also where the first run could be."""
    status, out, err = run("report", *arguments.split())
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--format jsn", "there is no format 'jsn'; did you mean json?"),
        ("-o run.json", "`--output`: run.json is there already; `--force` writes over it"),
        ("-o no/run.txt", "`--output`: no/run.txt cannot be written: there is no folder no"),
    ],
)
def test_wrong_reports_get_one_line(run, arguments, message):
    """Nothing is printed or written, and the status is that of a wrong argument."""
    status, out, err = run("report", "run.json", *arguments.split())
    assert (status, out) == (2, "")
    assert err.startswith(f"rank-models: {message}")
    assert err.count("\n") == 1


WHOLE = json.dumps({"schema_version": 2, "evaluation": {}})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read as a ranking"),
        (b"\x00\xff\xfe\x80binary", "cannot be read as a ranking"),
        (b"\x1f\x8b\x08\x00", "cannot be read as a ranking"),
        (b"[" * 100_000, "cannot be read as a ranking"),
        (WHOLE[:-5].encode(), "cannot be read as a ranking"),
        (WHOLE.encode(), "is no whole ranking"),
        (b'"text"', "must be a ranking of schema 2 (got None); rank again"),
        (b'{"schema_version": 99}', "must be a ranking of schema 2 (got 99); rank again"),
        (
            b'{"schema_version": 1, "mode": "evaluation"}',
            "must be a ranking of schema 2 (got 1); rank again: what the models answered is in the store, and none is",
        ),
        (None, "cannot be read as a ranking: Is a directory"),
    ],
    ids=[
        "empty", "binary", "gzip", "deep", "truncated", "parts missing", "other JSON", "newer schema", "older schema",
        "folder",
    ],
)  # fmt: skip
def test_what_is_no_run(run, tmp_path, content, message):
    """A file that is empty, binary, cut off, newer, of something else, or a folder, is one line and exit status 2."""
    path = tmp_path / "bad"
    path.mkdir() if content is None else path.write_bytes(content)
    status, out, err = run("report", path)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_run_that_is_cut_off(run, tmp_path, share):
    """Wherever it ends."""
    full_content = (tmp_path / "run.json").read_bytes()
    (tmp_path / "run.json").write_bytes(full_content[: int(share * len(full_content))])
    status, out, err = run("report", "run.json")
    assert (status, out) == (2, "")
    assert "cannot be read as a ranking" in err


def test_a_run_of_an_older_program(run, tmp_path):
    """Keys that were added within a version may be missing: they are as if they had not been measured."""
    full_report = json.loads((tmp_path / "run.json").read_text())
    for key in ("metric", "attribution", "failures", "left_out", "failed_factors", "quality", "notes", "provenance"):
        del full_report["header"][key]
    evaluation = full_report["evaluation"]
    del evaluation["notes"]
    for model in evaluation["models"]:
        del model["in_domain"], model["expected_rank"], model["scores"], model["misled"]
    for method in evaluation["methods"]:
        del method["curve"], method["splits"], method["dropped"], method["rule"], method["designed"]
    (tmp_path / "run.json").write_text(json.dumps(full_report))
    for name in report.TEXTS:
        status, out, _ = run("report", "run.json", "--format", name)
        assert status == 0
        assert "INDEX-DIFF" in out


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("provenance", {"settings": 5}, "`settings` must be a table: `[settings]` (got 5)"),
        ("provenance", {"versions": ["1.0"]}, "`versions` must be a table: `[versions]` (got ['1.0'])"),
        ("provenance", {"data": 8}, "`header.provenance.data` must be a table: `[header.provenance.data]` (got 8)"),
        ("provenance", {"dtype": 7}, "`dtype` must be a string (got 7)"),
        ("provenance", {"commando": "x"}, "no key of `[header.provenance]` 'commando'; did you mean command?"),
        ("quality", {"a": {"truncated": 1}}, "`[header.quality.a]` needs the key `error_median`"),
        ("left_out", ["NLL"], "`left_out` must be a table: `[left_out]` (got ['NLL'])"),
        ("metric", "F1", "`metric` must be those of the table (one side alone has 'ACC')"),
    ],
)
def test_what_a_run_was_made_from_is_checked(run, tmp_path, key, value, message):
    """A value of another type is named when the run is read, not met in the middle of a report."""
    full_report = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(full_report | {"header": full_report["header"] | {key: value}}))
    for name in report.TEXTS:
        status, out, err = run("report", "run.json", "--format", name)
        assert (status, out) == (2, "")
        assert message in err


def test_a_run_of_a_newer_program(run, tmp_path):
    """A key that this program does not know is named, not dropped in silence."""
    full_report = json.loads((tmp_path / "run.json").read_text())
    for newer in (
        full_report | {"colour": "red"},
        full_report | {"header": full_report["header"] | {"colour": "red"}},
        full_report | {"evaluation": full_report["evaluation"] | {"colour": "red"}},
    ):
        (tmp_path / "run.json").write_text(json.dumps(newer))
        status, out, err = run("report", "run.json")
        assert (status, out) == (2, "")
        assert "'colour'" in err


def test_nothing_is_written_over_without_force(run, tmp_path):
    """`--output` and `--save` of every command leave what is there alone, before any work; `--force` does not."""
    (tmp_path / "there").write_text("old")
    for command in (
        ("--ood", "hans-sub", "-o", "there"),
        ("--ood", "hans-sub", "--save", "there"),
        ("explain", "--ood", "hans-sub", "--id", "x", "-o", "there"),
        ("report", "run.json", "-o", "there"),
    ):
        status, _, err = run(*command)
        assert status == 2
        assert "there is there already; `--force` writes over it" in err
        assert (tmp_path / "there").read_text() == "old"
    assert not (tmp_path / "store").exists()
    assert run("report", "run.json", "-o", "there", "--force") == (0, "", "")
    assert (tmp_path / "there").read_text() == report.render(toy(), "table")


def test_half_a_surrogate_pair_is_written(run, tmp_path):
    """A name that is no whole Unicode, as a folder's may be, is escaped, in a file and on a terminal."""
    text = (tmp_path / "run.json").read_text()
    name = json.loads(text)["evaluation"]["models"][0]["name"]
    (tmp_path / "odd.json").write_text(text.replace(json.dumps(name), json.dumps("\udcff")))
    status, out, _ = run("report", "odd.json", "--format", "json")
    assert status == 0
    assert json.loads(out)["evaluation"]["models"][0]["name"] == "\udcff"
    assert run("report", "odd.json", "-o", "odd.txt")[0] == 0


def test_half_a_surrogate_pair_is_kept(tmp_path):
    """A run with such a name, or made by a command with one, is saved, and comes back as it was."""
    odd_ranking = with_header(toy(note="\udcff"), provenance=Provenance(command="rank-models --models \udcff"))
    odd_ranking.save(tmp_path / "odd.json")
    back = Ranking.load(tmp_path / "odd.json")
    assert back.header == odd_ranking.header
