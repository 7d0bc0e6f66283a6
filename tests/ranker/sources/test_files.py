import gc
import json
import os
import shutil
import subprocess
import sys
import textwrap
import warnings
from contextlib import closing
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest
import torch
from blake3 import blake3
from conftest import TASK, make_checkpoint
from refusals import refuses
from safetensors.torch import load_file, save_file
from toys import PanicException

from factors.types import Example
from ranker.errors import LabelError, ModelError
from ranker.sources.hf import checkpoints, files, loading
from ranker.sources.hf.classifiers import Classifier
from ranker.sources.hf.files import content_hash, open_checkpoint_files

EXAMPLES = [
    Example("a", ("The doctor saw the actor.", "An old judge danced."), 1),
    Example("b", ("The actor waited.", ""), 0),
]
WEIGHTS = "model.safetensors"
MANY = 5000
"""Words, for weights of more than one part."""


def numbers(folder, **options):
    """Probabilities of a checkpoint."""
    return Classifier.load(folder, TASK, **options).probabilities(EXAMPLES)


def shifted(folder, to, by=1.0):
    """A copy of a checkpoint with other weights, of the same size."""
    shutil.copytree(folder, to)
    tensors = {name: tensor.roll(1, -1) * (1 + by) for name, tensor in load_file(folder / WEIGHTS).items()}
    save_file(tensors, to / WEIGHTS, metadata={"format": "pt"})
    assert (to / WEIGHTS).stat().st_size == (folder / WEIGHTS).stat().st_size
    return to


@pytest.fixture
def model(checkpoint, tmp_path):
    """A copy of a tiny checkpoint, to be changed."""
    return Path(shutil.copytree(checkpoint("bert"), tmp_path / "model"))


@pytest.fixture
def rewritten(model, tmp_path):
    """The same with other weights."""
    return shifted(model, tmp_path / "other")


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Folder for private folders."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    return tmp_path / "scratch"


def make_adapter(folder, base, base_name=None):
    """A LoRA adapter with random weights; its base is named as it is said."""
    peft = pytest.importorskip("peft", reason="needs the extra `peft`")
    from transformers import AutoModelForSequenceClassification

    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft reads what transformers will drop
        torch.manual_seed(1)
        network = AutoModelForSequenceClassification.from_pretrained(base)
        config = peft.LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["query"], init_lora_weights=False)
        peft.get_peft_model(network, config).save_pretrained(folder)
    if base_name is not None:
        content = json.loads((folder / "adapter_config.json").read_text())
        (folder / "adapter_config.json").write_text(json.dumps({**content, "base_model_name_or_path": base_name}))
    return folder


def python(code, *arguments):
    """A process that has run code, without an error."""
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran


def slow_digest(folder, base=None, pickled=False):
    """The content hash, file by file, as it is defined."""
    listed = sorted(os.listdir(folder))
    large = [name for name in listed if fnmatch(name, "*.safetensors") or fnmatch(name, "*.safetensors.index.json")]
    if pickled:
        ended = [name for name in listed if name.endswith((".bin", ".bin.index.json"))]
        large += [name for name in ended if name not in ("training_args.bin", "optimizer.bin", "scheduler.bin")]
    patterns = ["tokenizer.*json", "vocab.txt", "vocab.json", "*.model", "config.json", "adapter_config.json", "*.py"]
    patterns += ["tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt"]
    small = [name for name in listed if any(fnmatch(name, pattern) for pattern in patterns)]
    joined = b""
    for name in large + small:
        content = (folder / name).read_bytes()
        joined += name.encode() + b"\0" + str(len(content)).encode() + b"\0" + content
    return blake3(joined + (slow_digest(base).encode() if base else b"")).hexdigest()


@pytest.mark.parametrize("pickled", [False, True])
def test_the_digest_is_that_of_its_definition(tmp_path, pickled):
    """Weights by name, then the others by name, each with its size; a file of both kinds counts twice."""
    small = ("config.json", "tokenizer.json", "tokenizer.4.json", "vocab.txt", "own.py", "spiece.model", "README.md")
    weights = ("b.safetensors", "a.safetensors", "pytorch_model.bin", "optimizer.bin", "pytorch_model.bin.index.json")
    for name in (*small, *weights, "tokenizer_config.json", "tokenizer.safetensors.index.json"):
        (tmp_path / name).write_text(json.dumps({"own": name}))
    (tmp_path / "a.safetensors").write_bytes(np.random.default_rng(0).bytes(files.CHUNK * 2 + 7))
    with closing(open_checkpoint_files(tmp_path, allow_pickle=pickled)) as opened:
        assert opened.digest == slow_digest(tmp_path, pickled=pickled) == content_hash(tmp_path, allow_pickle=pickled)
    assert slow_digest(tmp_path) != slow_digest(tmp_path, pickled=True)


