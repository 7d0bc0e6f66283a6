"""Files that do harm: checkpoints, suites, names and others, each with a canary that must not appear."""

import gzip
import json
import os
import pickle  # noqa: TID251  # bombs are made of it
import shutil
import tracemalloc
from pathlib import Path

import pytest
from asking import Subject
from conftest import TASK
from refusals import refuses
from safetensors.torch import load_file, save_file

from factors.types import Example
from ranker.datasets.cards import read_card
from ranker.errors import DataError, ModelError, UsageError
from ranker.files import reader
from ranker.limits import Limits
from ranker.runtime.store import Store
from ranker.sources import suites
from ranker.sources.base import SourceOptions
from ranker.sources.hf.checkpoints import locate
from ranker.sources.hf.files import content_hash
from ranker.sources.hf.kind import Checkpoint

EXAMPLE = Example("a", ("The doctor saw the actor.", "An old judge danced."), 1)


@pytest.fixture
def canary(tmp_path):
    """A file that harmful code would create."""
    file = tmp_path / "canary"
    yield file
    assert not file.exists()


@pytest.fixture
def model(checkpoint, tmp_path):
    """A copy of a tiny checkpoint, to be poisoned."""
    return Path(shutil.copytree(checkpoint("bert"), tmp_path / "model"))


def refusal(model, **options):
    """The one line that a checkpoint is refused with."""
    source = Checkpoint("tiny", str(model), options=SourceOptions(**options))
    subject = Subject(source, TASK, store=Store(model.parent / "store"))
    with pytest.raises(ModelError) as caught:
        subject.predictions([EXAMPLE])
    assert "\n" not in str(caught.value)
    return str(caught.value)


def change(file, **values):
    """Set values in a JSON file."""
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


class Bomb:
    """Unpickled, it creates a file."""

    def __init__(self, file):
        self.file = str(file)

    def __reduce__(self):
        return (open, (self.file, "w"))


def test_the_bomb_works(tmp_path):
    """Were it unpickled, the canary would be there: the tests below could fail."""
    pickle.loads(pickle.dumps(Bomb(tmp_path / "there"))).close()  # noqa: S301  # our own
    assert (tmp_path / "there").exists()


@pytest.mark.parametrize("allow_pickle", [False, True])
def test_pickled_weights_run_no_code(model, canary, allow_pickle):
    """Pickled weights are refused unread; if they are allowed, only tensors are read from them."""
    (model / "model.safetensors").unlink()
    (model / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(canary), protocol=2))
    message = refusal(model, allow_pickle=allow_pickle)
    assert ("hold more than tensors" if allow_pickle else "may run code when it is loaded") in message


def test_a_pickle_that_calls_itself_safe(model, canary):
    """A safetensors file is never unpickled, whatever is in it."""
    (model / "model.safetensors").write_bytes(pickle.dumps(Bomb(canary), protocol=2))
    assert "its weights are damaged" in refusal(model)


def test_a_trainers_state_is_not_read(model, canary):
    """Other files of the folder are neither weights nor opened."""
    for name in ("training_args.bin", "optimizer.bin", "optimizer.pt"):
        (model / name).write_bytes(pickle.dumps(Bomb(canary), protocol=2))
    assert Subject(Checkpoint("tiny", str(model)), TASK).predictions([EXAMPLE])


def own_code(canary):
    """A module that creates a file when it is imported."""
    return f"from pathlib import Path\nPath({str(canary)!r}).touch()\nclass Own: pass\n"


@pytest.mark.parametrize("name", ["AutoConfig", "AutoModelForSequenceClassification"])
def test_code_of_a_network_of_its_own_is_not_run(model, canary, name):
    """A kind of network that the library does not know is refused; nothing of its module is imported."""
    (model / "own.py").write_text(own_code(canary))
    change(model / "config.json", model_type="own", auto_map={name: "own.Own"})
    assert "cannot be loaded" in refusal(model)


