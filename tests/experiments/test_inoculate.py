import gzip
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from refusals import refuses
from rich.console import Console
from safetensors import SafetensorError

from experiments import __main__ as program
from experiments import inoculate, plan, portable, recipe, train
from experiments.inoculate import TrainingMachine
from factors import Example
from ranker.datasets import sets
from ranker.datasets.embedded import SUITE
from ranker.datasets.sets import LabelledDataset
from ranker.errors import DataError, ModelError, RankModelsError, UnknownName, UsageError
from ranker.sources import suites
from ranker.sources.hf.classifiers import Classifier

RECIPE = """
name = "small"
task = "nli"
ood = "hans-sub"
in_domain = "pairs"
in_domain_test = "held-out"

[bases.tiny]
architecture = "bert"
vocabulary = 80
config = { hidden_size = 16, num_hidden_layers = 2, num_attention_heads = 2, intermediate_size = 32 }

[sources.pairs]
files = "pairs.jsonl.gz"
rows = 60

[sources.held-out]
files = "pairs.jsonl.gz"
rows = [60, 80]

[sources.new]
files = "new.jsonl"
where = { heuristic = "subsequence" }

[shared]
epochs = 1
batch_size = 8

[inoculation]
rows = 20
batch_size = 8

[[members]]
name = "untouched"
rows = 0

[[members]]
name = "half"
mix = { new = 0.5 }
seed = 1

[[members]]
name = "all"
mix = { new = 1.0 }
seed = 2
"""
WORDS = ["actor", "judge", "doctor", "lawyer", "artist", "banker", "ran", "slept", "danced", "waited"]


def row(rng, **options):
    """One labelled pair as a data file has it."""
    words = list(rng.choice(WORDS, 6, replace=False))
    label = int(rng.integers(2))
    return {
        "premise": " ".join(words),
        "hypothesis": " ".join(words[:2] if label else words[3:5]),
        "gold_label": "entailment" if label else "neutral",
        **options,
    }


def new_rows(count, seed, **options):
    """Rows as a data file has them, drawn with a seed."""
    rng = np.random.default_rng(seed)
    return [row(rng, **options) for _ in range(count)]


