"""Answers that a language model writes after a prompt, one most probable token after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from factors.types import Example, Ints
from ranker.sources.hf import batching
from ranker.sources.lm.answers import before
from ranker.sources.lm.encoding import PromptEncoder
from ranker.sources.lm.network import PREFIX_SHARE, LanguageModel, Prefix
from ranker.sources.packing import windows

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.tasks.base import Predictions, Task

WRITTEN_AT_ONCE = 128
"""Examples in a block of answers, which is stored before the next is written."""


class WrittenRow(NamedTuple):
    """One prompt.

    Attributes:
        ids: (T,) its tokens.
        prefix: tokens that it begins with, and whose keys and values are shared.
        room: tokens that may be written.
    """

    ids: Ints
    prefix: Prefix
    room: int

    @property
    def size(self) -> int:
        """Tokens that are computed at most, and a share of those that are not."""
        return len(self.ids) - len(self.prefix) + self.room + len(self.prefix) // PREFIX_SHARE

    @property
    def content(self) -> Hashable:
        """Its tokens."""
        return self.ids.tobytes()


@dataclass(frozen=True)
class Writer:
    """A prompt on a language model that writes its answers: a `ranker.sources.base.Predictor`.

    Decoding is greedy. The text ends at the model's end of text, at one of the texts `stop`, which does not belong to
    it, or after `most` tokens; blanks around it are removed.

    Attributes:
        task: that answers are parsed for.
        parse: text and texts of the row -> the answer; None if the text holds none.
    """

    name: str
    network: LanguageModel
    encoder: PromptEncoder
    task: Task
    parse: Callable[[str, Sequence[str]], Any]
    most: int
    stop: tuple[str, ...]
    padding: int = 0

    def predict(self, examples: Sequence[Example], advance: Advance = lambda done: None) -> Iterator[Predictions]:
        """Yield the answers to examples, in blocks, in order: see `ranker.sources.base.Predictor`."""
        encoded = zip(examples, self.encoder.encodings(examples), strict=True)
        budget = self.network.token_budget
        for block in windows(encoded, lambda row: len(row[1]) + self.most, self.network.window(), WRITTEN_AT_ONCE):
            rows = ((None, [WrittenRow(encoding.ids, encoding.prefix, self.most)]) for _, encoding in block)
            longest = max(len(encoding) for _, encoding in block) + self.most
            padding = self.padding if longest <= self.network.reach else 0
            answered = batching.run_rows(self._run, rows, budget, advance, padding)
            texts = [text for _, (text,) in answered]
            answers = [self.parse(text, example.segments) for text, (example, _) in zip(texts, block, strict=True)]
            yield self.task.predictions(answers)

    def _run(self, rows: Sequence[WrittenRow]) -> list[str]:
        """Return what is written after rows of about one size."""
        texts = [""] * len(rows)
        alike: dict[Prefix, list[int]] = defaultdict(list)
        for place, row in enumerate(rows):
            alike[row.prefix].append(place)
        for prefix, places in alike.items():
            tokens = self.network.write([rows[place].ids for place in places], prefix, self.most, self.stop)
            decoded = self.network.tokenizer.batch_decode(tokens, skip_special_tokens=True)
            for place, text in zip(places, decoded, strict=True):
                texts[place] = before(text, self.stop)
        return texts
