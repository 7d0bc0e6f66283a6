"""Run any Hugging Face token classifier: a BIO tag for each word of a text that is split at blanks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from factors.types import Example, Floats
from ranker.sources.hf import batching, labels, loading
from ranker.sources.hf.batching import Batch, TokenRow
from ranker.sources.hf.classifiers import collapse
from ranker.sources.hf.heads import TAGS
from ranker.sources.hf.networks import ENCODED_AT_ONCE, LoadedNetwork, finite, load_network, overlap_in
from ranker.tasks.tags import OUTSIDE, TagAnswers, Tagging

if TYPE_CHECKING:
    from ranker.progress import Advance

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
        """Load a token classifier, or a PEFT adapter of one.

        Args:
            path: a directory, or a hub id ``org/name@revision``.
            label_map: the checkpoint's label index or name -> the tag, if the configuration does not say.
            options: see `load_network`.

        Raises:
            ModelError: the checkpoint is incomplete, damaged or no token classifier; LabelError: its labels are no
                tags.
        """
        network = load_network(path, TAGS, label_map=label_map, **options)
        groups = labels.tag_outputs(loading.label_names(network.model), label_map, model=network.name)
        return cls(**vars(network), groups=groups)

    def predict(self, examples: Sequence[Example], advance: Advance = lambda done: None) -> Iterator[TagAnswers]:
        """Yield the tags of examples, in blocks, in order: see `ranker.sources.base.Predictor`."""
        requests = self._requests(examples)
        answered = batching.forward_rows(self.network, requests, self.token_budget, self.device, advance)
        while block := list(islice(answered, ENCODED_AT_ONCE)):
            yield TagAnswers(tuple(self._tags(count, places, outputs) for (count, places), outputs in block))

    def network(self, batch: Batch) -> torch.Tensor:
        """Run a batch of R rows -> (R, T) the index of the most probable tag of each token."""
        logits = finite(self.run(batch.type_ids, input_ids=batch.ids).logits)
        return collapse(logits, tuple(self.groups.values())).argmax(dim=-1)

    def _requests(self, examples: Sequence[Example]) -> Iterator[tuple[tuple[int, Places], list[TokenRow]]]:
        """Yield the number of words, their places and the windows of each example."""
        overlap = overlap_in(self.max_length - self.tokenizer.num_special_tokens_to_add())
        stream = iter(examples)
        while block := [example.segments[0].split(" ") for example in islice(stream, ENCODED_AT_ONCE)]:
            encoded = self.windows(block, overlap=overlap, truncation=True, is_split_into_words=True)
            for words, windows in zip(block, encoded, strict=True):
                places = word_places([encoding.word_ids for _, encoding in windows], overlap)
                yield (len(words), places), [row for row, _ in windows]

    def _tags(self, count: int, places: Places, outputs: Sequence[Floats]) -> Tagging:
        """Return the tags of the words of one row, from those of the tokens of each window."""
        names = tuple(self.groups)
        tagged = {word: names[int(outputs[window][token])] for word, (window, token) in places.items()}
        return tuple(tagged.get(word, OUTSIDE) for word in range(count))


def word_places(windows: Sequence[Sequence[int | None]], overlap: int) -> Places:
    """Find the window in which the first token of each word has most context.

    That is the window with most tokens on the side where it has fewer, and the first of equals.

    Args:
        windows: on one row: the words of their tokens, None for special tokens.
        overlap: tokens that two neighbours share.

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
