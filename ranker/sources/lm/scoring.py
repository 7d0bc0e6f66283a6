"""Labels by the probabilities of words for them after a prompt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from factors.types import Bools, Example, Floats, Ints
from ranker.sources.base import Baseline, Embedded, Hide
from ranker.sources.hf import batching
from ranker.sources.hf.batching import TokenRow
from ranker.sources.hf.networks import finite
from ranker.sources.lm.encoding import Continuation, PromptEncoder, PromptIds
from ranker.sources.lm.network import PREFIX_SHARE, LanguageModel, Prefix
from ranker.sources.lm.prompts import CONTENT_FREE
from ranker.sources.packing import windows
from ranker.tasks.classes import ClassProbabilities, softmax

if TYPE_CHECKING:
    from ranker.progress import Advance

S = TypeVar("S")

ANSWERED_AT_ONCE = 256
"""Examples in a block of answers, which is stored before the next is computed: enough to find rows of one length."""


class ScoredRow(NamedTuple):
    """One input of a language model, and the answers whose probabilities are read from its output.

    Attributes:
        ids: (T,) tokens of the prompt.
        answer_start: tokens of an answer after it.
        answers: answers that begin with these or fewer of them, and end with one more token.
        prefix: tokens that the prompt begins with, and whose keys and values are shared.
    """

    ids: Ints
    answer_start: Continuation
    answers: tuple[Continuation, ...]
    prefix: Prefix
    encodes: bool

    @property
    def size(self) -> int:
        """Tokens that are computed, and a share of those that are not."""
        shared = len(self.prefix)
        return len(self.ids) + (0 if self.encodes else len(self.answer_start)) - shared + shared // PREFIX_SHARE

    @property
    def content(self) -> Hashable:
        """Prompt and answers."""
        return self.ids.tobytes(), self.answer_start, self.answers, len(self.prefix)


def scored_rows(ids: Ints, answers: Sequence[Continuation], prefix: Prefix, encodes: bool) -> list[ScoredRow]:
    """Return the fewest inputs from which all answers to a prompt can be scored.

    Example:
        >>> rows = scored_rows(np.array([1]), [(5,), (6, 7), (6, 7, 8), (9, 4)], (), False)
        >>> [(row.answer_start, row.answers) for row in rows]
        [((6, 7), ((5,), (6, 7), (6, 7, 8))), ((9,), ((9, 4),))]
    """
    longest = sorted({answer[:-1] for answer in answers}, key=lambda tokens: (-len(tokens), tokens))
    by_start: dict[Continuation, list[Continuation]] = {}
    for tokens in longest:
        if not any(longer[: len(tokens)] == tokens for longer in by_start):
            by_start[tokens] = []
    for answer in dict.fromkeys(answers):
        before = answer[:-1]
        by_start[next(tokens for tokens in by_start if tokens[: len(before)] == before)].append(answer)
    return [ScoredRow(ids, answer_start, tuple(scored), prefix, encodes) for answer_start, scored in by_start.items()]


@dataclass(frozen=True, kw_only=True)
class LabelScorer:
    """A prompt on a language model, which answers with labels: a `ranker.sources.base.Embedded`.

    A word's score is the sum of its tokens' log-probabilities after the prompt, or their mean. The probabilities of a
    label's words add up, and those of the labels are scaled to 1. A calibrated model divides them by those of rows
    without content (`CONTENT_FREE`) before.

    Attributes:
        groups: (C,) for each class, the indices of its words.
        scores: tokens of an example -> (1, V) scores of the words; models that differ by their calibration share them.

    Source: Zhao et al. 2021, "Calibrate before use", sections 3 and 5.
    """

    name: str
    network: LanguageModel
    encoder: PromptEncoder
    groups: tuple[tuple[int, ...], ...]
    mean: bool
    calibrated: bool
    seed: str
    hides: ClassVar[tuple[Hide, ...]] = ("remove",)
    """Words are removed: padding tokens of language models often end a turn or a text, which says something."""
    scores: dict[bytes, Floats] = field(default_factory=dict, repr=False, compare=False)
    _offsets: dict[int, Floats] = field(default_factory=dict, repr=False, compare=False)

    @property
    def classes(self) -> int:
        """C."""
        return len(self.groups)

    @property
    def token_budget(self) -> int:
        """Most tokens a batch."""
        return self.network.token_budget

    @property
    def padding(self) -> int:
        """Most tokens of padding in a batch."""
        return self.network.padding

    def window(self, passes: int = 1) -> int:
        """Return the most tokens that are read ahead: see `LoadedNetwork.window`."""
        return self.network.window(passes)

    @property
    def rounding(self) -> float:
        """Step from 1 to the next number in the format of its matrix products."""
        return torch.finfo(self.network.dtype).eps

    def predict(
        self, examples: Sequence[Example], advance: Advance = lambda done: None
    ) -> Iterator[ClassProbabilities]:
        """Yield the answers to examples, in blocks, in order: see `ranker.sources.base.Predictor`."""
        encoded = self.encodings(examples)
        for encodings in windows(encoded, len, self.network.window(), ANSWERED_AT_ONCE):
            new = [encoding for encoding in encodings if encoding.ids.tobytes() not in self.scores]
            advance(len(encodings) - len(new))
            rows = ((encoding, encoding, [encoding.ids]) for encoding in new)
            for encoding, words in self._score(rows, advance):
                self.scores[encoding.ids.tobytes()] = words
            logits = [self._logits(self.scores[encoding.ids.tobytes()], encoding.texts) for encoding in encodings]
            yield ClassProbabilities(softmax(np.concatenate(logits)))

    def encodings(self, examples: Iterable[Example]) -> Iterator[PromptIds]:
        """Encode examples lazily, in order."""
        return self.encoder.encodings(examples)

    def answers(
        self, requests: Iterable[tuple[S, PromptIds, Bools]], hide: Hide, advance: Advance = lambda done: None
    ) -> Iterator[tuple[S, Floats]]:
        """Answer requests in order, each with (R, C) logits of one example with tokens hidden; see `Perturbed`."""
        hidden_rows = (
            ((state, encoding), encoding, [row.ids for row in TokenRow(encoding.ids).hidden(visible, None)])
            for state, encoding, visible in requests
        )
        for (state, encoding), words in self._score(hidden_rows, advance):
            yield state, self._logits(words, encoding.texts)

    def _score(
        self, requests: Iterable[tuple[S, PromptIds, Sequence[Ints]]], advance: Advance
    ) -> Iterator[tuple[S, Floats]]:
        """Yield (R, V) scores of words for each example and R versions of its tokens."""

        def rows() -> Iterator[tuple[tuple[S, PromptIds, list[int]], list[ScoredRow]]]:
            for state, encoding, versions in requests:
                scored = [self._rows(ids, encoding) for ids in versions]
                yield (state, encoding, list(map(len, scored))), [row for rows in scored for row in rows]

        answered = batching.run_rows(self._run, rows(), self.token_budget, advance, self.padding, self.window())
        for (state, encoding, counts), outputs in answered:
            remaining = iter(outputs)
            versions = [{k: v for scores in islice(remaining, count) for k, v in scores.items()} for count in counts]
            yield state, np.array([[scores[answer] for answer in encoding.continuations] for scores in versions])

    def _logits(self, words: Floats, texts: int) -> Floats:
        """Return (R, C) logits from (R, V) scores of words in rows of some texts."""
        return self._classes(torch.from_numpy(words)).numpy() - self._offset(texts)

    def _rows(self, ids: Ints, encoding: PromptIds) -> list[ScoredRow]:
        """Return the inputs for a version of an example's tokens; the prompt's tokens are in every version."""
        prefix = encoding.prefix if len(ids) > len(encoding.prefix) else ()
        return scored_rows(ids, encoding.continuations, prefix, self.network.encodes)

    def _run(self, rows: Sequence[ScoredRow]) -> list[dict[Continuation, float]]:
        """Run rows of about one size -> the score of each of their answers."""
        scores: list[dict[Continuation, float]] = [{} for _ in rows]
        alike: dict[tuple[Prefix, int], list[int]] = defaultdict(list)
        for place, row in enumerate(rows):
            alike[row.prefix, len(row.answer_start) if self.network.encodes else 0].append(place)
        for (prefix, _), places in alike.items():
            chosen = [rows[place] for place in places]
            after = [row.ids[len(row.prefix) :] for row in chosen]
            if not self.network.encodes:
                after = [np.array([*ids, *row.answer_start]) for ids, row in zip(after, chosen, strict=True)]
            lengths = np.array([len(ids) for ids in after])
            widths = lengths.max() - lengths
            # no token sees those after it, so a row is lengthened by its last one
            context = np.stack([np.pad(ids, (0, width), "edge") for ids, width in zip(after, widths, strict=True)])
            values = self._read(torch.from_numpy(context).to(self.network.device), lengths, prefix, chosen).tolist()
            remaining = iter(values)
            for place, row in zip(places, chosen, strict=True):
                scores[place] = dict(zip(row.answers, islice(remaining, len(row.answers)), strict=True))
        return scores

    def _read(self, context: torch.Tensor, lengths: Ints, prefix: Prefix, rows: Sequence[ScoredRow]) -> torch.Tensor:
        """Return (A,) float64 scores of all answers of R rows; tokens after their (R,) lengths are ignored."""
        network, decoded = self.network, None
        width = context.shape[1]
        if network.encodes:
            decoded = torch.tensor([[network.bos, *row.answer_start] for row in rows], device=network.device)
            width = decoded.shape[1]
            lengths = np.full(len(rows), width)
        firsts = lengths - 1 - [len(row.answer_start) for row in rows]  # places whose next token begins an answer
        keep = width - int(firsts.min())
        logits = finite(network.logits(context, keep, prefix, decoded))
        owners = [row for row, scored in enumerate(rows) for _ in scored.answers]
        answers = [answer for row in rows for answer in row.answers]
        tokens_of_answers = np.array(
            [
                (number, owner, keep - width + firsts[owner] + place, token)
                for number, (owner, answer) in enumerate(zip(owners, answers, strict=True))
                for place, token in enumerate(answer)
            ]
        )
        of_answer, of_row, places, tokens = torch.from_numpy(tokens_of_answers.T).to(logits.device)
        logs = (logits[of_row, places, tokens] - logits.logsumexp(dim=-1)[of_row, places]).double()
        scores = torch.zeros(len(answers), dtype=torch.float64, device=logits.device).index_add(0, of_answer, logs)
        return scores / torch.bincount(of_answer) if self.mean else scores

    def _classes(self, words: torch.Tensor) -> torch.Tensor:
        """Return (R, C) logits of classes from (R, V) scores of words, as if only these words were possible."""
        return torch.stack([words[:, list(group)].logsumexp(dim=1) for group in self.groups], dim=1)

    def _offset(self, texts: int) -> Floats:
        """Return (C,) log-probabilities of rows without content, of some texts; 0 if it is not calibrated."""
        if not self.calibrated:
            return np.zeros(self.classes)
        if texts not in self._offsets:
            empty = [Example(f"without content: {text}", (text,) * texts) for text in CONTENT_FREE]
            plain = replace(self, calibrated=False)
            probs = ClassProbabilities.joined(list(plain.predict(empty))).probs
            self._offsets[texts] = np.log(probs.mean(axis=0))
        return self._offsets[texts]

    def embed(self, encodings: Sequence[PromptIds]) -> torch.Tensor:
        """Return (R, T, D) embeddings of R examples, and of padding after them."""
        return self._embed(batching.stack([TokenRow(encoding.ids) for encoding in encodings], self.network.device).ids)

    def start(self, baseline: Baseline) -> torch.Tensor:
        """Return (D,) zero, the only start of paths: see `hides`."""
        return torch.zeros_like(self._embed(torch.tensor([0], device=self.network.device))[0])

    def frame(self, encoding: PromptIds) -> Hashable:
        """Return the length, the fixed tokens with their places, and the answers."""
        return encoding.fixed.tobytes(), encoding.ids[encoding.fixed].tobytes(), encoding.continuations

    def from_embeddings(self, embeddings: torch.Tensor, encodings: Sequence[PromptIds]) -> torch.Tensor:
        """Run (R, T, D) embeddings in place of those of R examples -> (R, C) float32 logits.

        The tokens of the prefix are fixed, so their keys and values are those of the prompt.
        """
        alike: dict[Hashable, list[int]] = defaultdict(list)
        for place, encoding in enumerate(encodings):
            alike[encoding.continuations, encoding.prefix, encoding.texts].append(place)
        logits: list[torch.Tensor] = [embeddings[0, 0, 0]] * len(encodings)
        for places in alike.values():
            encoding = encodings[places[0]]
            rows = [embeddings[place, len(encoding.prefix) : len(encodings[place])] for place in places]
            words: dict[Continuation, torch.Tensor] = {}
            for scored in self._rows(encoding.ids, encoding):
                context = rows
                if scored.answer_start and not self.network.encodes:
                    answer_start = self._embed(torch.tensor(scored.answer_start, device=embeddings.device))
                    context = [torch.cat([row, answer_start]) for row in rows]
                lengths = np.array([len(row) for row in context])
                joined = pad_sequence(context, batch_first=True)
                values = self._read(joined, lengths, encoding.prefix, [scored] * len(places))
                words |= dict(zip(scored.answers, values.reshape(len(places), -1).unbind(dim=1), strict=True))
            of_words = torch.stack([words[answer] for answer in encoding.continuations], dim=1)
            offset = torch.from_numpy(self._offset(encoding.texts)).to(of_words.device)
            for place, values in zip(places, (self._classes(of_words) - offset).float(), strict=True):
                logits[place] = values
        return torch.stack(logits)

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        """Embed token ids."""
        return self.network.model.get_input_embeddings()(ids)  # type: ignore[no-any-return]


if TYPE_CHECKING:
    _can: type[Embedded[PromptIds]] = LabelScorer  # checked by mypy
