"""Files of prompts, the built-in ones, and what they make of rows and demonstrations."""

import json
from collections import Counter

import pytest
from conftest import TASK
from refusals import refuses

from factors.types import Example
from ranker.datasets.sets import load
from ranker.errors import DataError, LabelError, ModelError, UsageError
from ranker.sources.lm.demonstrations import Demonstration, answer_text, draw
from ranker.sources.lm.prompts import Prompt, builtin, frame, prompt_of, read
from ranker.sources.lm.prompts import load as load_prompts
from ranker.tasks.classes import ClassificationTask
from ranker.tasks.precomputed import PrecomputedTask
from ranker.tasks.texts import SpanTask

WHOLE = """
name = "whole"
segments = ["premise", "hypothesis"]
instruction = "Judge."
template = "{premise} So {hypothesis}? "
separator = " | "
shots = 2
demonstrations = "rows.jsonl"
calibration = "content-free"

[verbalizers]
entailment = ["Yes", "yes"]
non-entailment = "No"
"""


def test_a_file_is_read_whole(tmp_path):
    """Keys are the fields; the file of demonstrations lies beside it; a lone word is a list of one."""
    (tmp_path / "a.toml").write_text(WHOLE)
    prompt = read(tmp_path / "a.toml")
    assert (prompt.name, prompt.shots, prompt.calibration) == ("whole", 2, "content-free")
    assert prompt.demonstrations == str(tmp_path / "rows.jsonl")
    assert dict(prompt.verbalizers) == {"entailment": ("Yes", "yes"), "non-entailment": ("No",)}


@pytest.mark.parametrize(("old", "new"), [
    ("{hypothesis}", "it"), ("{hypothesis}", "{hypothesis} {hypothesis}"), ("{hypothesis}", "{hypothesis} {label}"),
    ("{hypothesis}", "{hypothesis!r}"), ("{hypothesis}", "{hypothesis"), ("template", "tempalte"), ('"No"', '[""]'),
    ("shots = 2", "shots = -1"), ("shots = 2", 'shots = "two"'), ("content-free", "free"),
])  # fmt: skip
def test_a_file_that_is_wrong(tmp_path, old, new):
    """One line names the file: a missing, repeated or unknown segment, a wrong key or value."""
    file = tmp_path / "a.toml"
    file.write_text(WHOLE.replace(old, new))
    with pytest.raises(DataError) as stop:
        read(file)
    assert stop.value.place == str(file)
    assert str(stop.value).count("\n") == 0


def test_prompts_are_found_by_name_file_and_folder(tmp_path):
    """Built-in ones by set or by name; a folder gives all of its files; two of one name are refused."""
    for name in ("b", "a"):
        (tmp_path / f"{name}.toml").write_text('template = "{text} is"')
    assert [prompt.name for prompt in load_prompts([str(tmp_path)])] == ["a", "b"]
    assert [prompt.name for prompt in load_prompts([str(tmp_path / "b.toml"), "nli/chat"])] == ["b", "chat"]
    assert [prompt.name for prompt in load_prompts(["nli"])] == ["does-it-follow", "entailment", "true-or-false"]
    with refuses(UsageError, option="prompts", value="nil/chat"):
        load_prompts(["nil/chat"])
    with refuses(UsageError, option="prompts", value="chat"):
        load_prompts(["nli/chat", "labels/chat"])
    (tmp_path / "empty").mkdir()
    with refuses(UsageError, option="prompts", value=str(tmp_path / "empty")):
        load_prompts([str(tmp_path / "empty")])


def test_every_embedded_task_has_several_prompts():
    """Prompts can be read, have words for all of a task's labels, and are for rows with as many texts."""
    sets = {"hans-sub": "nli", "hans-con": "nli", "hans-lex": "nli", "paws": "paraphrase"}
    for name in ("hans-sub", "hans-con", "hans-lex", "paws", "msgs-verb", "msgs-morph", "msgs-adject"):
        dataset = load(name)
        prompts = load_prompts([sets.get(name, name)])
        assert len(prompts) >= 2
        for prompt in prompts:
            assert {dataset.task.index(label) for label in prompt.words(dataset.task)} == {0, 1}
            around = frame(prompt, len(dataset.examples[0].segments), chat=lambda turns: turns[-1]["content"])
            assert len(around.literals) >= 2
    for name, file in builtin().items():
        assert read(file).name == name.partition("/")[2]


