"""Labels by the log-probabilities that a server gives to words for them, or by text that it writes."""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from factors.types import Bools, Example, Floats
from ranker.errors import ModelError, printed
from ranker.records import digest
from ranker.sources.base import FAILED, Bill, Hide
from ranker.sources.endpoint.abilities import CountingEndpoint, Endpoint, Prompted
from ranker.sources.endpoint.asking import in_order
from ranker.sources.endpoint.client import NotKept, RowError, ServerError
from ranker.sources.endpoint.prices import BYTES_A_TOKEN, read_prices
from ranker.sources.endpoint.replies import Reply, covering, is_certain
from ranker.sources.lm.answers import before
from ranker.sources.texts import Texts, WordEncoding
from ranker.sources.usage import QUANTITIES, RowUsage
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER, states_of
from ranker.tasks.classes import ClassProbabilities, softmax

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.tasks.base import Predictions, Task

log = logging.getLogger(__name__)

S = TypeVar("S")

BLOCK = 64

MOST_READ = 500
"""Rows whose replies are read again, at most: more would say no more of the mean, and take longer."""

MOST_FAILURES = 20
"""Rows without a reply one after the other, after which the server counts as out of order."""

Words = Mapping[str, float]
"""Word -> its score, a log-probability."""


class RowScores(dict[str, float]):
    """Log-probability of each word in one row.

    Attributes:
        bounded: words outside of the most probable tokens: their numbers are upper bounds.
    """

    def __init__(self, scores: Words, bounded: Iterable[str] = ()) -> None:
        super().__init__(scores)
        self.bounded = frozenset(bounded)


@dataclass(frozen=True)
class WholeWords:
    """Way of a server that gives the log-probabilities of a prompt: words are sent as parts of it.

    Attributes:
        words: that may follow a prompt.
        mean: score a word by the mean of its tokens, not their sum.
    """

    words: tuple[str, ...]
    mean: bool
    note: ClassVar[str] = "labels are scored by the log-probabilities of whole words (echo)"

    @property
    def requests(self) -> int:
        """Number of requests for a row."""
        return len(self.words)

    @property
    def shown(self) -> list[list[str]]:
        """Tokens of each word, as far as they are known: none."""
        return []

    def scores(self, endpoint: Endpoint, prompt: str) -> RowScores:
        """Return the score of each word after a prompt.

        Texts are compared from the first token that differs, or that a word begins in, on.

        Raises:
            RowError, ServerError: see `Client.ask`.
        """
        context = prompt.rstrip()
        after = [prompt[len(context) :] + word for word in self.words]
        replies = [endpoint.ask(context + word, 1, echo=True, logprobs=1) for word in after]
        rows = [reply.prompt for reply in replies]
        for word, row, reply in zip(after, rows, replies, strict=True):
            whole = b"".join(token.text for token in row).endswith((context + word).encode())
            if not whole or reply.prompt_tokens not in (-1, len(row)):
                raise RowError("it does not repeat the whole prompt")
        cut = min(covering(row, word.encode()) for row, word in zip(rows, after, strict=True))
        while cut and len({tuple(token.text for token in row[:cut]) for row in rows}) > 1:
            cut -= 1
        numbers = [[token.logprob for token in row[cut:]] for row in rows]
        if any(not row or any(map(math.isnan, row)) for row in numbers):
            raise RowError("it gives no log-probabilities of the prompt")
        if any(map(is_certain, rows)):
            raise RowError("by its log-probabilities the prompt has a probability of about 1, which no prompt has")
        scores = [sum(row) / len(row) if self.mean else sum(row) for row in numbers]
        return RowScores(dict(zip(self.words, scores, strict=True)))


