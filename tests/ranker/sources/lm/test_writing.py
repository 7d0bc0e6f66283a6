"""Answers that a language model writes, against a loop that reads the whole text again for each token."""

from dataclasses import replace
from functools import wraps

import pytest
import torch
from conftest import TASK, make_lm
from refusals import refuses
from transformers import GPT2LMHeadModel

from factors.types import Example
from ranker.errors import LabelError
from ranker.sources.base import Machine, ResourceCache
from ranker.sources.lm.answers import before, label_in
from ranker.sources.lm.kind import PromptedModel
from ranker.sources.lm.prompts import Prompt
from ranker.tasks.numbers import NumberTask
from ranker.tasks.precomputed import PrecomputedTask
from ranker.tasks.texts import SpanTask, TextTask

PROMPT = Prompt(
    segments=("question", "passage"),
    template="{passage} Who? {question} Answer: ",
    name="who",
    instruction="Answer each question with words copied from its passage, and with nothing else.",
    max_new_tokens=7,
    stop=("ing",),
)
EXAMPLES = [
    Example("1", ("Who danced?", "The doctor danced near an old judge."), ("The doctor",)),
    Example("2", ("Who waited?", "The actor saw the judge because the doctor waited."), ("the doctor",)),
    Example("3", ("Who danced?", "The doctor danced near an old judge."), ("The doctor",)),
    Example("4", ("?", "an actor"), ("an actor",)),
]


def opened(folder, task, prompt=PROMPT):
    """A loaded model that writes."""
    return PromptedModel("m", str(folder), "m", prompt=prompt).open(task, Machine(), ResourceCache())


def written(model, example):
    """The text after a prompt, one token after the other, without a cache."""
    network = model.network
    text = model.encoder.frame_of(2).text(example.segments)[0]
    ids = network.tokenizer(text if network.encodes else text.rstrip()).input_ids  # the blank is the answer's
    out = []
    for _ in range(model.most):
        if network.encodes:
            decoded = torch.tensor([[network.bos, *out]])
            logits = network.model(torch.tensor([ids]), decoder_input_ids=decoded).logits
        else:
            logits = network.model(torch.tensor([[*ids, *out]])).logits
        out.append(int(logits[0, -1].argmax()))
        text = network.tokenizer.decode(out, skip_special_tokens=True)
        if out[-1] == network.tokenizer.eos_token_id or any(end in text for end in model.stop):
            break
    return before(network.tokenizer.decode(out, skip_special_tokens=True), model.stop)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["llama", "gemma", "gpt2", "t5"])
@pytest.mark.parametrize("budget", [1, 4096])
def test_what_is_written_is_that_of_a_loop_without_cache(lm, kind, budget):
    """Greedy tokens up to a stop, the end of the text or the limit; batches change nothing."""
    model = opened(lm(kind), SpanTask("spans"))
    model = replace(model, network=replace(model.network, token_budget=budget))
    expected = [written(model, example) for example in EXAMPLES]
    assert [value for block in model.predict(EXAMPLES) for value in block.values] == expected
    assert len(set(expected)) > 1


@pytest.mark.few(3)
@pytest.mark.parametrize(("kind", "changes", "calls"), [
    ("llama", {}, [3]), ("gemma", {"sliding_window": 240}, [3]), ("gemma", {"sliding_window": 64}, [1, 1, 1]),
    ("gpt2", {}, [3]), ("t5", {}, [3]),
])  # fmt: skip
def test_rows_of_many_lengths_are_written_at_once(tmp_path, kind, changes, calls):
    """One call of `generate` for all, unless tokens see only those near them; each row's text is that of it alone."""
    model = opened(make_lm(tmp_path / "lm", kind, seed=7, **changes), SpanTask("spans"))
    assert model.padding == 10 * model.most
    generate, rows = model.network.model.generate, []
    model.network.model.generate = lambda ids, **options: rows.append(len(ids)) or generate(ids, **options)
    expected = [written(model, example) for example in EXAMPLES]
    assert [value for block in model.predict(EXAMPLES) for value in block.values] == expected
    assert rows == calls


