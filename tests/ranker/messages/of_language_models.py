"""Messages of prompts and language models, and what provokes each."""

import json
from types import SimpleNamespace

import numpy as np
import torch
from conftest import TASK

from factors import Example
from ranker.runs.collect import check_unseen
from ranker.runtime.base import Request
from ranker.sources.base import ModelInfo, ResourceCache, SourceOptions
from ranker.sources.lm import demonstrations, kind, prompts
from ranker.sources.lm.answers import check_apart
from ranker.sources.lm.encoding import PromptEncoder, _RowTokens
from ranker.sources.lm.network import LanguageModel, _check_order
from ranker.sources.lm.options import LMOptions
from ranker.sources.lm.prompts import Prompt
from ranker.sources.references import Reference
from ranker.tasks.precomputed import PrecomputedTask

PROMPT = Prompt(name="p", segments=("first",), template="{first} is ", verbalizers={"entailment": ("yes",)})

BOTH_WAYS = SimpleNamespace(name="m", device="cpu", logits=lambda ids, keep: ids.flip(1)[..., None] + torch.arange(2.0))
"""A network whose first token's logits are told from the second token."""


def file_of(folder, text):
    """Read a prompt with this text."""
    (folder / "p.toml").write_text(text)
    return prompts.read(folder / "p.toml")


def draw_of(folder, count):
    """Draw demonstrations from two rows."""
    rows = [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return demonstrations.draw(folder / "rows.jsonl", count, 0)


def encoder(size, cut, texts):
    """Encode a row of 9 tokens by a model that takes `size`."""
    network = SimpleNamespace(max_length=size, name="m", encodes=False)
    prompted = PromptEncoder(network, None, (), False, cut)
    tokens = _RowTokens(np.arange(9), np.zeros((9, 2), int), np.full(9, -1), ())
    object.__setattr__(prompted, "_tokens", lambda rows: [tokens for _ in rows])
    return list(prompted.encodings([Example("r1", texts)]))


def shown_rows():
    """A model that was shown the rows that it is ranked on."""
    info = ModelInfo(SimpleNamespace(name="m"), demonstrations=(("a",),))
    return check_unseen(info, [Request([Example("7", ("a",))])])


def sources_of(folder, **options):
    """List the models of an empty folder."""
    (folder / "m").mkdir()
    reference = Reference(str(folder / "m"), part=options.pop("part", ""))
    return kind.sources(reference, SourceOptions(kinds=[LMOptions(**options)]), ResourceCache())


MESSAGES = [
    ("a prompt without its segment", lambda folder: file_of(folder, 'segments = ["a"]\ntemplate = "x"'),
     "p.toml: its `template` does not have the segment {a}"),
    ("a segment twice", lambda folder: file_of(folder, 'template = "{text} {text}"'),
     "p.toml: its `template` must have only once the segment {text}"),
    ("an unknown field", lambda folder: file_of(folder, 'template = "{text} {label}"'),
     "p.toml: its `template` has the unknown field {label} (known: {text}, {labels})"),
    ("a format", lambda folder: file_of(folder, 'template = "{text:>3}"'),
     "p.toml: its `template` must have plain fields (got {text:>3}); write {{ for a brace"),
    ("a blank word", lambda folder: file_of(folder, 'template = "{text}"\n[verbalizers]\nyes = " "'),
     "p.toml: `verbalizers`: 'yes' needs a word, or several, that are not blank"),
    ("no token to write", lambda folder: file_of(folder, 'template = "{text}"\nmax_new_tokens = 0'),
     "p.toml: `max_new_tokens` must be at least 1, and `shots` at least 0"),
    ("words for no label", lambda folder: Prompt(name="p", template="{text}", verbalizers={"x": ("y",)}).words(TASK),
     "the prompt p has words for 'x', which is no label of nli (non-entailment, entailment)"),
    ("a label without words", lambda folder: PROMPT.words(TASK),
     "the prompt p has no words for the label 'non-entailment' of nli; add them to `verbalizers`"),
    ("rows of other texts", lambda folder: prompts.frame(PROMPT, 2),
     "the prompt p is for rows of 1 texts (first), and these have 2"),
    ("a template that changes texts", lambda folder: prompts.frame(PROMPT, 1, chat=lambda turns: ""),
     "the prompt p cannot be put to this model: its chat template changes texts"),
    ("an empty folder of prompts", lambda folder: prompts.load([str(folder)]),
     "`prompts` must name files, or folders of .toml files (got FOLDER)"),
    ("no such prompt", lambda folder: prompts.load(["nli/true-or-fals"]),
     "`prompts` there is no prompt or file 'nli/true-or-fals'; did you mean nli/true-or-false?"),
    ("two prompts of one name", lambda folder: prompts.load(["nli/chat", "labels/chat"]),
     "`prompts` has two prompts named 'chat'; give one another `name`"),
    ("no built-in prompt", lambda folder: prompts.prompt_of(PrecomputedTask("judged", "score")),
     "there is no built-in prompt for judged; name one with `prompts`"),
    ("too few rows to show", lambda folder: draw_of(folder, 3),
     "`shots` must be at most 2, the labelled rows of rows.jsonl (got 3)"),
    ("an answer of another task",
     lambda folder: demonstrations.answer_text(demonstrations.Demonstration(("a",), '"z"'), TASK, {}, "m"),
     "m: a demonstration has an answer that is none of nli: a label must be one of non-entailment (0), entailment (1) "
     "or an alias (got 'z')"),
    ("demonstrations without a file", lambda folder: sources_of(folder, shots=(4,)),
     "`shots` of 4 needs labelled rows; name a file with `demonstrations`"),
    ("no such part", lambda folder: sources_of(folder, prompts=("nli/chat",), part="x"),
     "m has no prompt 'x' among `prompts`"),
    ("shots below 0", lambda folder: LMOptions(shots=(-1,)), "`shots` must be 0 or more (got -1)"),
    ("rows that are ranked on", lambda folder: shown_rows(),
     "m was shown rows that models are ranked on, as demonstrations: 7; draw demonstrations from other rows"),
    ("a row that is too long", lambda folder: encoder(5, False, ("a",)),
     "m takes 5 tokens, and the row 'r1' has 9 with its prompt; `too_long=cut` cuts its texts"),
    ("a prompt that is too long", lambda folder: encoder(5, True, ("",)),
     "m takes 5 tokens, and the prompt alone has more"),
    ("a word that begins another", lambda folder: check_apart(("no", "no way"), ((1,), (1, 2)), "m"),
     "m reads 'no' as the beginning of 'no way', which could never be the more probable answer; choose other "
     "`verbalizers`"),
    ("no chat template",
     lambda folder: LanguageModel.chat(SimpleNamespace(name="m", tokenizer=SimpleNamespace(chat_template=None)), []),
     "m has no chat template; take prompts without `chat`"),
    ("a network that reads both ways", lambda folder: _check_order(BOTH_WAYS),
     "m is no language model: its tokens see those after them (bidirectional attention)"),
    ("an unreadable GGUF file", lambda folder: kind.open_gguf(folder / "a.gguf"),
     "a.gguf cannot be read: No such file or directory"),
]  # fmt: skip