def test_code_beside_a_network_that_is_known_is_not_run(model, canary):
    """The library's own network and tokenizer of that kind are taken."""
    (model / "own.py").write_text(own_code(canary))
    change(model / "config.json", auto_map={"AutoModelForSequenceClassification": "own.Own"})
    change(model / "tokenizer_config.json", auto_map={"AutoTokenizer": [None, "own.Own"]})
    assert Subject(Checkpoint("tiny", str(model)), TASK).predictions([EXAMPLE])


def test_trust_is_given_to_a_model_by_its_name(model, canary):
    """The code of a model that was not named is not run, though another's is; a suite.json cannot grant it."""
    (model / "own.py").write_text(own_code(canary))
    change(model / "config.json", model_type="own", auto_map={"AutoConfig": "own.Own"})
    assert "cannot be loaded" in refusal(model, trust_remote_code=frozenset({"other"}))
    folder = write_suite(model.parent / "suite", ("a", model), ("b", model))
    content = json.loads((Path(folder) / "suite.json").read_text())
    content["models"] = [{**entry, "trust_remote_code": True} for entry in content["models"]]
    (Path(folder) / "suite.json").write_text(json.dumps({**content, "trust_remote_code": ["a", "b"]}))
    assert not any(model.source.trusted for model in suites.load([folder]).models)


def test_trust_in_a_model_is_none_in_another_repository(model):
    """Code that lies elsewhere is refused by its place, before anything is loaded; without trust it is passed over."""
    change(model / "config.json", auto_map={"AutoModelForSequenceClassification": "org/name--own.Own"})
    assert "takes its code from 'org/name'" in refusal(model, trust_remote_code=frozenset({"tiny"}))
    assert Subject(Checkpoint("tiny", str(model)), TASK).predictions([EXAMPLE])


def test_trust_in_a_model_that_is_not_there(rank_models):
    """A name that no model bears is an error before any model is loaded; the near one is offered."""
    status, _, err = rank_models("--ood", "hans-sub", "--trust-remote-code", "untuched", "-q")
    assert status == 2
    assert err == "rank-models: there is no model 'untuched'; did you mean untouched?\n"


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json", "notes.txt"])
@pytest.mark.parametrize("relative", [True, False])
def test_a_link_out_of_a_checkpoint_is_refused(model, tmp_path, name, relative):
    """No file of this machine is read because somebody's checkpoint links to it."""
    secret = tmp_path / "secret"
    secret.write_text("{}")
    (model / name).unlink(missing_ok=True)
    target = "../secret" if relative else str(secret)
    (model / name).symlink_to(target)
    assert refusal(model) == f"{model / name} links to {target}, outside of its checkpoint; put a copy there"


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("model.safetensors.index.json", {"weight_map": {"a": "model.safetensors", "b": "../out.safetensors"}}),
        ("model.safetensors.index.json", {"weight_map": {"a": "../out.bin"}}),
        ("model.safetensors.index.json", {"weight_map": {"a": "pytorch_model.bin"}}),
        ("config.json", {"transformers_weights": "sub/model.safetensors"}),
        ("tokenizer_config.json", {"fast_tokenizer_files": ["../tokenizer.4.0.0.json"]}),
    ],
)
def test_a_name_that_leads_out_of_a_checkpoint_is_refused(model, file, content):
    """No file elsewhere, nor one of another kind, is loaded because a file of somebody's checkpoint names it."""
    (model / file).touch()
    (model / file).write_text((model / file).read_text() or "{}")
    change(model / file, **content)
    message = refusal(model)
    assert message.startswith(f"{model / file} names '")
    assert message.endswith(" beside it")