def test_a_model_that_reads_its_padding_gets_none(tmp_path, monkeypatch):
    """A mask may be ignored: such a model writes after rows of one length alone."""
    folder = make_lm(tmp_path / "lm", "gpt2", seed=7)
    forward = GPT2LMHeadModel.forward

    @wraps(forward)
    def without_mask(self, *args, attention_mask=None, **options):
        return forward(self, *args, **options)

    monkeypatch.setattr(GPT2LMHeadModel, "forward", without_mask)
    model = opened(folder, SpanTask("spans"))
    assert model.padding == 0
    expected = [written(model, example) for example in EXAMPLES]
    assert [value for block in model.predict(EXAMPLES) for value in block.values] == expected


def test_an_answer_does_not_end_before_it_begins(lm, monkeypatch):
    """A model that first writes the line ends that stop it goes on, up to the next ones."""
    model = opened(lm(), TextTask("text"), replace(PROMPT, stop=("\n\n",)))
    after = model.network.tokenizer("\n\nThe doctor\n\nAn actor", add_special_tokens=False).input_ids

    def generate(ids, stopping_criteria, **_):
        for token in after:
            ids = torch.cat([ids, torch.tensor([[token]])], dim=1)
            if stopping_criteria(ids, None).all():
                return ids
        raise AssertionError("did not stop")

    monkeypatch.setattr(model.network.model, "generate", generate)
    assert [block.values for block in model.predict(EXAMPLES[:1])] == [("The doctor",)]


def test_blocks_are_yielded_as_they_are_done(lm, monkeypatch):
    """So that what is written is stored before the next block is begun."""
    monkeypatch.setattr("ranker.sources.lm.writing.WRITTEN_AT_ONCE", 2)
    model, done = opened(lm(), TextTask("text")), []
    sizes = [len(block) for block in model.predict(EXAMPLES, done.append)]
    assert (sizes, sum(done)) == ([2, 2], len(EXAMPLES))


def test_labels_are_read_from_what_is_written(lm):
    """With `decode`, a text that begins with no word for a label is no answer."""
    words = {"entailment": ("e", "t"), "non-entailment": ("n", "o", "a")}
    prompt = replace(PROMPT, verbalizers=words, decode=True)
    model = opened(lm(), TASK, prompt)
    texts = [written(model, example) for example in EXAMPLES]
    expected = [label_in(text, words) for text in texts]
    answers = [label for block in model.predict(EXAMPLES) for label in block.answers()]
    assert answers == [None if label is None else TASK.index(label) for label in expected]
    words = {"entailment": tuple({text for text in texts if text}), "non-entailment": ("zz",)}
    model = opened(lm(), TASK, replace(prompt, verbalizers=words))
    answers = [label for block in model.predict(EXAMPLES) for label in block.answers()]
    assert answers == [1 if text else None for text in texts]


def test_numbers_are_read_from_what_is_written(lm):
    """A text that is no number is no answer."""
    blocks = opened(lm(), NumberTask("number", 0, 5)).predict(EXAMPLES)
    assert [value for block in blocks for value in block.values] == [None] * len(EXAMPLES)


def test_judged_answers_cannot_be_written(lm):
    """A task whose answers were judged elsewhere has no answers to write."""
    with refuses(LabelError, place="m"):
        opened(lm(), PrecomputedTask("judged", "score"))


@pytest.mark.parametrize(("text", "label"), [
    ("Yes.", "yes"), ("  yes, because", "yes"), ('"No"', "no"), ("not at all", "never"), ("yesterday", None),
    ("", None), ("The answer is yes", None),
])  # fmt: skip
def test_a_label_is_what_a_text_begins_with(text, label):
    """Case, blanks and quotes do not matter; the longest word counts; a word that only begins another does not."""
    assert label_in(text, {"yes": ("Yes",), "no": ("No",), "never": ("Not at all",)}) == label


def test_a_label_in_quotes_or_of_other_length_in_small_letters_is_found():
    """Curly quotes are quotes, and a word whose small letters are more matches itself."""
    words = {"positive": ("positive",), "white": ("weiß",)}
    texts = ["“positive”", '" positive"', "«Positive»", "Weiß.", "WEISS"]
    assert [label_in(text, words) for text in texts] == ["positive"] * 3 + ["white"] * 2