@dataclass(frozen=True)
class NextTokens:
    """Way of a server that gives the most probable next tokens: a word is scored token by token.

    A chat cannot be continued from a given token, so its words are scored by their first tokens alone.

    Attributes:
        tokens: word -> its tokens, as the server shows them.
        mean: score a word by the mean of its tokens, not their sum.
        blank: white space at the end of the template, which belongs to the words.
        first_alone: only the first tokens are scored.
        count: number of most probable tokens that the server gives.
    """

    tokens: Mapping[str, tuple[bytes, ...]]
    mean: bool
    blank: str
    first_alone: bool
    count: int

    @property
    def note(self) -> str:
        """Sentence for reports."""
        tokens = "the first tokens of their words" if self.first_alone else "the tokens of their words"
        return f"labels are scored by {tokens}, among the {self.count} most probable next tokens"

    @property
    def words(self) -> tuple[str, ...]:
        """Words that may follow a prompt."""
        return tuple(self.tokens)

    @property
    def shown(self) -> list[list[str]]:
        """Tokens of each word, as plain JSON."""
        return [[token.hex() for token in tokens] for tokens in self.tokens.values()]

    @property
    def requests(self) -> int:
        """Number of requests for a row."""
        return len({tokens[:size] for tokens in self.tokens.values() for size in range(len(tokens))})

    def scores(self, endpoint: Endpoint, prompt: Prompted) -> RowScores:
        """Return the score of each word after a prompt: see `WholeWords.scores`."""
        logprobs: dict[tuple[bytes, ...], Mapping[bytes, float]] = {}
        scores, bounded = {}, []
        context = prompt.removesuffix(self.blank) if isinstance(prompt, str) else prompt
        for word, tokens in self.tokens.items():
            numbers = []
            for place, token in enumerate(tokens):
                begun = tokens[:place]
                if begun not in logprobs:
                    put = context + b"".join(begun).decode() if isinstance(context, str) else context
                    size = len(begun)
                    after = {row[size] for row in self.tokens.values() if row[:size] == begun and len(row) > size}
                    logprobs[begun] = endpoint.logprobs(put, after)
                numbers.append(logprobs[begun].get(token, min(logprobs[begun].values())))
                if token not in logprobs[begun]:
                    bounded.append(word)
                    break  # a bound of the beginning bounds the word
            scores[word] = sum(numbers) / len(tokens) if self.mean else sum(numbers)
        return RowScores(scores, bounded)


Way = WholeWords | NextTokens