def test_the_digest_of_an_adapter_is_its_bases_too(model, tmp_path):
    """The base may be looked for or given; loading it finds the same."""
    adapter = make_adapter(tmp_path / "adapter", model)
    for base in (None, model):
        with closing(open_checkpoint_files(adapter, base)) as opened:
            assert opened.digest == slow_digest(adapter, model) == content_hash(adapter)
    with closing(open_checkpoint_files(adapter)) as opened:
        Classifier.load(adapter, TASK, files=opened)
        assert opened.digest == slow_digest(adapter, model)


@pytest.mark.more
def test_each_file_is_opened_once(model, tmp_path):
    """An audit hook sees Python open each; nothing else opens one, since loading does without the folders."""
    adapter = make_adapter(tmp_path / "adapter", model)
    code = """
        import os, sys
        from collections import Counter
        from pathlib import Path
        from ranker.sources.hf.classifiers import Classifier
        from ranker.sources.hf.files import open_checkpoint_files
        from ranker.sources.hf import checkpoints
        from ranker.tasks.classes import ClassificationTask
        from factors.types import Example
        import peft, transformers

        root, count = os.path.realpath(sys.argv[1]), Counter()
        def seen(event, arguments):
            if event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
                path = os.path.realpath(os.fsdecode(arguments[0]))
                if path.startswith(root):
                    count[os.path.relpath(path, root)] += 1
        adapter = checkpoints.locate(root + "/adapter")
        sys.addaudithook(seen)
        files = open_checkpoint_files(adapter)
        files.digest
        for folder in ("adapter", "model"):
            os.rename(f"{root}/{folder}", f"{root}/{folder}-gone")
        aliases = {"non-entailment": ("neutral", "contradiction")}
        task = ClassificationTask("nli", ("non-entailment", "entailment"), aliases)
        loaded = Classifier.load(adapter, task, files=files)
        loaded.probabilities([Example("a", ("The doctor saw the actor.", "An old judge danced."), 1)])
        files.close()
        print(*sorted(f"{path}:{number}" for path, number in count.items()))
    """
    expected = sorted(
        f"{folder.name}/{path.name}:1"
        for folder in (adapter, model)
        for path in {*checkpoints.weight_files(folder), *checkpoints.other_files(folder)}
    )
    assert python(code, tmp_path).stdout.split() == expected
    assert len(expected) >= 6


@pytest.mark.parametrize("put_back", [True, False])
def test_weights_that_are_replaced_after_they_were_hashed_are_not_loaded(model, rewritten, put_back):
    """Nor where those that were hashed are there again when somebody looks: the numbers are those of the digest."""
    expected, wrong = numbers(model), numbers(rewritten)
    assert abs(expected - wrong).max() > 1e-3
    with closing(open_checkpoint_files(model)) as opened:
        before = opened.digest
        os.rename(model / WEIGHTS, model / "kept")
        os.replace(rewritten / WEIGHTS, model / WEIGHTS)
        loaded = Classifier.load(model, TASK, files=opened)
        if put_back:
            os.replace(model / "kept", model / WEIGHTS)
        np.testing.assert_array_equal(loaded.probabilities(EXAMPLES), expected)
        assert opened.digest == before
    assert (content_hash(model) == before) == put_back


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_small_files_are_taken_as_they_were_read(model, name):
    """Later writes into them are not looked at."""
    expected = numbers(model)
    with closing(open_checkpoint_files(model)) as opened:
        (model / name).write_text("nonsense")
        np.testing.assert_array_equal(numbers(model, files=opened), expected)


@pytest.mark.parametrize("times", ["new", "as they were"])
def test_weights_written_in_place_before_they_are_loaded_are_refused(model, rewritten, times):
    """By their content, whatever the times of the file say; the message names the user's folder."""
    was = (model / WEIGHTS).stat()
    with closing(open_checkpoint_files(model)) as opened:
        assert opened.digest
        (model / WEIGHTS).write_bytes((rewritten / WEIGHTS).read_bytes())
        if times == "as they were":
            os.utime(model / WEIGHTS, ns=(was.st_atime_ns, was.st_mtime_ns))
        with pytest.raises(ModelError) as caught:
            Classifier.load(model, TASK, files=opened)
    message = f"{model} was changed while it was in use; run again when nothing writes to its weights"
    assert str(caught.value) == message


