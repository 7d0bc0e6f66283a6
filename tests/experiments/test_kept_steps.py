"""Checkpoints within one training: members of the suite, trained once, and points that `compare` reads."""

import csv
import io
import json

import pytest
import test_inoculate
import torch
from refusals import refuses
from test_inoculate import QUIET, RECIPE, WORDS, run, weights

from experiments import inoculate, plan, train
from ranker.datasets.embedded import SUITE
from ranker.domains.compare import compare
from ranker.errors import ModelError, UsageError
from ranker.sources import suites

changed, data_dir = test_inoculate.changed, test_inoculate.data_dir
known_set, trained = test_inoculate.known_set, test_inoculate.trained

POINTS = ["half-step-1", "half-step-2", "half"]
HALF = "mix = { new = 0.5 }\nseed = 1\n"
KEPT = f"{HALF}checkpoints = [1, 2]\n"


@pytest.fixture
def recipe(changed):
    """The recipe of `test_inoculate`, with a member that is kept after the first and the second of its three steps."""
    return changed(HALF, KEPT)


@pytest.fixture
def once(changed, data_dir, tmp_path):
    """The suite of the recipe without checkpoints."""
    return inoculate.inoculate(changed("seed = 1", "seed = 1"), data_dir, tmp_path / "once", QUIET).parent


def entries(folder):
    """List a suite's entries by the models' names."""
    return {model["name"]: model for model in json.loads((folder / SUITE).read_text(encoding="utf-8"))["models"]}


@pytest.mark.more
def test_a_run_is_trained_once_and_ends_where_it_would_have(recipe, once, data_dir, tmp_path, trained):
    """Checkpoints are members with accuracies of their own, and every finished member has the same last bit."""
    trained.clear()
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    folder = inoculate.inoculate(recipe, data_dir, tmp_path / "out", QUIET).parent
    assert torch.equal(torch.random.get_rng_state(), before)
    assert trained == [60, 0, 20, 20]
    assert [weights(folder, name) for name in ("untouched", "half", "all")] == [
        weights(once, name) for name in ("untouched", "half", "all")
    ]
    assert len({weights(folder, name) for name in POINTS}) == 3
    by_name = entries(folder)
    assert list(by_name) == ["untouched", *POINTS, "all"]
    assert [by_name[name]["training"]["steps"] for name in POINTS] == [1, 2, 3]
    assert {name: by_name[name].get("run") for name in by_name} == dict.fromkeys(POINTS, "half") | {
        "untouched": None,
        "all": None,
    }
    assert all(entry["training"]["in_domain_rows"] == 20 for entry in by_name.values())
    assert all(entry["ood_accuracy"]["hans-sub"]["rows"] == 40 for entry in by_name.values())
    assert [model.name for model in suites.load([str(folder)]).models] == list(by_name)


@pytest.mark.more
def test_a_checkpoint_is_what_as_many_steps_make(recipe, data_dir, tmp_path):
    """By hand: the same loop, which is looked at after its second step."""
    folder = inoculate.inoculate(recipe, data_dir, tmp_path / "out", QUIET).parent
    planned = plan.make(recipe, data_dir)
    training = planned.trainings[1]
    model, tokenizer = train.load(str(folder / plan.SHARED / "tiny"), planned.task, training.seed)
    steps = []

    def look(losses):
        steps.append(torch.cat([weight.detach().flatten() for weight in model.parameters()]).clone())

    train.train(model, tokenizer, training.rows, training.stage, seed=training.seed, after=look)
    assert len(steps) == 3
    for name, by_hand in zip(POINTS, steps, strict=True):
        checkpoint, _ = train.load(str(folder / name), planned.task, 0)
        assert torch.equal(torch.cat([weight.detach().flatten() for weight in checkpoint.parameters()]), by_hand)


@pytest.mark.more
def test_a_second_run_trains_nothing(recipe, data_dir, tmp_path, trained):
    """Nothing that is complete is trained again, and the suite says the same."""
    file = inoculate.inoculate(recipe, data_dir, tmp_path / "out", QUIET)
    first = file.read_bytes()
    trained.clear()
    assert inoculate.inoculate(recipe, data_dir, tmp_path / "out", QUIET).read_bytes() == first
    assert trained == []


