import json

import pytest
from refusals import refuses

from ranker.errors import ModelError
from ranker.sources.hf import checkpoints
from ranker.sources.hf.files import content_hash, open_checkpoint_files


@pytest.fixture
def folder(tmp_path):
    """The files of a saved classifier."""
    for name in ("config.json", "tokenizer.json", "model.safetensors", "README.md", "training_args.bin"):
        (tmp_path / name).write_text("{}")
    return tmp_path


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors", "vocab.txt", "modeling_own.py"])
def test_the_hash_is_of_all_that_can_change_a_number(folder, name):
    """Weights, configuration, tokenizer and code count, wherever the folder lies."""
    before = content_hash(folder)
    (folder / name).write_text('{"changed": 1}')
    assert content_hash(folder) != before


@pytest.mark.parametrize("name", ["README.md", "training_args.bin", "events.log"])
def test_the_hash_is_of_nothing_else(folder, name):
    """Notes and a trainer's state do not make it another model."""
    before = content_hash(folder)
    (folder / name).write_text("changed")
    assert content_hash(folder) == before


def test_the_hash_of_a_copy_is_the_same(folder, tmp_path_factory):
    """A model is its content, not its path."""
    copy = tmp_path_factory.mktemp("copy")
    for file in folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    assert content_hash(copy) == content_hash(folder)


@pytest.fixture
def adapter(folder, tmp_path_factory):
    """An adapter of the saved classifier."""
    adapter = tmp_path_factory.mktemp("adapter")
    (adapter / "adapter_model.safetensors").write_text("")
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(folder)}))
    return adapter


def test_the_hash_of_an_adapter_is_its_bases_too(folder, adapter):
    """The same adapter on changed weights is another model."""
    before = content_hash(adapter)
    (folder / "model.safetensors").write_text("changed")
    assert content_hash(adapter) != before


def test_code_of_an_adapters_base_is_its_own(folder, adapter):
    """An adapter of a base that asks for code of its own asks for that code."""
    assert not open_checkpoint_files(adapter).brings_code()
    (folder / "config.json").write_text(json.dumps({"auto_map": {"AutoModel": "own.Own"}}))
    assert open_checkpoint_files(adapter).brings_code()


@pytest.mark.parametrize(
    ("file", "auto_map"),
    [
        ("config.json", {"AutoConfig": "own.Config", "AutoModel": "org/name--own.Own"}),
        ("tokenizer_config.json", {"AutoTokenizer": [None, "org/name--own.Own"]}),
        ("tokenizer_config.json", ["org/name--own.Own", None]),
    ],
)
def test_code_of_another_repository_is_refused(folder, adapter, file, auto_map):
    """The checkpoint's hash, or that of an adapter's base, would not tell which revision of it is run."""
    (folder / file).write_text(json.dumps({"auto_map": auto_map}))
    for trusted in (folder, adapter):
        with refuses(ModelError, place=folder / file):
            open_checkpoint_files(trusted).brings_code()


def test_a_folder_of_checkpoints_names_one_of_them(tmp_path):
    """A trainer leaves them below the folder that it was given."""
    (tmp_path / "checkpoint-500").mkdir()
    (tmp_path / "checkpoint-500" / "config.json").write_text("{}")
    with refuses(ModelError, place=tmp_path):
        checkpoints.read_json(tmp_path / "config.json")


@pytest.mark.parametrize("look", [content_hash, checkpoints.locate_base])
def test_a_link_out_of_an_adapters_base_is_refused(folder, adapter, look):
    """Whoever reads the adapter comes to its base, and looks where that leads."""
    (folder / "notes.txt").symlink_to(adapter / "adapter_model.safetensors")
    with refuses(ModelError, place=folder / "notes.txt"):
        look(adapter)


@pytest.mark.parametrize("name", ["base", "bert-base-uncased@main"])
def test_the_base_of_an_adapter_may_be_a_hub_id_without_an_organisation(monkeypatch, tmp_path, name):
    """The oldest models have none; where the hub does not give it, the message says whose base it is."""
    import huggingface_hub

    calls = []

    def download(name, *, revision, allow_patterns):
        calls.append((name, revision))
        raise OSError("no network")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": name}))
    with refuses(ModelError, value=name, place=f"the base of {tmp_path}"):
        checkpoints.locate_base(tmp_path)
    assert calls == [(name.partition("@")[0], name.partition("@")[2] or None)]


