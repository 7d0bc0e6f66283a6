"""Run any Hugging Face token classifier: a BIO tag for each word of a text that is split at blanks."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from factors.types import SPECIAL, Example, Floats, Ints
from ranker.sources.base import Embedded
from ranker.sources.hf import labels, loading
from ranker.sources.hf.align import Cells, TokenIds
from ranker.sources.hf.batching import Batch, TokenRow
from ranker.sources.hf.classifiers import LONG, SHORT, collapse
from ranker.sources.hf.embedded import EmbeddedHead
from ranker.sources.hf.heads import TAGS
from ranker.sources.hf.networks import ENCODED_AT_ONCE, LoadedNetwork, Windows, finite, load_network, overlap_in
from ranker.sources.packing import in_blocks
from ranker.tasks.tags import OUTSIDE, TagAnswers, Tagging, entities

if TYPE_CHECKING:
    from tokenizers import Encoding

    from ranker.progress import Advance

log = logging.getLogger(__name__)

Places = Mapping[int, tuple[int, int]]
"""Word of a row -> the window that it is tagged in, and its first token there."""


@dataclass(frozen=True, kw_only=True)
class Tagger(LoadedNetwork):
    """A loaded token classifier: a `ranker.sources.base.Predictor` of tags.

    Words are tokenized one by one, as transformers' own training script does (`is_split_into_words`). The tag of a word
    is that of its first token; a word without tokens is outside of all spans. A row longer than the model's limit is
    read in overlapping windows (`networks.OVERLAP`), and each word is tagged where it has most context: see
    `word_places`.

    Attributes:
        groups: tag -> the outputs of the network that mean it; their probabilities add up.
    """

    groups: Mapping[str, tuple[int, ...]]

    @classmethod
    def load(cls, path: str | Path, *, label_map: Mapping[str, str] | None = None, **options: Any) -> Tagger:
        """Load a token classifier, as an `EmbeddedTagger` if it can be one; see `load_network`."""
        network = load_network(path, TAGS, label_map=label_map, **options)
        groups = labels.tag_outputs(loading.label_names(network.model), label_map, model=network.name)
        return EmbeddedTagger(**vars(network), groups=groups).or_plain(Tagger, SHORT, LONG)

    def predict(self, examples: Sequence[Example], advance: Advance = lambda done: None) -> Iterator[TagAnswers]:
        """Yield the tags of examples, in blocks, in order: see `ranker.sources.base.Predictor`."""
        requests = self._requests(examples)
        answered = self.outputs_of(self.best_tags, requests, advance)
        for block in in_blocks(answered, ENCODED_AT_ONCE):
            yield TagAnswers(tuple(self._tags(count, places, outputs) for (count, places), outputs in block))

    def best_tags(self, batch: Batch) -> torch.Tensor:
        """Run a batch of R rows -> (R, T) the index of the most probable tag of each token, padding included."""
        return self.network(batch).argmax(dim=-1)

    def run_head(self, type_ids: torch.Tensor | None, **rows: torch.Tensor) -> torch.Tensor:
        """Run R rows of T tokens, as ids or as embeddings -> (R, T, G) float32 logits of the tags."""
        return collapse(finite(self.run(type_ids, **rows).logits), tuple(self.groups.values()))

    def windows_of(self, examples: Sequence[Example]) -> list[Windows]:
        """Return the windows of each example."""
        words = [example.segments[0].split(" ") for example in examples]
        return self.windows(words, overlap=self._overlap, truncation=True, is_split_into_words=True)

    @property
    def _overlap(self) -> int:
        return overlap_in(self.max_length - self.tokenizer.num_special_tokens_to_add())

    def _requests(self, examples: Sequence[Example]) -> Iterator[tuple[tuple[int, Places], list[TokenRow]]]:
        """Yield the number of words, their places and the windows of each example."""
        stream, count, long = iter(examples), 0, 0
        while block := list(islice(stream, ENCODED_AT_ONCE)):
            for example, windows in zip(block, self.windows_of(block), strict=True):
                long += len(windows) > 1
                places = word_places([encoding.word_ids for _, encoding in windows], self._overlap)
                yield (example.segments[0].count(" ") + 1, places), [row for row, _ in windows]
            count += len(block)
        if long:
            log.info("%s: %d of %d examples are longer than its %d tokens, and were read in windows (`pipeline` "
                     "would cut them)", self.name, long, count, self.max_length)  # fmt: skip

    def _tags(self, count: int, places: Places, outputs: Sequence[Floats]) -> Tagging:
        """Return the tags of the words of one row, from those of the tokens of each window."""
        names = tuple(self.groups)
        tagged = {word: names[int(outputs[window][token])] for word, (window, token) in places.items()}
        return tuple(tagged.get(word, OUTSIDE) for word in range(count))


@dataclass(frozen=True, kw_only=True)
class EmbeddedTagger(Tagger, EmbeddedHead):
    """A tagger whose words can be hidden: a `ranker.sources.base.Embedded` of the first span that it predicts.

    The number is the mean log-odds of the tags of the span's words. A row is cut at the model's limit.
    """

    def locate(self, example: Example, encoding: Encoding) -> tuple[Ints, Ints]:
        """Return (T,) segments of the tokens, and (T, 2) their characters: see `EmbeddedHead`."""
        words = example.segments[0].split(" ")
        starts = np.cumsum([0, *(len(word) + 1 for word in words)])
        inside = np.array([word is not None for word in encoding.word_ids], bool)
        firsts = np.array([0 if word is None else starts[word] for word in encoding.word_ids], np.int64)
        offsets = np.array(encoding.offsets, np.int64).reshape(-1, 2) + firsts[:, None]
        return np.where(inside, 0, SPECIAL), offsets

    def cells(self, example: Example, encoding: Encoding, outputs: Floats) -> Cells:
        """Return the first tokens of the words of the first span, with the number of each one's tag."""
        places = word_places([encoding.word_ids], 0)
        tags = self._tags(example.segments[0].count(" ") + 1, places, [outputs.argmax(axis=-1)])
        _, first, last = min(entities(tags), key=lambda span: span[1], default=("", 0, -1))
        names = tuple(self.groups)
        return tuple((places[word][1], names.index(tags[word])) for word in range(first, last + 1))

    def value(self, outputs: torch.Tensor, tokens: Sequence[int], kinds: Sequence[int]) -> torch.Tensor:
        """Return (R,) mean log-odds of the tags."""
        logits = outputs[:, list(tokens)]  # (R, S, G)
        chosen = torch.nn.functional.one_hot(torch.tensor(kinds, device=logits.device), logits.shape[-1]).bool()
        other_tags = logits.masked_fill(chosen, -torch.inf).logsumexp(dim=-1)
        return (logits[:, chosen] - other_tags).mean(dim=1)


if TYPE_CHECKING:
    _can: type[Embedded[TokenIds]] = EmbeddedTagger  # checked by mypy


def word_places(windows: Sequence[Sequence[int | None]], overlap: int) -> Places:
    """Find the window in which the first token of each word has most context.

    That is the window with most tokens on the side where it has fewer, and the first of equals.

    Example:
        >>> word_places([[None, 0, 1, 1, 2, None], [None, 1, 2, 3, 3, None]], overlap=2)
        {0: (0, 1), 1: (0, 2), 2: (1, 2), 3: (1, 3)}
    """
    first: dict[int, int] = {}
    best: dict[int, tuple[int, int, int]] = {}
    start = 0
    for number, words in enumerate(windows):
        inside = [(token, word) for token, word in enumerate(words) if word is not None]
        for place, (token, word) in enumerate(inside):
            context = min(place, len(inside) - 1 - place)
            is_first = first.setdefault(word, start + place) == start + place  # a window may begin within a word
            if is_first and (word not in best or context > best[word][0]):
                best[word] = context, number, token
        start += len(inside) - overlap
    return {word: (number, token) for word, (_, number, token) in best.items()}