@dataclass(frozen=True, kw_only=True)
class PromptedRows(ABC):
    """Rows as prompts that a server is asked side by side, with failures counted: the base of both ways of answering.

    Attributes:
        put: texts of a row -> its prompt.
        member: identity, under which remarks on rows are counted.
        prices: file of prices; "" for none.
        finish: called when the rows of a request are answered.
    """

    name: str
    endpoint: Endpoint
    put: Callable[[Texts], Prompted]
    member: str
    prices: str = ""
    finish: Callable[[], None] = lambda: None
    beat: Callable[[], None] = lambda: None

    @property
    def requests_a_row(self) -> tuple[int, int]:
        """Least and most number of requests for a row."""
        return 1, 1

    @abstractmethod
    def ask_row(self, texts: Texts) -> Any:
        """Ask all that is asked about one row; raises what `Client.ask` does."""

    @property
    def tokens_written(self) -> int:
        """Most tokens that an answer to a request has."""
        return 1

    @property
    def rows_beside(self) -> int:
        """Number of rows that are asked beside the examples."""
        return 0

    def results(self, rows: Iterable[Texts]) -> Iterator[Any]:
        """Yield what is asked about each row, in order; a `RowError` for a row that has no reply.

        Raises:
            ServerError: the server cannot be asked, or fails many rows one after the other.
        """

        def guarded(texts: Texts) -> Any:
            try:
                return self.ask_row(texts)
            except RowError as error:
                return error

        failures = 0
        for answer in in_order(self.endpoint.client, guarded, rows, self.beat):
            failed = isinstance(answer, RowError) and (answer.doubtful or not (answer.final or answer.spent))
            failures = failures + 1 if failed else 0
            if failures >= MOST_FAILURES:
                raise ServerError.of(self.endpoint.client.server.host, f"fails {failures} rows in a row: {answer}")
            yield answer

    def remark(self, remark: str, example: Example) -> None:
        """Count a remark on a row."""
        self.endpoint.client.journal.remark(self.member, remark, _row_name(example))

    def blocks(self, examples: Sequence[Example], advance: Advance) -> Iterator[tuple[Sequence[Example], list[Any]]]:
        """Yield blocks of examples with their results, and count failures as remarks."""
        results = self.results(example.segments for example in examples)
        for start in range(0, len(examples), BLOCK):
            block, of_block = examples[start : start + BLOCK], []
            for example, answer in zip(block, results, strict=False):
                self.endpoint.client.journal.forget_remarks(self.member, _row_name(example))
                if isinstance(answer, RowError):
                    self.remark(f"{FAILED}{printed(str(answer))}", example)
                of_block.append(answer)
                advance(1)
            yield block, of_block
        self.finish()

    def announce(self, examples: Sequence[Example]) -> None:
        """Say how many texts go to which host."""
        texts = len({text for example in examples for text in example.segments})
        host = self.endpoint.client.server.host
        log.warning("%s: %s texts go to %s", self.name, f"{texts:,}", host)

    def bill(self, examples: Sequence[Example], passes: int) -> Bill:
        """Return the bill of some answers; see `ranker.sources.base.Billed`.

        Rows whose replies are kept cost nothing, and the others as many requests as these did.
        """
        replies_of_rows = [replies for replies, _ in self.kept_replies(examples) if replies is not None]
        rows_kept, replies = len(replies_of_rows), sum(map(len, replies_of_rows))
        rows = passes - rows_kept + (0 if rows_kept else self.rows_beside)
        least, most = (replies / rows_kept,) * 2 if rows_kept else self.requests_a_row
        requests, most_requests = math.ceil(rows * least), math.ceil(rows * most)
        prompts = [self.put(example.segments) for example in examples]
        texts = [p if isinstance(p, str) else "".join(turn["content"] for turn in p) for p in prompts]
        length = sum(len(text.encode()) for text in texts) / max(len(texts), 1)
        prompt_tokens, output_tokens = (
            round(length / BYTES_A_TOKEN * most_requests),
            most_requests * self.tokens_written,
        )
        server, prices = self.endpoint.client.server, read_prices(self.prices)
        money = prices.of(self.endpoint.model, prompt_tokens, output_tokens)
        return Bill(server.host, requests, most_requests, prompt_tokens, output_tokens, money, prices.currency)

    def kept_replies(self, examples: Iterable[Example]) -> Iterator[tuple[list[Reply] | None, bool]]:
        """Yield the replies about each example, None where one is not kept, and whether the row is answered."""
        offline = replace(self.endpoint, client=replace(self.endpoint.client, offline=True))
        endpoint = CountingEndpoint(**vars(offline))
        reader = replace(self, endpoint=endpoint)
        for example in examples:
            endpoint.replies.clear()
            try:
                reader.ask_row(example.segments)
                yield list(endpoint.replies), True
            except NotKept:
                yield None, False
            except RowError:
                yield list(endpoint.replies), False

    def usage(self, examples: Sequence[Example]) -> RowUsage | None:
        """Return the tokens of all requests for each example, by the replies that are kept; None if none counts any.

        Of more than `MOST_READ` examples some are read, evenly spread.
        """
        amounts = np.full((len(QUANTITIES), len(examples)), np.nan)
        rows = np.unique(np.linspace(0, len(examples) - 1, min(MOST_READ, len(examples))).round().astype(int))
        for row, (replies, answered) in zip(rows, self.kept_replies(examples[row] for row in rows), strict=True):
            if answered and all(reply.prompt_tokens > 0 and reply.output_tokens >= 0 for reply in replies or ()):
                amounts[0, row] = sum(reply.prompt_tokens for reply in replies or ())
                amounts[1, row] = sum(reply.output_tokens for reply in replies or ())
        if np.isnan(amounts).all():
            return None
        return RowUsage(amounts, self.endpoint.model).priced(read_prices(self.prices))