def test_an_adapter_of_an_adapter_is_refused(tmp_path):
    """Such weights would be added to no network; one that names itself would be looked for without end."""
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "."}))
    (tmp_path / "adapter_model.safetensors").write_text("")
    with refuses(ModelError, place=f"the base of {tmp_path}"):
        content_hash(tmp_path)


def test_pickled_weights_are_refused_unless_allowed(folder):
    """Weights that may run code are not loaded without being asked to; the message says how."""
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with refuses(ModelError, option="allow_pickle", place=folder):
        checkpoints.weight_files(folder)
    assert [file.name for file in checkpoints.weight_files(folder, allow_pickle=True)] == ["pytorch_model.bin"]


def test_weights_of_both_kinds_count_where_both_may_be_loaded(folder):
    """Names decide which are loaded: beside a stray file of safetensors it may be the pickled ones."""
    (folder / "model.safetensors").rename(folder / "stray.safetensors")
    (folder / "pytorch_model.bin").write_text("")
    assert [file.name for file in checkpoints.weight_files(folder)] == ["stray.safetensors"]
    before = content_hash(folder, allow_pickle=True), content_hash(folder)
    (folder / "pytorch_model.bin").write_text("changed")
    assert content_hash(folder, allow_pickle=True) != before[0]
    assert content_hash(folder) == before[1]


def test_a_folder_without_weights(folder):
    """A folder with a configuration alone is no model; a trainer's state is no weights."""
    (folder / "model.safetensors").unlink()
    with refuses(ModelError, option="", place=folder):
        checkpoints.weight_files(folder, allow_pickle=True)


@pytest.mark.parametrize("reference", ["nowhere", "./org/name", "/org/name", "a/b/c", "org/"])
def test_a_path_that_is_not_there_is_not_looked_for_on_the_hub(reference):
    """Only `org/name` can be a hub id."""
    with refuses(ModelError, option="models", value=reference):
        checkpoints.locate(reference)


def test_a_hub_that_cannot_be_reached_is_told_in_one_line(monkeypatch, tmp_path):
    """Without the hub, an id is an error of that model; the message has one line."""
    import huggingface_hub

    def unreachable(*args, **options):
        raise OSError("no network\nand more")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    with refuses(ModelError, option="models", value="org/name@v1") as caught:
        checkpoints.locate("org/name@v1")
    assert "\n" not in str(caught.value)


def test_only_what_is_needed_is_fetched_from_the_hub(monkeypatch, tmp_path):
    """The id's revision is passed on; pickled weights are not even fetched unless they are allowed."""
    import huggingface_hub

    calls = []

    def download(name, *, revision, allow_patterns):
        calls.append((name, revision, "*.bin" in allow_patterns))
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert checkpoints.locate("org/name@v1") == tmp_path
    assert checkpoints.locate("org/name", allow_pickle=True) == tmp_path
    assert calls == [("org/name", "v1", False), ("org/name", None, True)]


def test_an_adapter_names_its_base(tmp_path):
    """A base is a folder beside the adapter, a path, or a hub id with its revision; none is an error."""
    config = tmp_path / "adapter_config.json"
    assert checkpoints.adapter_base(tmp_path) is None
    config.write_text(json.dumps({"base_model_name_or_path": "org/base", "revision": "v2"}))
    assert checkpoints.adapter_base(tmp_path) == "org/base@v2"
    (tmp_path / "base").mkdir()
    config.write_text(json.dumps({"base_model_name_or_path": "base", "revision": None}))
    assert checkpoints.adapter_base(tmp_path) == str(tmp_path / "base")
    config.write_text("{}")
    with refuses(ModelError, place=config):
        checkpoints.adapter_base(tmp_path)


@pytest.mark.parametrize(
    ("content", "name", "value"), [(None, "", None), ("{", "config.json", None), ("[]", "config.json", "list")]
)
def test_a_configuration_that_cannot_be_read(tmp_path, content, name, value):
    """A missing, broken or odd JSON file is named."""
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with refuses(ModelError, value=value, place=tmp_path / name):
        checkpoints.read_json(tmp_path / "config.json")
