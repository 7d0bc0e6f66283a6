import json
import re

import pytest
from refusals import refuses

from ranker.errors import DataError, UsageError
from ranker.sources import suites
from ranker.sources.base import ResourceCache, SourceOptions
from ranker.sources.hf.kind import Checkpoint
from ranker.sources.suites import Model


def named(references):
    """The models of references, one or more."""
    return suites.name_models(references, SourceOptions(), ResourceCache())[1]


def write_suite(folder, names=("a", "b"), **extra):
    """A suite.json whose model folders exist."""
    for name in names:
        (folder / name).mkdir(parents=True, exist_ok=True)
    accuracy = {"hans-sub": {"accuracy": 0.5, "rows": 10, "fingerprint": "f" * 8}}
    models = [{"name": name, "path": name, "family": "mini", "ood_accuracy": accuracy} for name in names]
    content = {"schema_version": 1, "name": "toy", "task": "nli", "models": models, **extra}
    (folder / "suite.json").write_text(json.dumps(content))
    return folder / "suite.json"


@pytest.mark.parametrize("as_file", [True, False])
def test_a_suite_is_read_from_its_file_or_folder(tmp_path, as_file):
    """Paths in suite.json are relative to it; accuracies are found by the fingerprint of the rows."""
    file = write_suite(tmp_path)
    suite = suites.load([str(file if as_file else tmp_path)])
    assert suite.name == "toy"
    assert [model.name for model in suite.models] == ["a", "b"]
    assert suite.models[0].source.path == str(tmp_path / "a")
    assert suite.models[0].ood_accuracy == {"f" * 8: 0.5}


def test_a_member_named_by_its_directory_is_what_its_suite_says_it_is(tmp_path, monkeypatch):
    """The member has what the suite says of it, however its path is written; a directory beside it has nothing."""
    write_suite(tmp_path, names=("a", "b", "c"))
    (tmp_path / "other").mkdir()
    suite = suites.load([str(tmp_path / "a"), f"{tmp_path}/b/", str(tmp_path / "other")])
    assert suite.models[:2] == suites.load([str(tmp_path)]).models[:2]
    assert suite.models[2] == Model(Checkpoint("other", str(tmp_path / "other")))
    assert suite.name == "models"
    monkeypatch.chdir(tmp_path / "a")
    assert named(["."])[0].ood_accuracy == named(["../b"])[0].ood_accuracy == {"f" * 8: 0.5}


@pytest.mark.parametrize("models", [None, 5, [None], [{}], [{"name": "a", "path": 5}], "missing"])
def test_a_broken_suite_around_a_model_is_one_line(tmp_path, models):
    """As it is where the suite itself is named."""
    content = json.loads(write_suite(tmp_path).read_text())
    content = {**content, "models": models} if models != "missing" else {"schema_version": 1, "name": "toy"}
    (tmp_path / "suite.json").write_text(json.dumps(content))
    with refuses(UsageError, place=tmp_path / "suite.json"):
        suites.load([str(tmp_path / "a")])