@pytest.mark.more
def test_a_killed_run_leaves_its_checkpoints_and_ends_the_same(recipe, once, data_dir, tmp_path, trained, monkeypatch):
    """Killed while the second checkpoint is written, the next run keeps the first one, and writes the others."""
    uninterrupted = inoculate.inoculate(recipe, data_dir, tmp_path / "whole", QUIET).parent
    real, saved = train.save, []

    def killed(model, tokenizer, folder):
        saved.append(folder.name)
        if "half-step-2" in folder.name:
            folder.mkdir(parents=True)
            (folder / "config.json").write_text("{")
            raise KeyboardInterrupt
        real(model, tokenizer, folder)

    monkeypatch.setattr(train, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        inoculate.inoculate(recipe, data_dir, tmp_path / "out", QUIET)
    assert (tmp_path / "out" / "half-step-1" / "training.json").exists()
    assert not (tmp_path / "out" / "half-step-2").exists()
    assert not (tmp_path / "out" / SUITE).exists()
    saved.clear()
    trained.clear()
    monkeypatch.setattr(
        train, "save", lambda model, tokenizer, folder: (saved.append(folder.name), real(model, tokenizer, folder))
    )
    folder = inoculate.inoculate(recipe, data_dir, tmp_path / "out", QUIET).parent
    assert trained == [20, 20]
    assert saved == [".half-step-2.partial", ".half.partial", ".all.partial"]
    assert [weights(folder, name) for name in POINTS] == [weights(uninterrupted, name) for name in POINTS]
    assert not list(folder.rglob("*.partial"))


@pytest.mark.more
def test_checkpoints_can_be_added_to_a_member_that_is_complete(recipe, once, data_dir, trained):
    """Only the member with the new checkpoint is trained again, and ends as before."""
    finished = (once / "half" / "training.json").read_bytes()
    trained.clear()
    inoculate.inoculate(recipe, data_dir, once, QUIET)
    assert trained == [20]
    assert (once / "half" / "training.json").read_bytes() == finished
    assert list(entries(once)) == ["untouched", *POINTS, "all"]


def test_one_member_with_a_checkpoint_is_a_suite(changed, tmp_path):
    """Two models can be compared, though they are of one run."""
    alone = RECIPE[RECIPE.index("[[members]]") :]
    assert len(changed(alone, '[[members]]\nname = "half"\ncheckpoints = 1\n').members) == 1
    with refuses(UsageError, place=tmp_path / "changed.toml"):
        changed(alone, '[[members]]\nname = "half"\n')


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("[2, 1]", "`[members.half]`: `checkpoints` must be steps from 1, each once and in rising order (got [2, 1])"),
        ("[1, 1]", "`checkpoints` must be steps from 1, each once and in rising order (got [1, 1])"),
        ("[0, 1]", "`checkpoints` must be steps from 1, each once and in rising order (got [0, 1])"),
        ("[0.5]", "`checkpoints` must be a whole number (got 0.5)"),
        ("1\ntune = { weights = 'lora' }", '`checkpoints` cannot be kept of `weights = "lora"`, whose updates are'),
    ],
)
def test_checkpoints_that_cannot_be_right_are_refused(changed, tmp_path, steps, message):
    """The error names the file, the member and the key."""
    with refuses(UsageError, place=tmp_path / "changed.toml") as stop:
        changed("seed = 1\n", f"checkpoints = {steps}\n")
    assert message in str(stop.value)


def test_a_checkpoint_and_a_member_of_one_name_are_refused(changed, tmp_path):
    """Each is a folder."""
    with refuses(UsageError, place=tmp_path / "changed.toml"):
        changed('seed = 1\n\n[[members]]\nname = "all"', 'checkpoints = 1\n\n[[members]]\nname = "half-step-1"')


@pytest.mark.parametrize("step", [3, 4])
def test_a_checkpoint_beyond_the_training_is_said_before_it(changed, data_dir, tmp_path, trained, step):
    """The last step is the member itself; nothing was trained."""
    with refuses(UsageError, option="checkpoints", value=step, place="the member half"):
        inoculate.inoculate(changed("seed = 1", f"checkpoints = [1, {step}]"), data_dir, tmp_path / "out", QUIET)
    assert trained == []
    assert not (tmp_path / "out").exists()


def test_a_folder_of_a_checkpoints_name_is_not_deleted(recipe, data_dir, tmp_path, trained):
    """A folder of that name may be anybody's."""
    notes = tmp_path / "out" / "half-step-2" / "notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine")
    with refuses(UsageError, place=notes.parent):
        inoculate.inoculate(recipe, data_dir, tmp_path / "out", QUIET)
    assert (notes.read_text(), trained) == ("mine", [])


@pytest.mark.more
def test_a_checkpoint_that_diverged_is_not_kept(changed, data_dir, tmp_path):
    """The training ends there, with the name of the checkpoint."""
    wild = changed("seed = 1\n", "checkpoints = [1, 2]\nlearning_rate = 1e38\nweight_decay = 1.0\n")
    with refuses(ModelError, option="learning_rate", place="half-step-1"):
        inoculate.inoculate(wild, data_dir, tmp_path / "out", QUIET)
    assert not (tmp_path / "out" / "half").exists()