def _row_name(example: Example) -> str:
    """Return the name of a row, by its texts."""
    return digest({"texts": list(example.segments)})


@dataclass(frozen=True, kw_only=True)
class ServerScorer(PromptedRows):
    """A prompt on a model behind a server, which answers with labels: a `ranker.sources.base.Perturbed`.

    The scores of words add up to labels as in `ranker.sources.lm.scoring.LabelScorer`. Where the best word is not among
    the most probable tokens, so that its score is a mere bound, there is no answer.

    Attributes:
        groups: (C,) for each class, its words.
        labels: (C,) names of the classes.
        empty_texts: texts without content, by which a calibrated model corrects its answers; () for none.
    """

    way: Way
    groups: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...]
    empty_texts: tuple[str, ...] = ()
    hides: ClassVar[tuple[Hide, ...]] = ("remove",)
    _offsets: dict[int, Floats] = field(default_factory=dict, repr=False, compare=False)

    @property
    def classes(self) -> int:
        """C."""
        return len(self.groups)

    @property
    def seed(self) -> str:
        """Identity of the model, for random samples."""
        return self.member

    def predict(self, examples: Sequence[Example], advance: Advance = lambda done: None) -> Iterator[Predictions]:
        """Yield the answers to examples, in blocks, in order: see `ranker.sources.base.Predictor`."""
        self.announce(examples)
        self._measure_offsets({len(example.segments) for example in examples})
        for block, results in self.blocks(examples, advance):
            states = [self._state(answer, example) for answer, example in zip(results, block, strict=True)]
            logits = [
                self._logits(answer, len(example.segments)) if state == ANSWERED else np.full(self.classes, np.nan)
                for answer, example, state in zip(results, block, states, strict=True)
            ]
            probs = softmax(np.array(logits).reshape(-1, self.classes))
            yield ClassProbabilities(probs, np.array(states, np.int64))

    def encodings(self, examples: Iterable[Example]) -> Iterator[WordEncoding]:
        """Encode examples in words."""
        return map(WordEncoding.from_example, examples)

    def answers(
        self, requests: Iterable[tuple[S, WordEncoding, Bools]], hide: Hide, advance: Advance = lambda done: None
    ) -> Iterator[tuple[S, Floats]]:
        """Yield logits of examples without some words, see `Perturbed.answers`; raises a ModelError without a reply."""
        for state, words, visible in requests:
            rows = words.rows(visible)
            self._measure_offsets({len(words.segments)})
            logits = []
            for answer in self.results(rows):
                if isinstance(answer, RowError):
                    raise ModelError.at(self.name, str(answer))
                logits.append(self._logits(answer, len(words.segments)))
            advance(1)
            yield state, np.array(logits)

    @property
    def requests_a_row(self) -> tuple[int, int]:
        """Least and most number of requests for a row: unknown before the server was asked what it can do."""
        able = self.endpoint.abilities
        if able is None or not (able.echo or able.top):
            return 1, self.way.requests
        return self.way.requests, self.way.requests * (1 if able.top <= self.endpoint.usual_top else 2)

    @property
    def rows_beside(self) -> int:
        """Number of rows without content."""
        return len(self.empty_texts)

    def ask_row(self, texts: Texts) -> RowScores:
        """Return the log-probability of each word in one row. See `PromptedRows.ask_row`."""
        prompt = self.put(texts)
        assert isinstance(self.way, NextTokens) or isinstance(prompt, str)
        return self.way.scores(self.endpoint, prompt)  # type: ignore[arg-type]  # whole words follow texts alone

    def _state(self, answer: RowScores | RowError, example: Example) -> int:
        """Return the state of a row, and count what is remarkable in it."""
        if isinstance(answer, RowError):
            return ERROR
        if max(answer, key=lambda word: answer[word]) in answer.bounded:
            self.remark(NO_LABEL, example)
            return NO_ANSWER
        for label, words in enumerate(self.groups):
            if any(word in answer.bounded for word in words):
                self.remark(BOUNDED.format(self.labels[label]), example)
        return ANSWERED

    def _logits(self, scores: RowScores, texts: int) -> Floats:
        """Return (C,) logits of classes from the scores of words."""
        logits = np.array([np.logaddexp.reduce([scores[word] for word in group]) for group in self.groups])
        return np.asarray(logits - self._offsets.get(texts, 0.0))

    def _measure_offsets(self, counts: Iterable[int]) -> None:
        """Measure the (C,) log-probabilities of rows without content, for each number of texts; once."""
        for count in counts:
            if self.empty_texts and count not in self._offsets:
                rows = [Example(f"without content: {text}", (text,) * count) for text in self.empty_texts]
                results = list(self.results(row.segments for row in rows))
                states = [self._state(answer, row) for answer, row in zip(results, rows, strict=True)]
                if failed := [answer for answer, state in zip(results, states, strict=True) if state != ANSWERED]:
                    reason = str(failed[0]) if isinstance(failed[0], RowError) else NO_LABEL
                    raise ModelError.at(self.name, f"cannot be calibrated: of a row without content {reason}")
                logits = np.array([self._logits(scores, count) for scores in results])
                self._offsets[count] = np.log(softmax(logits).mean(axis=0))