@pytest.mark.parametrize("content", ['{"tests": []}', "[]"])
def test_a_file_of_others_beside_a_model_is_not_its_suite(tmp_path, content):
    """Others have a suite.json, too; nobody named it."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "suite.json").write_text(content)
    assert named([str(tmp_path / "mine")]) == (Model(Checkpoint("mine", str(tmp_path / "mine"))),)


@pytest.mark.parametrize("path", ["a\x00b", "\ud800", "a" * 5000])
def test_a_path_that_cannot_be_is_not_where_a_model_lies(tmp_path, path):
    """A broken member is no obstacle to the one that was named; a link is a member, too."""
    file = write_suite(tmp_path)
    content = json.loads(file.read_text())
    content["models"][0]["path"] = path
    file.write_text(json.dumps(content))
    (tmp_path / "b").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "b").symlink_to(tmp_path / "elsewhere")
    assert named([str(tmp_path / "b")])[0].family == "mini"


def test_directories_and_hub_ids_stand_side_by_side(tmp_path):
    """A name is the last part of what was given."""
    (tmp_path / "mine").mkdir()
    suite = suites.load([str(tmp_path / "mine"), "org/theirs@v2"])
    assert [(model.name, model.source.path) for model in suite.models] == [
        ("mine", str(tmp_path / "mine")),
        ("theirs@v2", "org/theirs@v2"),
    ]
    pulls = suites.load(["org/theirs@refs/pr/1", "their/theirs@refs/pr/1", "org/theirs@refs/pr/2"])
    assert [model.name for model in pulls.models] == [
        "org/theirs@refs/pr/1", "their/theirs@refs/pr/1", "theirs@refs/pr/2"
    ]  # fmt: skip


def test_directories_of_one_name_bear_that_of_the_folder_around_them(tmp_path):
    """A directory with a name of its own keeps it, and hub ids are named in full."""
    names = ["run-a/checkpoint-500", "run-b/checkpoint-500", "other"]
    for name in names:
        (tmp_path / name).mkdir(parents=True)
    references = [*(str(tmp_path / name) for name in names), "org/bert@v1", "mine/bert@v1", "mine/bert"]
    names += ["org/bert@v1", "mine/bert@v1", "bert"]
    assert [model.name for model in suites.load(references).models] == names
    assert [model.name for model in named(references)] == names


@pytest.mark.parametrize(
    ("references", "value", "place"),
    [
        (["org/one"], 1, ""),
        (["org/one", "org/one"], None, "org/one"),
        (["a=org/one", "a=org/two"], "a", ""),
        (["a=hans-sub-mini", "org/a"], "a=hans-sub-mini", ""),
        (["org/one#2", "org/a"], "2", "org/one"),
        (["./nowhere", "org/a"], "./nowhere", ""),
        (["a" * 5000, "org/a"], "a" * 5000, ""),
    ],
)
def test_a_wrong_list_of_models_is_refused(references, value, place):
    """Too few, twice the same name, a folder that is not there."""
    with refuses(UsageError, option="models", value=value, place=place):
        suites.load(references)


@pytest.mark.parametrize(
    ("content", "error", "value"),
    [
        ("{", DataError, None),
        ("[]", UsageError, None),
        ('{"schema_version": 2, "name": "x", "models": []}', UsageError, 2),
        ('{"schema_version": 1, "name": "x", "models": [{}]}', UsageError, None),
        (
            '{"schema_version": 1, "name": "x", "models": [{"name": "m", "path": "m", "label_map": ["entailment"]}]}',
            UsageError,
            None,
        ),
    ],
)
def test_a_wrong_suite_file_is_one_line(tmp_path, content, error, value):
    """Not JSON, not an object, of another schema, without a path, with a label map that is none."""
    (tmp_path / "suite.json").write_text(content)
    with refuses(error, value=value, place=tmp_path / "suite.json") as caught:
        suites.load([str(tmp_path)])
    assert "\n" not in str(caught.value)


def test_a_name_of_ones_own_stands_before_a_reference(tmp_path):
    """Tables call the model by it, and its place stays."""
    (tmp_path / "mine").mkdir()
    suite = suites.load([f"old={tmp_path / 'mine'}", "new=hf:org/theirs@v2"])
    assert [(model.name, model.source.path) for model in suite.models] == [
        ("old", str(tmp_path / "mine")),
        ("new", "org/theirs@v2"),
    ]


def test_a_folder_that_holds_checkpoints_is_its_checkpoints(tmp_path):
    """In the order of their numbers; a folder that is a checkpoint itself, as a trainer leaves it, is that one."""
    for name in ("checkpoint-1000", "checkpoint-500", "adapter-9"):
        (tmp_path / "run" / name).mkdir(parents=True)
        kind = "adapter_config.json" if name.startswith("adapter") else "config.json"
        (tmp_path / "run" / name / kind).write_text("{}")
    (tmp_path / "run" / "logs").mkdir()
    suite = suites.load([str(tmp_path / "run")])
    assert suite.name == "run"
    assert [model.name for model in suite.models] == ["adapter-9", "checkpoint-500", "checkpoint-1000"]
    (tmp_path / "run" / "config.json").write_text("{}")
    assert [model.source.path for model in named([str(tmp_path / "run")])] == [str(tmp_path / "run")]


def test_one_model_under_two_names_is_pointed_out(tmp_path, caplog):
    """By way of a link, too; it is ranked twice, which may be what somebody wants to see."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    suites.load([str(tmp_path / "mine"), f"again={tmp_path / 'link'}", "org/other"])
    assert caplog.messages == [f"mine and again are one model: both are {tmp_path / 'mine'}"]
    with refuses(UsageError, option="models", place=tmp_path / "mine") as refused:
        suites.load([str(tmp_path / "mine"), str(tmp_path / "link")])
    (line,) = re.findall("`models (.*)`", str(refused.value))
    assert [model.name for model in suites.load(line.split()).models] == ["mine", "mine-again"]


@pytest.mark.parametrize("suite", ["hans-sub-minilm", "paws-mpnet"])
def test_a_larger_suite_that_is_not_made_yet_says_what_makes_it(suite):
    """With what it takes; a name that only ends like one is an unknown name, as ever."""
    with refuses(UsageError, option="models", value=suite) as refused:
        suites.load([suite])
    assert "8 models of" in str(refused.value)
    assert f"`python -m experiments inoculate RECIPE --data-dir DIR -o {suite}` makes it" in str(refused.value)
    with pytest.raises(UsageError, match="no file, directory"):
        suites.load(["mine-mpnet"])