def test_the_prompt_of_a_task():
    """The first that is no chat of the set with the task's name, or for any labels; judged answers have none."""
    assert not prompt_of(TASK).chat
    assert prompt_of(TASK).name == prompt_of(ClassificationTask("nli", ("a", "b"))).name
    assert prompt_of(ClassificationTask("colours", ("red", "blue"))).segments == ()
    assert prompt_of(SpanTask("spans")).segments == ("question", "passage")
    with refuses(ModelError, option="prompts"):
        prompt_of(PrecomputedTask("judged", "score"))


def test_a_frame_is_the_text_around_the_rows():
    """Instruction, demonstrations and template, in this order, with the texts of the row in their places."""
    prompt = Prompt(segments=("a", "b"), template="{b} then {{x}} {a}. ", instruction="Do.", separator="\n")
    around = frame(prompt, 2, demonstrations=[(("1", "2"), "yes"), (("3", "4"), "no")])
    text, places = around.text(("first", "second"))
    assert text == "Do.\n2 then {x} 1. yes\n4 then {x} 3. no\nsecond then {x} first. "
    assert [text[start:end] for start, end in places] == ["first", "second"]


def test_a_prompt_for_any_rows():
    """`{text}` is all texts of a row, a line each, and `{labels}` the words for the labels."""
    prompt = Prompt(template="{text}\n({labels}): ")
    assert frame(prompt, 2, "good, bad").text(("a", "b"))[0] == "a\nb\n(good, bad): "


def test_a_chat_fits_the_template_of_its_model():
    """An instruction may go before the first question, but texts of a row must be found."""

    def chat(messages):
        if messages[0]["role"] == "system":
            raise ModelError("no system message")
        return "".join(f"<{message['role']}>{message['content']}" for message in messages)

    prompt = Prompt(template="Is it {text}? ", instruction="Say yes or no.", chat=True, separator=" ")
    text = frame(prompt, 1, demonstrations=[(("red",), "yes")], chat=chat).text(("blue",))[0]
    assert text == "<user>Say yes or no. Is it red?<assistant>yes<user>Is it blue?"
    with refuses(ModelError, place="the prompt p"):
        frame(Prompt(name="p", template="{text}", chat=True), 1, chat=lambda messages: "nothing")


def rows(tmp_path, labels):
    """A file of rows with these labels."""
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps({"text": f"row {n}", "label": label}) + "\n" for n, label in enumerate(labels)))
    return file


def test_demonstrations_are_balanced_and_seeded(tmp_path):
    """As many of each label as there are; the same seed draws the same rows; another draws others."""
    file = rows(tmp_path, ["a"] * 30 + ["b"] * 5 + ["c"])
    drawn = draw(file, 10, 0)
    assert Counter(json.loads(row.answer) for row in drawn) == {"a": 5, "b": 4, "c": 1}
    assert drawn == draw(file, 10, 0) != draw(file, 10, 1)
    assert len({row.segments for row in drawn}) == 10
    with refuses(UsageError, option="shots", value=37, allowed=(0, 36)):
        draw(file, 37, 0)


def test_the_answer_of_a_demonstration():
    """The first word for its own label; of a name that has no words, for its class; of references the first."""
    words = {"entailment": ("Yes",), "neutral": ("Maybe",), "contradiction": ("No",)}
    answers = {
        label: answer_text(Demonstration(("a", "b"), json.dumps(label)), TASK, words, "m")
        for label in ("entailment", "neutral", "contradiction", "non-entailment")
    }
    assert answers == {"entailment": "Yes", "neutral": "Maybe", "contradiction": "No", "non-entailment": "Maybe"}
    with refuses(LabelError, place="m", option="", value=None, allowed=()):
        answer_text(Demonstration(("a", "b"), '"perhaps"'), TASK, words, "m")
    cell = json.dumps({"text": ["the doctor", "doctor"], "answer_start": [0, 4]})
    assert answer_text(Demonstration(("Who?", "the doctor"), cell), SpanTask("spans"), {}, "m") == "the doctor"


def test_names_and_files_are_no_part_of_a_prompts_identity(tmp_path):
    """A prompt that is renamed is the same to the store; any other change is another prompt."""
    first = Prompt(template="{text} is", name="a", shots=1, demonstrations="a.jsonl", seed=3)
    assert first.identity() == Prompt(template="{text} is", name="b").identity()
    assert first.identity() != Prompt(template="{text} is ", name="a").identity()
    assert json.dumps(first.identity())
    example = Example("1", ("a",))
    assert frame(first, 1).text(example.segments)[0] == "a is"