@pytest.mark.more
@pytest.mark.parametrize("tune", ["head", "head-then-all"])
def test_checkpoints_of_other_ways_to_tune(changed, data_dir, tmp_path, tune):
    """A model that is tuned in part for a while is written whole, and ends as without checkpoints."""
    way = f'tune = {{ weights = "{tune}" }}'
    with_them = changed("seed = 1\n", f"seed = 1\n{way}\ncheckpoints = [1, 2]\n")
    folder = inoculate.inoculate(with_them, data_dir, tmp_path / "with", QUIET).parent
    without = changed("seed = 1\n", f"seed = 1\n{way}\n")
    assert weights(inoculate.inoculate(without, data_dir, tmp_path / "out", QUIET).parent, "half") == weights(
        folder, "half"
    )
    assert len({weights(folder, name) for name in POINTS}) == 3


@pytest.mark.more
def test_points_say_the_run_and_compare_reads_them(recipe, data_dir, tmp_path, capsys):
    """A column names it where there is one; compare says that models of one run go together."""
    folder = inoculate.inoculate(recipe, data_dir, tmp_path / "out", QUIET).parent
    status, out, _ = run(capsys, "points", folder)
    assert status == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["model"]: row["run"] for row in rows} == dict.fromkeys(POINTS, "half") | {"untouched": "", "all": ""}
    (tmp_path / "points.csv").write_text(out)
    for source in (tmp_path / "points.csv", folder):
        comparison = compare(source)
        assert {model.model: (model.value, model.in_domain) for model in comparison.models} == {
            name: (entry["ood_accuracy"]["hans-sub"]["accuracy"], entry["in_domain_accuracy"])
            for name, entry in entries(folder).items()
        }
        assert [note for note in comparison.notes if "run" in note] == [
            "3 models are checkpoints of 1 training run (half): trends count each as a separate model, so they are too "
            "sure."
        ]


@pytest.mark.more
def test_runs_of_several_suites_bear_the_suites_name(recipe, data_dir, tmp_path, capsys):
    """As their models do."""
    folder = inoculate.inoculate(recipe, data_dir, tmp_path / "out", QUIET).parent
    _, out, _ = run(capsys, "points", folder, suites.bundled_suites()["paws-mini"])
    runs = {row["model"]: row["run"] for row in csv.DictReader(io.StringIO(out))}
    assert {name: base for name, base in runs.items() if base} == {f"small/{name}": "small/half" for name in POINTS}


CARD = """
description = "Is it work?"
in_domain = "nothing"
population = 4
source = "written for this test"
licence = "CC0"

[task]
name = "work"
labels = ["rest", "work"]

[[layouts]]
text = ["text"]
label = "label"
"""


@pytest.fixture
def own_recipe(tmp_path):
    """A set of one's own, and a recipe for its task."""
    folder = tmp_path / "sets" / "trades"
    folder.mkdir(parents=True)
    (folder / "card.toml").write_text(CARD)
    rows = [
        {"text": f"{name} {verb}", "label": "work" if verb == "ran" else "rest"} for name in WORDS for verb in WORDS
    ]
    (folder / "examples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows if row["text"][0] == "a"))
    (tmp_path / "home.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows if row["text"][0] != "a"))
    text = RECIPE.replace('"nli"', '"work"').replace('"hans-sub"', '"trades"').replace("pairs.jsonl.gz", "home.jsonl")
    text = text.replace("rows = 60\n", "rows = 40\n").replace("[60, 80]", "[40, 60]")
    (tmp_path / "own.toml").write_text(
        text[: text.index("[sources.new]")] + text[text.index("[shared]") :].split("[[")[0]
    )
    with (tmp_path / "own.toml").open("a") as file:
        file.write('[[members]]\nname = "one"\ncheckpoints = 1\n')
    return tmp_path


def test_a_recipe_may_be_for_a_task_of_ones_own(own_recipe, capsys, monkeypatch):
    """The task's set is a folder that `--include` names, as for `rank-models`."""
    monkeypatch.undo()  # the set is the real one
    command = ("inoculate", own_recipe / "own.toml", "--data-dir", own_recipe, "-o", own_recipe / "out")
    status, _, err = run(capsys, *command)
    assert (status, err) == (2, "python -m experiments: there is no task 'work'; known: nli, msgs, paraphrase\n")
    assert run(capsys, *command, "--include", own_recipe / "sets")[0] == 0
    assert list(entries(own_recipe / "out")) == ["one-step-1", "one"]
    assert list(entries(own_recipe / "out")["one"]["ood_accuracy"]) == ["trades"]