@pytest.fixture
def data_dir(tmp_path):
    """In-domain rows, gzipped, and rows of two heuristics."""
    folder = tmp_path / "data"
    folder.mkdir()
    with gzip.open(folder / "pairs.jsonl.gz", "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in new_rows(80, seed=0))
    new = [*new_rows(30, seed=1, heuristic="subsequence"), *new_rows(30, seed=2, heuristic="constituent")]
    (folder / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in new), encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def known_set(monkeypatch):
    """The OOD set of these tests: forty pairs, in place of the thousands of the real one."""
    task = sets.tasks()["nli"]
    examples = tuple(
        Example(f"new-{i}", (row["premise"], row["hypothesis"]), task.index(row["gold_label"]))
        for i, row in enumerate(new_rows(40, seed=7))
    )
    small = LabelledDataset("hans-sub", task, examples, population=40)
    monkeypatch.setattr(sets, "load", lambda name, data_dir=None, include=(): small)
    return small


@pytest.fixture
def small(tmp_path):
    """The recipe above, read."""
    path = tmp_path / "small.toml"
    path.write_text(RECIPE, encoding="utf-8")
    return recipe.load(str(path))


@pytest.fixture
def changed(tmp_path):
    """The recipe above with some text replaced, read."""

    def change(old, new):
        assert old in RECIPE
        path = tmp_path / "changed.toml"
        path.write_text(RECIPE.replace(old, new, 1), encoding="utf-8")
        return recipe.load(str(path))

    return change


@pytest.fixture
def trained(monkeypatch):
    """The number of rows of each training that was done."""
    counts = []
    real = train.train

    def counted(model, tokenizer, examples, stage, **options):
        counts.append(len(examples))
        return real(model, tokenizer, examples, stage, **options)

    monkeypatch.setattr(train, "train", counted)
    return counts


QUIET = TrainingMachine(console=Console(quiet=True))


def weights(output, member):
    """The bytes of a member's weights."""
    return (output / member / "model.safetensors").read_bytes()


@pytest.mark.more
def test_a_recipe_becomes_a_suite(small, data_dir, tmp_path, known_set):
    """Every member stands in suite.json with its accuracies on all rows, and the ranker reads it."""
    file = inoculate.inoculate(small, data_dir, tmp_path / "out", QUIET)
    content = json.loads(file.read_text(encoding="utf-8"))
    assert (content["schema_version"], content["name"], content["task"]) == (1, "small", "nli")
    entry = content["models"][1]
    assert (entry["name"], entry["path"], entry["family"]) == ("half", "half", "tiny")
    assert entry["ood_accuracy"]["hans-sub"]["rows"] == 40
    assert entry["ood_accuracy"]["hans-sub"]["fingerprint"] == known_set.fingerprint
    assert entry["training"]["rows"] == {"new": 10, "pairs": 10}
    assert entry["training"]["steps"] == 3
    assert entry["training"]["in_domain_rows"] == 20
    assert content["models"][0]["training"]["steps"] == 0
    suite = suites.load([str(file)])
    assert [model.name for model in suite.models] == ["untouched", "half", "all"]
    assert (
        suite.models[2].ood_accuracy[known_set.fingerprint]
        == content["models"][2]["ood_accuracy"]["hans-sub"]["accuracy"]
    )


@pytest.mark.more
def test_the_accuracies_are_those_of_the_ranker(small, data_dir, tmp_path, known_set):
    """Accuracies in suite.json are those of the classifier that ranks."""
    file = inoculate.inoculate(small, data_dir, tmp_path / "out", QUIET)
    model = suites.load([str(file)]).models[2]
    probabilities = Classifier.load(model.source.path, known_set.task).probabilities(known_set.examples)
    right = [row.argmax() == example.target for row, example in zip(probabilities, known_set.examples, strict=True)]
    assert model.ood_accuracy[known_set.fingerprint] == pytest.approx(np.mean(right), abs=1e-6)


@pytest.mark.more
def test_the_shared_stage_is_trained_once(small, data_dir, tmp_path, trained):
    """Every member starts from one in-domain model; the untouched one is that model."""
    inoculate.inoculate(small, data_dir, tmp_path / "out", QUIET)
    assert trained == [60, 0, 20, 20]
    assert weights(tmp_path / "out", "untouched") == weights(tmp_path / "out" / plan.SHARED, "tiny")


def test_a_training_is_known_wherever_its_data_lies(small, data_dir, tmp_path):
    """The same files in another folder are the same rows: nothing is trained again."""
    shutil.copytree(data_dir, tmp_path / "moved")
    first, moved = (plan.make(small, folder).trainings for folder in (data_dir, tmp_path / "moved"))
    assert [training.key for training in first] == [training.key for training in moved]


@pytest.mark.slow
def test_what_is_complete_is_not_trained_again(small, data_dir, tmp_path, trained):
    """A second run trains and measures nothing, and writes the same suite."""
    file = inoculate.inoculate(small, data_dir, tmp_path / "out", QUIET)
    first = file.read_bytes()
    trained.clear()
    assert inoculate.inoculate(small, data_dir, tmp_path / "out", QUIET).read_bytes() == first
    assert trained == []


@pytest.mark.more
def test_a_killed_run_goes_on_where_it_was(small, data_dir, tmp_path, trained, monkeypatch):
    """Killed while a member is written, the next run takes what is complete and trains the rest to the same weights."""
    inoculate.inoculate(small, data_dir, tmp_path / "whole", QUIET)
    real, saved = train.save, []

    def killed(model, tokenizer, folder):
        saved.append(folder)
        if len(saved) == 3:
            folder.mkdir(parents=True)
            (folder / "config.json").write_text("{")
            raise KeyboardInterrupt
        real(model, tokenizer, folder)

    monkeypatch.setattr(train, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        inoculate.inoculate(small, data_dir, tmp_path / "out", QUIET)
    assert not (tmp_path / "out" / "half").exists()
    assert not (tmp_path / "out" / SUITE).exists()
    monkeypatch.setattr(train, "save", real)
    trained.clear()
    inoculate.inoculate(small, data_dir, tmp_path / "out", QUIET)
    assert trained == [20, 20]
    for member in ("untouched", "half", "all"):
        assert weights(tmp_path / "out", member) == weights(tmp_path / "whole", member)
    assert not list((tmp_path / "out").rglob("*.partial"))


@pytest.mark.more
def test_only_what_changed_is_trained_again(small, changed, data_dir, tmp_path, trained):
    """A new seed of one member leaves the others as they are; a new shared stage leaves none."""
    inoculate.inoculate(small, data_dir, tmp_path / "out", QUIET)
    before = weights(tmp_path / "out", "half")
    trained.clear()
    inoculate.inoculate(changed("seed = 1", "seed = 5"), data_dir, tmp_path / "out", QUIET)
    assert trained == [20]
    assert weights(tmp_path / "out", "half") != before
    trained.clear()
    inoculate.inoculate(changed("epochs = 1", "epochs = 2"), data_dir, tmp_path / "out", QUIET)
    assert trained == [60, 0, 20, 20]


@pytest.mark.more
def test_without_a_shared_stage_members_start_from_the_base(changed, data_dir, tmp_path, trained):
    """Then each member's own stage holds its in-domain rows, too, and its seed makes its first weights."""
    alone = changed("[shared]\nepochs = 1\nbatch_size = 8\n", "")
    inoculate.inoculate(alone, data_dir, tmp_path / "out", QUIET)
    assert trained == [0, 20, 20]
    assert not (tmp_path / "out" / plan.SHARED).exists()


def test_rows_that_are_measured_are_never_trained_on(small, changed, data_dir, known_set):
    """A row of the OOD set, or of the in-domain test, is dropped from every source."""
    leaking = [
        {"premise": a, "hypothesis": b, "gold_label": "neutral"} for a, b in (e.segments for e in known_set.examples)
    ]
    with gzip.open(data_dir / "pairs.jsonl.gz", "rt", encoding="utf-8") as lines:
        held_out = [json.loads(line) for line in lines][60:]
    rows = [{**row, "heuristic": "subsequence"} for row in [*leaking, *held_out, *new_rows(20, seed=9)]]
    (data_dir / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    planned = plan.make(small, data_dir)
    measured = {example.segments for dataset in (planned.in_domain, *planned.ood) for example in dataset.examples}
    assert len(measured) == 60
    assert not measured & {example.segments for training in planned.trainings for example in training.rows}


def test_a_mixture_has_the_shares_that_it_says(changed, data_dir):
    """Shares are of the stage's rows; in-domain rows are the rest; no row of a source is drawn twice."""
    planned = plan.make(changed("mix = { new = 0.5 }", "mix = { new = 0.15 }"), data_dir)
    ids = [example.id for example in planned.trainings[1].rows]
    assert sum(row_id.startswith("new-") for row_id in ids) == 3
    assert len(set(ids)) == len(ids) == 20


@pytest.mark.parametrize("rows", [7, 8, 103])
def test_halves_that_do_not_divide_are_no_more_than_the_rows(rows):
    """Two halves of 7 rows are 4 and 3."""
    pools = {name: [Example(f"{name}{n}", (f"{name} {n}",), n % 2) for n in range(60)] for name in ("a", "b")}
    drawn = plan.draw(recipe.Stage(rows=rows, mix={"a": 0.5, "b": 0.5}), {**pools, plan.IN_DOMAIN: []}, 2, 0, "it")
    counts = [sum(row.id.startswith(name) for row in drawn) for name in ("a", "b")]
    assert counts == [round(rows / 2), rows - round(rows / 2)]


def test_rows_are_drawn_by_the_members_seed(small, changed, data_dir):
    """The same seed draws the same rows; another draws others."""
    first, same = (plan.make(small, data_dir).trainings[1].rows for _ in range(2))
    other_trainings = plan.make(changed("seed = 1", "seed = 5"), data_dir).trainings[1].rows
    assert first == same
    assert first != other_trainings


@pytest.mark.parametrize(
    ("old", "new", "error_type", "fields"),
    [
        ('"pairs.jsonl.gz"', '"piars.jsonl.gz"', DataError, {"place": "{data_dir}/piars.jsonl.gz"}),
        ("rows = 20\nbatch", "rows = 500\nbatch", UsageError, {"value": 250, "place": "the member half"}),
        ("mix = { new = 0.5 }", "rows = 70", UsageError, {"value": 70, "place": "the member half"}),
        ('in_domain_test = "held-out"', 'in_domain_test = "pairs"', UsageError, {"place": "the shared stage"}),
        ('task = "nli"', 'task = "paraphrase"', UsageError, {"option": "task", "place": "hans-sub"}),
        ('{ heuristic = "subsequence" }', '{ heuristic = "lexical" }', DataError, {"place": "the source 'new'"}),
        ("rows = [60, 80]", "rows = [80, 90]", DataError, {"place": "the source 'held-out'"}),
        (
            'files = "new.jsonl"\nwhere = { heuristic = "subsequence" }',
            'generator = "hans_lke"\nrows = 30',
            UnknownName,
            {"value": "hans_lke"},
        ),
    ],
)
def test_data_that_does_not_fit_is_refused_before_training(
    changed, data_dir, tmp_path, trained, old, new, error_type, fields
):
    """The error names the source or member, and nothing was trained or written."""
    place = {"place": fields["place"].format(data_dir=data_dir)} if "place" in fields else {}
    with refuses(error_type, **fields | place):
        inoculate.inoculate(changed(old, new), data_dir, tmp_path / "out", QUIET)
    assert trained == []
    assert not (tmp_path / "out").exists()


def test_files_need_a_data_directory(small, tmp_path):
    """Without --data-dir a recipe that reads files says so."""
    with refuses(UsageError, option="data_dir"):
        inoculate.inoculate(small, None, tmp_path / "out", QUIET)


def test_a_full_disk_leaves_no_half_model(small, data_dir, tmp_path, monkeypatch):
    """A disk that is full is one line, and nothing half-written passes for a model."""

    def full(model, tokenizer, folder):
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(train, "save", full)
    with refuses(RankModelsError, place=tmp_path / "out"):
        inoculate.inoculate(small, data_dir, tmp_path / "out", QUIET)
    assert not (tmp_path / "out" / SUITE).exists()
    assert not [path for path in (tmp_path / "out").rglob("*.safetensors") if not path.parent.name.startswith(".")]


def test_a_disk_that_is_full_in_the_middle_of_the_weights(small, data_dir, tmp_path, monkeypatch):
    """An error of the library that writes weights is told as a full disk."""

    def full(*_, **__):
        raise SafetensorError("No space left on device")

    monkeypatch.setattr("transformers.modeling_utils.safe_save_file", full)
    with refuses(RankModelsError, place=tmp_path / "out"):
        inoculate.inoculate(small, data_dir, tmp_path / "out", QUIET)


@pytest.mark.more
def test_a_killed_run_of_a_changed_recipe_leaves_no_old_accuracies(small, changed, data_dir, tmp_path, monkeypatch):
    """While models are being replaced no suite.json tells what those before them could do."""
    output = tmp_path / "out"
    inoculate.inoculate(small, data_dir, output, QUIET)
    monkeypatch.setattr(train, "save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        inoculate.inoculate(changed("mix = { new = 0.5 }", "mix = { new = 0.75 }"), data_dir, output, QUIET)
    assert (output / "half" / "measured.json").exists()
    assert not (output / SUITE).exists()


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_no_model_is_not_deleted(small, data_dir, tmp_path, trained, kind):
    """A folder of a member's name may be anybody's; an empty one is nobody's."""
    output = tmp_path / "out"
    (output / "untouched").mkdir(parents=True)
    (output / "half").mkdir() if kind == "folder" else None
    notes = output / "half" / "notes.txt" if kind == "folder" else output / "half"
    notes.write_text("mine")
    with refuses(UsageError, place=output / "half"):
        inoculate.inoculate(small, data_dir, output, QUIET)
    assert (notes.read_text(), trained) == ("mine", [])


def test_a_training_that_diverges_makes_no_model(changed, data_dir, tmp_path):
    """Weights that are no numbers are not kept, and not measured."""
    wild = changed("[inoculation]\n", "[inoculation]\nlearning_rate = 1e38\nweight_decay = 1.0\n")
    with refuses(ModelError, option="learning_rate", place="half"):
        inoculate.inoculate(wild, data_dir, tmp_path / "out", QUIET)
    assert not (tmp_path / "out" / "half").exists()
    assert not (tmp_path / "out" / SUITE).exists()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["bf16", "portable"])
def test_another_arithmetic_is_another_training(small, data_dir, tmp_path, trained, monkeypatch, way):
    """Weights trained in bfloat16 or portably are others, and each are made again where the others are wanted."""
    monkeypatch.setattr(portable, "hold", lambda: None)  # it would hold this process
    other_machine = TrainingMachine(**{way: True}, console=Console(quiet=True))
    for machine, count in ((QUIET, 4), (other_machine, 4), (other_machine, 0), (QUIET, 4)):
        trained.clear()
        inoculate.inoculate(small, data_dir, tmp_path / "out", machine)
        assert len(trained) == count


@pytest.fixture
def from_checkpoint(small, data_dir, tmp_path):
    """A recipe whose base is a checkpoint in a directory, and the directory."""
    base = tmp_path / "made" / "untouched"
    inoculate.inoculate(small, data_dir, tmp_path / "made", QUIET)
    return lambda path=base: replace(small, bases={"tiny": recipe.Base(path=str(path))}), base


@pytest.mark.more
def test_a_base_in_a_directory_is_known_by_its_content(from_checkpoint, data_dir, tmp_path, trained, monkeypatch):
    """However its path is written; other weights in the same place are another base."""
    location, base = from_checkpoint
    monkeypatch.chdir(tmp_path)
    for path in (base, "made/untouched", "./made/untouched"):
        trained.clear()
        inoculate.inoculate(location(path), data_dir, tmp_path / "out", QUIET)
        assert len(trained) == (4 if path == base else 0)
    shutil.copy(tmp_path / "made" / "all" / "model.safetensors", base)
    inoculate.inoculate(location(), data_dir, tmp_path / "out", QUIET)
    assert len(trained) == 4


def test_a_base_that_links_out_of_its_directory_is_refused(from_checkpoint, data_dir, tmp_path, trained):
    """As a model that is ranked is; nothing is trained."""
    location, base = from_checkpoint
    trained.clear()
    (base / "notes.txt").symlink_to(tmp_path / "elsewhere")
    with refuses(ModelError, place=base / "notes.txt"):
        inoculate.inoculate(location(), data_dir, tmp_path / "out", QUIET)
    assert trained == []


@pytest.mark.more
def test_a_base_of_half_precision_is_trained_in_single(from_checkpoint):
    """Rounding every step's weights to 11 bits ruins them."""
    _, base = from_checkpoint
    model, tokenizer = train.load(str(base), sets.tasks()["nli"], 0)
    train.save(model.half(), tokenizer, base)
    assert train.load(str(base), sets.tasks()["nli"], 0)[0].dtype == torch.float32


@pytest.mark.parametrize("damage", ["no tokenizer", "half of the weights"])
def test_a_damaged_base_is_refused(from_checkpoint, damage):
    """A tokenizer would be made up that knows no word, and weights are read by safetensors, not by Python."""
    _, base = from_checkpoint
    if damage == "no tokenizer":
        for file in base.glob("*token*"):
            file.unlink()
    else:
        (base / "model.safetensors").write_bytes(b"half")
    with refuses(ModelError, place=base):
        train.load(str(base), sets.tasks()["nli"], 0)


def test_a_base_that_is_missing_is_found_before_the_first_training(small, data_dir, tmp_path, trained):
    """Even if it is the last member's."""
    bases = {**small.bases, "other": recipe.Base(path=str(tmp_path / "nothing"))}
    last = replace(small.members[-1], base="other")
    with refuses(ModelError, place=tmp_path / "nothing"):
        inoculate.inoculate(
            replace(small, bases=bases, members=(*small.members[:-1], last)), data_dir, tmp_path / "out", QUIET
        )
    assert trained == []


@pytest.mark.more
def test_a_model_without_weights_is_made_again(small, data_dir, tmp_path, trained):
    """So is one whose note on its training is damaged, and a damaged note on its accuracies is written again."""
    output = tmp_path / "out"
    inoculate.inoculate(small, data_dir, output, QUIET)
    before = (output / SUITE).read_text()
    (output / "half" / "model.safetensors").unlink()
    (output / "all" / inoculate.TRAINING).write_text("[]")
    (output / "untouched" / inoculate.MEASURED).write_text('{"cut')
    trained.clear()
    inoculate.inoculate(small, data_dir, output, QUIET)
    assert len(trained) == 2
    accuracies = [
        [m["ood_accuracy"] for m in json.loads(text)["models"]] for text in (before, (output / SUITE).read_text())
    ]
    assert accuracies[0] == accuracies[1]


def test_a_device_that_is_none_is_refused(small, data_dir, tmp_path, trained):
    """Before anything is trained."""
    with refuses(UsageError, option="device", value="gpu"):
        inoculate.inoculate(
            small, data_dir, tmp_path / "out", TrainingMachine(device="gpu", console=Console(quiet=True))
        )
    assert trained == []


def run(capsys, *arguments):
    """The program's exit status, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        program.main([str(argument) for argument in arguments])
    return ended.value.code or 0, *capsys.readouterr()


@pytest.mark.more
def test_the_command_prints_the_suites_path(capsys, data_dir, tmp_path):
    """The path goes to stdout, for `rank-models --models`; progress goes to stderr."""
    (tmp_path / "small.toml").write_text(RECIPE, encoding="utf-8")
    arguments = ("inoculate", tmp_path / "small.toml", "--data-dir", data_dir, "--output", tmp_path / "out")
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (0, f"{tmp_path / 'out' / 'suite.json'}\n")
    assert "half: 3 steps" in err
    assert "half: hans-sub 0." in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["inoculate", "hans-minlm"],
            "python -m experiments: there is no recipe 'hans-minlm'; did you mean hans-minilm?",
        ),
        (["inoculate", "hans-minilm", "--base", "x"], "python -m experiments: `--base` must be NAME=PATH (got 'x')"),
        (["inoculate", "hans-minilm", "--base", "mni=x"], "there is no base 'mni'; did you mean minilm?"),
        (["inoculate"], "python -m experiments: Missing argument 'RECIPE'."),
    ],
)
def test_a_wrong_argument_is_one_line_and_status_2(capsys, arguments, message):
    """A usage error says what was expected, on stderr."""
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [("kept.jsonl.gz", "is there already"), ("none/x.jsonl.gz", "there is no folder"), ("x.jsonl", "a .jsonl.gz file")],
)
def test_a_sample_is_written_to_no_wrong_place(capsys, tmp_path, name, message):
    """Nothing is lost, and the error is one line."""
    (tmp_path / "kept.jsonl.gz").write_text("kept")
    status, out, err = run(capsys, "sample", "hans-sub", "--rows", 3, "-o", tmp_path / name)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert (tmp_path / "kept.jsonl.gz").read_text() == "kept"
    assert run(capsys, "sample", "hans-sub", "--rows", 3, "-o", tmp_path / "kept.jsonl.gz", "--force")[0] == 0
    assert gzip.decompress((tmp_path / "kept.jsonl.gz").read_bytes()).count(b"\n") == 3


def test_a_base_that_cannot_be_loaded_is_status_1(capsys, data_dir, tmp_path):
    """A missing base is found before the first member begins, and is one line."""
    (tmp_path / "small.toml").write_text(RECIPE, encoding="utf-8")
    arguments = ("inoculate", tmp_path / "small.toml", "--data-dir", data_dir, "--output", tmp_path / "out")
    status, _, err = run(capsys, *arguments, "--base", f"tiny={tmp_path / 'nothing'}")
    assert status == 1
    assert "nothing cannot be trained from: " in err
    assert err.count("\n") == 1