@pytest.mark.parametrize("size", [0, 100])
def test_weights_cut_off_before_they_are_loaded_are_refused(model, size):
    """As those with other content are."""
    with closing(open_checkpoint_files(model)) as opened:
        assert opened.digest
        os.truncate(model / WEIGHTS, size)
        with refuses(ModelError, place=model):
            Classifier.load(model, TASK, files=opened)


def test_weights_that_grow_or_shrink_while_they_are_read_are_refused(tmp_path):
    """The size of weights is part of the digest."""
    folder = make_checkpoint(tmp_path / "model", hidden_size=64, intermediate_size=MANY)
    assert (folder / WEIGHTS).stat().st_size > 2 * files.CHUNK
    for change in (lambda: os.truncate(folder / WEIGHTS, files.CHUNK), lambda: os.truncate(folder / WEIGHTS, 1 << 25)):
        with closing(open_checkpoint_files(folder, beat=change)) as opened, refuses(ModelError, place=folder):
            _ = opened.digest


@pytest.mark.more
def test_what_becomes_of_weights_once_they_are_loaded_changes_nothing(model, rewritten, tmp_path):
    """In a process of its own, since the system ends one that reads what was cut off behind a mapping."""
    code = """
        import os, sys
        from ranker.sources.hf.classifiers import Classifier
        from ranker.tasks.classes import ClassificationTask
        from factors.types import Example

        written, cut, replacement = sys.argv[1:]
        weights = "/model.safetensors"
        aliases = {"non-entailment": ("neutral", "contradiction")}
        task = ClassificationTask("nli", ("non-entailment", "entailment"), aliases)
        loaded = [Classifier.load(model, task) for model in (written, cut)]
        open(written + weights, "r+b").write(open(replacement + weights, "rb").read())
        os.truncate(cut + weights, 0)
        examples = [Example("a", ("The doctor saw the actor.", "An old judge danced."), 1)]
        print(*(model.probabilities(examples)[0, 1].hex() for model in loaded))
    """
    expected = numbers(model)[0, 1]
    copy = shutil.copytree(model, tmp_path / "copy")
    ran = python(code, model, copy, rewritten)
    assert [float.fromhex(probability) for probability in ran.stdout.split()] == [expected] * 2


SWAPS = """
    import os, random, shutil, sys, time
    folder, first, second, kept, seed = *sys.argv[1:5], int(sys.argv[5])
    chance = random.Random(seed)
    for number in range(100):
        time.sleep(chance.uniform(0, 0.04))
        source = chance.choice([first, second])
        name = chance.choice(["model.safetensors", "model.safetensors", "config.json"])
        kind = chance.choice(["replace", "replace", "write", "away"])
        if kind == "replace":
            shutil.copy(f"{source}/{name}", kept)
            os.replace(kept, f"{folder}/{name}")
        elif kind == "write":
            with open(f"{folder}/{name}", "r+b", buffering=0) as file:
                file.write(open(f"{source}/{name}", "rb").read())
        else:
            os.rename(folder, kept)
            time.sleep(0.002)
            os.rename(kept, folder)
"""


@pytest.mark.more
def test_at_whatever_moment_files_are_swapped_numbers_are_those_of_their_digest(model, rewritten, tmp_path):
    """A second process swaps weights and configurations 100 times while a model is hashed, loaded and asked."""
    config = (rewritten / "config.json").read_text()
    swapped = config.replace("neutral", "tmp").replace("entailment", "neutral").replace("tmp", "entailment")
    assert sorted(swapped) == sorted(config)
    assert swapped != config
    (rewritten / "config.json").write_text(swapped)
    right = {}
    for weights in (model, rewritten):
        for settings in (model, rewritten):
            folder = Path(shutil.copytree(weights, tmp_path / f"{len(right)}"))
            shutil.copy(settings / "config.json", folder)
            right[content_hash(folder)] = numbers(folder)
    assert len(right) == 4
    served = Path(shutil.copytree(model, tmp_path / "served"))
    swaps = [sys.executable, "-c", textwrap.dedent(SWAPS), served, model, rewritten, tmp_path / "kept", "20"]
    recorded, refused = [], []
    with subprocess.Popen(swaps) as process:
        while process.poll() is None:
            try:
                with closing(open_checkpoint_files(served)) as opened:
                    digest = opened.digest
                    recorded.append((digest, numbers(served, files=opened)))
            except ModelError as error:
                refused.append(str(error))
    assert process.returncode == 0
    hashed = [(right[digest], probs) for digest, probs in recorded if digest in right]
    for expected, probs in hashed:
        np.testing.assert_array_equal(probs, expected)
    assert len(hashed) > 2  # how many loads there are between swaps is a matter of how busy the machine is
    assert len({digest for digest, _ in recorded}) > 1
    assert all(str(served) in message for message in refused)