def test_shards_of_a_checkpoint_are_taken(model):
    """An index of what lies beside it is what large models have, and its numbers are those of the whole."""
    before = Subject(Checkpoint("tiny", str(model)), TASK).predictions([EXAMPLE]).probs[0]
    tensors = load_file(model / "model.safetensors")
    (model / "model.safetensors").unlink()
    parts = [dict(list(tensors.items())[i::2]) for i in range(2)]
    index = {}
    for i, part in enumerate(parts):
        name = f"model-0000{i + 1}-of-00002.safetensors"
        save_file(part, model / name, metadata={"format": "pt"})
        index |= dict.fromkeys(part, name)
    (model / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    after = Subject(Checkpoint("tiny", str(model)), TASK).predictions([EXAMPLE]).probs[0]
    assert after.tolist() == before.tolist()


def test_links_inside_a_checkpoint_and_to_one_are_followed(model, tmp_path):
    """As the hub's cache has them: files that link to its own folder of blobs, and a folder under another name."""
    before = content_hash(locate(model))
    (tmp_path / "best").symlink_to(model)
    assert content_hash(locate(tmp_path / "best")) == before
    (model / "model.safetensors").rename(model / "weights")
    (model / "model.safetensors").symlink_to("weights")
    assert content_hash(locate(model)) == before
    snapshot, blobs = tmp_path / "models--org--it" / "snapshots" / "abc", tmp_path / "models--org--it" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for file in model.iterdir():
        shutil.copy(file, blobs / file.name)
        (snapshot / file.name).symlink_to(f"../../blobs/{file.name}")
    assert content_hash(locate(snapshot)) == before


def test_a_link_that_goes_round_in_circles(tmp_path):
    """The link is refused like any other that leads nowhere, or is no weights."""
    (tmp_path / "model.safetensors").symlink_to("model.safetensors")
    with pytest.raises(ModelError):
        content_hash(locate(tmp_path))


def write_suite(folder, *entries, name="toy"):
    """A suite.json with models of these names and paths."""
    folder.mkdir(exist_ok=True)
    models = [{"name": called, "path": str(path)} for called, path in entries]
    (folder / "suite.json").write_text(json.dumps({"schema_version": 1, "name": name, "models": models}))
    return str(folder)


@pytest.mark.parametrize("path", ["../model", "..", "a/../../model", "./../model"])
def test_a_path_that_leads_out_of_a_suite_is_refused(tmp_path, path):
    """Even where it leads to a checkpoint: a suite is a folder that is handed on."""
    (tmp_path / "model").mkdir()
    folder = write_suite(tmp_path / "suite", ("a", path), ("b", "b"))
    with refuses(UsageError, value=path, place=f"{folder}/suite.json"):
        suites.load([folder])


def test_paths_in_a_suite_that_are_taken(tmp_path):
    """Paths inside are taken, however they are written, and absolute ones, which say openly where they lead."""
    inside = ["a/../b", "..c", "d/"]
    folder = write_suite(tmp_path / "suite", *((path, path) for path in inside), ("absolute", tmp_path / "model"))
    for path in [tmp_path / "suite" / name for name in ("a", "b", "..c", "d")]:
        path.mkdir()
    paths = [os.path.normpath(model.source.path) for model in suites.load([folder]).models]
    assert paths == [*(str(tmp_path / "suite" / name) for name in ("b", "..c", "d")), str(tmp_path / "model")]


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[2J", "a\tb", "a\u202eb", "\x00"])
def test_a_name_that_a_terminal_obeys_is_refused(tmp_path, name):
    """Line ends, escape codes, and marks that turn the direction of writing: the message shows them as codes."""
    for folder in (
        write_suite(tmp_path / "models", (name, "a"), ("b", "b")),
        write_suite(tmp_path / "named", ("a", "a"), ("b", "b"), name=name),
    ):
        with refuses(UsageError, value=name) as stop:
            suites.load([folder])
        assert str(stop.value).isprintable()


@pytest.mark.parametrize(
    "option", ["--models", "--data", "--data-dir", "--include", "--factors", "--config", "--in-domain", "-o", "--store"]
)
@pytest.mark.parametrize("name", ["a" * 5000, "a\nb\x1b[2J", "/dev/null/a"])
def test_a_name_that_no_file_can_have_is_one_line(tmp_path, rank_models, monkeypatch, option, name):
    """Too long, with codes that a terminal obeys, or below what is no folder: said in one line, whatever it names."""
    monkeypatch.setenv("RANK_MODELS_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    ending = {"--factors": ".py", "--data": ".tsv", "--in-domain": ".tsv"}.get(option, "")
    status, _, err = rank_models("-q", "--ood", "hans-sub", "--models", "./nowhere", option, name + ending)
    assert status == 2
    [line] = err.splitlines()
    assert line.isprintable()


@pytest.mark.parametrize("name", ["../rows.tsv", "a/../../rows.tsv", "/tmp/rows.tsv"])
@pytest.mark.parametrize("key", ["files", "folders"])
def test_a_card_names_no_file_outside_of_the_data_directory(tmp_path, key, name):
    """The card's files are read from there, and `fetch` writes one of them there."""
    (tmp_path / "card.toml").write_text(
        f'description = "x"\nsource = "x"\nlicence = "x"\n{key} = ["{name}"]\n'
        '[task]\nname = "nli"\nlabels = ["a", "b"]\n'
    )
    with refuses(DataError, value=name, place=tmp_path / "card.toml"):
        read_card(tmp_path / "card.toml")


NAMES = ("../x", "<script>alert(1)</script>", "[red]x[/red]", "$(touch canary)|%s{0}")


@pytest.mark.more
def test_a_name_is_only_a_name(tmp_path, rank_models, monkeypatch):
    """Names that would be a path, markup or a command elsewhere are shown as they are, and nothing comes of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANK_MODELS_STORE", str(tmp_path / "store"))
    paths = [model.source.path for model in suites.load(["hans-sub-mini"]).models[-len(NAMES) :]]
    folder = write_suite(tmp_path / "suite", *zip(NAMES, paths, strict=True))
    outputs = {}
    for arguments in (
        ("run", "--limit", "12", "--probe", "2", "--methods", "AVG-CONF", "--format", "json"),
        ("run", "--limit", "12", "--probe", "2", "--methods", "AVG-CONF", "--format", "table"),
        ("explain", "--text", "A b.", "--text", "A.", "--format", "html"),
    ):
        _, out, _ = rank_models(
            *arguments, "--ood", "hans-sub", "--models", folder, "--attribution", "ig:steps=2,max_steps=2"
        )
        outputs[arguments[-1]] = out
    assert {model["name"] for model in json.loads(outputs["json"])["evaluation"]["models"]} == set(NAMES)
    assert "<script>" in outputs["table"]
    assert "[red]x[/red]" in outputs["table"]
    assert "<script>" not in outputs["html"]
    assert "&lt;script&gt;" in outputs["html"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["store", "suite"]


@pytest.mark.parametrize("content", [b"a" * (1 << 20), (b"a" * 8188 + b",0\n") * 128], ids=["one line", "many lines"])
def test_a_gzip_bomb_is_bounded(tmp_path, content):
    """A file of a megabyte that unpacks to a gigabyte: refused, with no more of it in memory than a line or two."""
    file = tmp_path / "bomb.csv.gz"
    file.write_bytes(gzip.compress(b"text,label\n") + gzip.compress(content) * 1024)
    tracemalloc.start()
    try:
        with pytest.raises(DataError) as stop:
            for _ in reader.read_columns(
                file, limits=Limits(file=4 << 20)
            ).rows():  # as with the default, which takes longer
                pass
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
        assert stop.value.option in ("limits.file", "limits.line")
    finally:
        tracemalloc.stop()


@pytest.mark.more
def test_a_bomb_among_checkpoints_is_one_model_less(tmp_path, canary, rank_models, monkeypatch):
    """A poisoned checkpoint is listed with its reason, the others are ranked, and the exit status is 1."""
    monkeypatch.setenv("RANK_MODELS_STORE", str(tmp_path / "store"))
    good = [model.source.path for model in suites.load(["hans-sub-mini"]).models[::4]]
    bad = Path(shutil.copytree(good[0], tmp_path / "bad"))
    (bad / "model.safetensors").unlink()
    (bad / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(canary), protocol=2))
    few = ("--limit", "12", "--probe", "2", "--factors", "ACC")
    status, out, _ = rank_models("--ood", "hans-sub", *few, "--format", "json", "--models", *good, bad)
    answer = json.loads(out)
    assert status == 1
    assert {model["name"] for model in answer["evaluation"]["models"]} == {Path(path).name for path in good}
    assert "may run code when it is loaded" in json.dumps(answer["header"]["failures"])