NO_TEXT = "the text that the server writes holds no answer"
NO_LABEL = "no label is among the most probable tokens, so that there is no answer"
BOUNDED = "the label {!r} is not among the most probable tokens, so that its probability is an upper bound"


@dataclass(frozen=True, kw_only=True)
class ServerWriter(PromptedRows):
    """A prompt on a model behind a server that writes its answers: a `ranker.sources.base.Predictor`.

    Attributes:
        task: that answers are parsed for.
        parse: text and texts of the row -> the answer; None if the text holds none.
    """

    task: Task
    parse: Callable[[str, Sequence[str]], Any]
    most: int
    stop: tuple[str, ...]

    note: ClassVar[str] = "labels are read from the text that the server writes: no probabilities"

    def predict(self, examples: Sequence[Example], advance: Advance = lambda done: None) -> Iterator[Predictions]:
        """Yield the answers to examples, in blocks, in order: see `ranker.sources.base.Predictor`."""
        self.announce(examples)
        for block, results in self.blocks(examples, advance):
            failed = [isinstance(answer, RowError) for answer in results]
            answers = [
                None if fails else self.parse(answer, example.segments)
                for example, answer, fails in zip(block, results, failed, strict=True)
            ]
            for example, answer, fails in zip(block, answers, failed, strict=True):
                if answer is None and not fails:
                    self.remark(NO_TEXT, example)
            yield self.task.predictions(answers, np.where(failed, ERROR, states_of(answers)))

    @property
    def tokens_written(self) -> int:
        """Most tokens that an answer to a request has."""
        return self.most

    def ask_row(self, texts: Texts) -> str:
        """Return what the server writes about one row. See `PromptedRows.ask_row`."""
        prompt = self.put(texts)
        stop = {"stop": list(self.stop[:MOST_STOPS])} if self.stop else {}
        put = prompt.rstrip() if isinstance(prompt, str) else prompt
        text = self.endpoint.ask(put, self.most, **stop).text
        if text.lstrip().startswith(THINKING[0]):
            text = text.partition(THINKING[1])[2]
        return before(text, self.stop)


THINKING = ("<think>", "</think>")
"""Marks around the reasoning that some models write before their answer; without the second there is no answer."""

MOST_STOPS = 4
"""Texts at which a server is asked to stop: OpenAI's API takes no more; all of them end the answer here."""