def sharded(folder):
    """A checkpoint in two files of weights, with their index."""
    tensors = load_file(folder / WEIGHTS)
    (folder / WEIGHTS).unlink()
    index = {}
    for i in range(2):
        part = dict(list(tensors.items())[i::2])
        save_file(part, folder / f"model-0000{i + 1}-of-00002.safetensors", metadata={"format": "pt"})
        index |= dict.fromkeys(part, f"model-0000{i + 1}-of-00002.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    return folder


def pickled(folder):
    """A checkpoint with pickled weights."""
    torch.save(load_file(folder / WEIGHTS), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()
    return folder


def linked(folder):
    """The checkpoint's folder under another name."""
    (folder.parent / "link").symlink_to(folder)
    return folder.parent / "link"


def cached(folder):
    """A checkpoint as the hub's cache has it."""
    root = folder.parent / "models--org--it"
    snapshot = root / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    shutil.move(folder, root / "blobs")
    for file in (root / "blobs").iterdir():
        (snapshot / file.name).symlink_to(f"../../blobs/{file.name}")
    return snapshot


def with_base(folder):
    """An adapter that names its base by a path that begins where it lies."""
    return make_adapter(folder.parent / "adapter", folder, "../model")


def own(folder, name="Own", by=0.0):
    """A checkpoint with code of its own, which adds to the first logit."""
    config = json.loads((folder / "config.json").read_text())
    classes = {"AutoConfig": "own.Settings", "AutoModelForSequenceClassification": f"own.{name}"}
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "own", "auto_map": classes}))
    (folder / "own.py").write_text(
        textwrap.dedent(f"""
            from transformers import BertConfig, BertForSequenceClassification
            from .beside import BY
            class Settings(BertConfig):
                model_type = "own"
            class {name}(BertForSequenceClassification):
                config_class = Settings
                def forward(self, *args, **kwargs):
                    outputs = super().forward(*args, **kwargs)
                    outputs.logits = outputs.logits + BY
                    return outputs
        """)
    )
    (folder / "beside.py").write_text(f"import torch\nBY = torch.tensor([{by}, 0.0, 0.0])\n")
    return folder


LAYOUTS = {
    "plain": (lambda folder: folder, {}), "shards": (sharded, {}), "pickle": (pickled, {"allow_pickle": True}),
    "link": (linked, {}), "hub": (cached, {}), "adapter": (with_base, {}), "code": (own, {"trust_remote_code": True}),
}  # fmt: skip


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("descriptors", "fate"),
    [("/proc/self/fd", "away"), ("/proc/self/fd", "back"), ("/proc/self/fd", "gone"), ("/nowhere", "gone")],
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_folder_is_not_needed_once_its_files_are_open(model, tmp_path, monkeypatch, layout, fate, descriptors):
    """Renamed, renamed and back again, or removed: what was opened is loaded, on any system."""
    monkeypatch.setattr(files, "DESCRIPTORS", Path(descriptors))
    make, options = LAYOUTS[layout]
    folder = make(model)
    expected = numbers(folder, **options)
    pickles = options.get("allow_pickle", False)
    with closing(open_checkpoint_files(folder, allow_pickle=pickles)) as opened:
        parts = [path for path in tmp_path.iterdir() if not path.is_symlink()]
        for path in parts:
            if fate == "gone":
                shutil.rmtree(path)
            else:
                path.rename(path.with_name(f"{path.name}-away"))
        if fate == "back":
            for path in parts:
                path.with_name(f"{path.name}-away").rename(path)
        np.testing.assert_array_equal(numbers(folder, files=opened, **options), expected)
        np.testing.assert_array_equal(numbers(folder, files=opened, **options), expected)


@pytest.mark.more
def test_code_of_two_checkpoints_is_not_mixed_up(checkpoint, tmp_path):
    """Modules and classes of one name in folders of one name: each runs its own, in any order, more than once."""
    folders = [own(Path(shutil.copytree(checkpoint("bert"), tmp_path / by / "model")), by=float(by)) for by in "123"]
    plain = numbers(checkpoint("bert"))
    answers = [numbers(folder, trust_remote_code=True) for folder in folders]
    assert min(abs(a - b).max() for i, a in enumerate(answers) for b in [plain, *answers[:i]]) > 1e-3
    for folder, before in reversed(list(zip(folders, answers, strict=True))):
        np.testing.assert_array_equal(numbers(folder, trust_remote_code=True), before)


def test_a_base_that_lies_elsewhere_by_the_same_name_is_not_taken(model, rewritten, tmp_path, monkeypatch):
    """A relative path begins where the adapter lies, and nobody looks it up again where the program runs."""
    adapter = with_base(model)
    expected = numbers(adapter)
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path / "run")
    with closing(open_checkpoint_files(adapter)) as opened:
        assert opened.digest
        model.rename(tmp_path / "moved")
        rewritten.rename(model)
        np.testing.assert_array_equal(numbers(adapter, files=opened), expected)


@pytest.mark.more
def test_bases_of_one_content_are_one_base(model, rewritten, tmp_path):
    """Adapters share the network of their base wherever that lies, and none with another at the same place."""
    shutil.copytree(model, tmp_path / "copy")
    folders = [make_adapter(tmp_path / name, tmp_path / name[1:]) for name in ("amodel", "acopy", "aother")]
    bases = {}
    loaded = [Classifier.load(folder, TASK, bases=bases) for folder in folders[:2]]
    held = [part.model.get_input_embeddings().weight.data_ptr() for part in loaded]
    assert held[0] == held[1]
    assert [part.model.name_or_path for part in loaded] == [str(model), str(tmp_path / "copy")]
    Classifier.load(folders[2], TASK, bases=bases)
    assert [key[0] for key in bases] == [content_hash(rewritten)]


def test_a_base_that_became_an_adapter_is_refused(model, tmp_path):
    """Also where the caller says which it is."""
    adapter = make_adapter(tmp_path / "adapter", model)
    with refuses(ModelError, place=f"the base of {adapter}"):
        open_checkpoint_files(adapter, adapter)


def test_what_is_private_has_the_contents_name_and_is_removed(model, scratch):
    """With the record, or when it is closed; weights are in it only while they are loaded."""
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    for close in (True, False):
        opened = open_checkpoint_files(model)
        assert opened.digest in opened.folder.name
        assert opened.folder.parent.parent == scratch
        assert WEIGHTS not in os.listdir(opened.folder)
        with opened.loadable() as folder:
            assert (folder / WEIGHTS).read_bytes() == (model / WEIGHTS).read_bytes()
        assert sorted(os.listdir(opened.folder)) == sorted(opened.small)
        if close:
            opened.close()
        del opened
        gc.collect()
        assert not os.listdir(scratch)
    assert not before or len(os.listdir("/proc/self/fd")) <= before  # what other tests left may be closed meanwhile
    loaded = Classifier.load(model, TASK)
    assert loaded.model.name_or_path == loaded.model.config.name_or_path == loaded.tokenizer.name_or_path == str(model)
    assert not os.listdir(scratch)


def broken(folder, name, **values):
    """Set values in a JSON file of a checkpoint."""
    (folder / name).write_text(json.dumps({**json.loads((folder / name).read_text()), **values}))


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("change", "options", "error"),
    [
        (lambda f: broken(f, "config.json", model_type="unknown"), {}, ModelError),
        (
            lambda f: broken(f, "config.json", id2label=dict(zip("123", "abc", strict=True)), label2id={}),
            {},
            LabelError,
        ),
        (lambda f: broken(f, "config.json", problem_type="regression"), {}, LabelError),
        (lambda f: broken(f, "config.json", hidden_size=8), {}, ModelError),
        (lambda f: (f / "tokenizer.json").write_text("{}"), {}, ModelError),
        (lambda f: (f / "tokenizer.json").unlink(), {}, ModelError),
        (lambda f: (f / WEIGHTS).write_bytes(b"nonsense" * 9), {}, ModelError),
        (lambda f: own(f), {}, ModelError),
        (lambda f: (own(f), (f / "beside.py").unlink()), {"trust_remote_code": True}, ModelError),
        (lambda f: broken(f, "config.json", auto_map={"A": "b--c.D"}), {"trust_remote_code": True}, ModelError),
        (lambda f: (f / "config.json").unlink(), {}, ModelError),
        (lambda f: (f / "config.json").write_text("[]"), {}, ModelError),
    ],
)
@pytest.mark.parametrize("adapter", [False, True])
def test_messages_name_the_folder_that_the_user_knows(model, scratch, change, options, error, adapter):
    """No message, of the libraries either, names a place that is gone by then."""
    folder = with_base(model) if adapter else model
    change(model)
    with pytest.raises(error) as caught:
        Classifier.load(folder, TASK, **options)
    assert "\n" not in str(caught.value)
    assert str(model) in str(caught.value) or str(folder) in str(caught.value)
    assert str(scratch) not in str(caught.value)
    assert "blake3_" not in str(caught.value)


def test_rust_that_gives_up_is_the_checkpoints_failure(model, monkeypatch):
    """A panic is no Exception, and is one line; a stop of the program stops it."""

    def fail(error):
        def give_up(*args, **options):
            raise error

        monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", give_up)
        Classifier.load(model, TASK)

    with pytest.raises(ModelError) as caught:
        fail(PanicException("index out of bounds\nand more"))
    assert str(caught.value) == f"{model} cannot be loaded: index out of bounds"
    with pytest.raises(KeyboardInterrupt):
        fail(KeyboardInterrupt())


def test_what_was_put_in_the_place_of_a_file_is_not_waited_for(model, monkeypatch):
    """A pipe, which nobody may ever write to."""
    (model / WEIGHTS).unlink()
    os.mkfifo(model / WEIGHTS)
    monkeypatch.setattr(checkpoints, "weight_files", lambda folder, allow_pickle: [folder / WEIGHTS])
    with refuses(ModelError, place=model / WEIGHTS) as stop:
        open_checkpoint_files(model)
    assert str(stop.value) == f"{model / WEIGHTS} cannot be read: it is no regular file"


def test_a_private_folder_that_cannot_be_made_is_one_line(model, tmp_path, monkeypatch):
    """As where the disk is full."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(ModelError) as caught:
        Classifier.load(model, TASK)
    assert str(caught.value) == f"{model} cannot be copied to {tmp_path / 'nowhere'}: No such file or directory"


def test_a_sign_of_life_is_given_with_each_part_batch_and_call(tmp_path):
    """While weights are read, and while the model is asked."""
    folder = make_checkpoint(tmp_path / "model", hidden_size=64, intermediate_size=MANY)
    parts, beats = -(-(folder / WEIGHTS).stat().st_size // files.CHUNK), []
    with closing(open_checkpoint_files(folder, beat=lambda: beats.append("part"))) as opened:
        assert opened.digest
        assert beats == ["part"] * parts
        loaded = Classifier.load(folder, TASK, files=opened, beat=lambda: beats.append("call"))
        assert beats.count("part") == 2 * parts
    beats.clear()
    loaded.probabilities(EXAMPLES)  # which are of two lengths
    assert beats == ["call"] * 3
    requests = [("tag", encoding, np.ones((1, len(encoding)), bool)) for encoding in loaded.encode(EXAMPLES)]
    assert len(list(loaded.answers(requests, "pad"))) == 2
    assert beats == ["call"] * 6
    beats.clear()
    Classifier.load(folder, TASK, beat=lambda: beats.append("part"))
    assert parts <= len(beats) < 2 * parts  # what is hashed and loaded at once is read once


def test_a_failure_of_one_line_is_told_as_asked(model):
    """Messages of the program itself are put in the same terms."""
    with (
        pytest.raises(LabelError) as caught,
        loading.one_line_errors("it", rephrase=lambda text: text.replace("a", "b")),
    ):
        raise LabelError("a")
    assert str(caught.value) == "b"


@pytest.mark.parametrize("name", [WEIGHTS, "tokenizer.json", "config.json"])
def test_a_pointer_of_git_lfs_is_named(model, name):
    """A clone without Git LFS holds a few lines in the place of a large file: the message says what fetches it."""
    (model / name).write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n")
    with refuses(ModelError, place=model / name) as stop:
        Classifier.load(model, TASK)
    assert str(stop.value).endswith(": it is a pointer of Git LFS; `git lfs pull` fetches the file")
