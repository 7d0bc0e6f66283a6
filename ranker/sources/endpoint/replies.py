"""Replies of servers: texts, tokens with their log-probabilities, and what was counted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ranker.errors import first_line

MOST_TOKENS = 1 << 40
"""Number of tokens above which a count is none."""

NEVER = -9_000.0
"""Log-probability at and below which servers mean that there is none, as vLLM's -9999 does."""

ROUNDING = 1e-3
"""Most that a log-probability may be above 0, by rounding."""

CERTAIN = math.log(0.9)
"""Log-probability above which a prompt is too probable to be believed: its first words could always be others."""

MOST_IN_ALL = 1.01
"""Most that the probabilities of different tokens in one place may add up to, by rounding."""


class BadReply(ValueError):
    """A reply without what every reply must have."""


class BadNumbers(BadReply):
    """A reply whose log-probabilities cannot be any."""


@dataclass(frozen=True)
class Token:
    """One token of a reply.

    Attributes:
        text: its bytes, which may be a part of a character.
        logprob: its log-probability; nan where there is none, as for the first token of a prompt.
        top: the most probable tokens in its place: bytes -> log-probability.
    """

    text: bytes
    logprob: float = math.nan
    top: Mapping[bytes, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """A server's reply.

    Attributes:
        tokens: of the text, and of the prompt if the server repeats it; () if it names none.
        prompt_tokens, output_tokens: counted by the server; -1 if it counts none.
        model: name of the model by the server; "" if it states none.
        fingerprint: of the server's configuration; "" if it states none.
    """

    text: str
    tokens: tuple[Token, ...] = ()
    prompt_tokens: int = -1
    output_tokens: int = -1
    model: str = ""
    fingerprint: str = ""

    @property
    def prompt(self) -> tuple[Token, ...]:
        """Tokens of a prompt that the server repeats, before those that it wrote, of which one was asked for."""
        count = self.output_tokens if self.output_tokens >= 0 else 1
        return self.tokens[: max(len(self.tokens) - count, 0)]


def parse_reply(body: str) -> Reply:
    """Parse the body of a successful reply, of completions or of chat.

    Raises:
        BadReply: it is no JSON, or has no text; BadNumbers: its log-probabilities cannot be any.

    Example:
        >>> choice = {"text": " Paris", "logprobs": {"tokens": [" Paris"], "token_logprobs": [-0.3]}}
        >>> parse_reply(json.dumps({"choices": [choice], "model": "m"})).tokens
        (Token(text=b' Paris', logprob=-0.3, top={}),)
    """
    try:
        content = json.loads(body)
        choice = content["choices"][0]
        text = choice["message"]["content"] if "message" in choice else choice["text"]
        usage = content.get("usage") or {}
        tokens = _read_tokens(choice.get("logprobs") or {}) if text is not None else ()  # else of hidden reasoning
        prompt_tokens, output_tokens = (_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    except BadReply:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise BadReply("it replies with what is no answer of this protocol") from error
    if not isinstance(text, str) and text is not None:
        raise BadReply("it replies with what is no text")
    stated = [str(content.get(name) or "") for name in ("model", "system_fingerprint")]
    return Reply(text or "", tokens, prompt_tokens, output_tokens, *stated)


def _read_tokens(logprobs: Any) -> tuple[Token, ...]:
    """Return the tokens of a choice; raise `BadNumbers` where they are malformed."""
    try:
        return _tokens(logprobs)
    except BadReply:
        raise
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise BadNumbers("its log-probabilities are malformed") from error


def _tokens(logprobs: Mapping[str, Any]) -> tuple[Token, ...]:
    """Return the tokens of either form: a list of records, or lists side by side."""
    if logprobs.get("content") is not None:
        return tuple(
            Token(_bytes(token), _number(token["logprob"]), _top((_bytes(top), top["logprob"]) for top in
                                                                   token.get("top_logprobs") or ()))
            for token in logprobs["content"]
        )  # fmt: skip
    texts = logprobs.get("tokens") or ()
    tops = logprobs.get("top_logprobs") or [None] * len(texts)
    return tuple(
        Token(str(text).encode(), _number(number), _top((key.encode(), value) for key, value in (top or {}).items()))
        for text, number, top in zip(texts, logprobs["token_logprobs"], tops, strict=True)
    ) if texts else ()  # fmt: skip


def _bytes(token: Mapping[str, Any]) -> bytes:
    """Return the bytes of a token's record."""
    return bytes(token["bytes"]) if token.get("bytes") else str(token["token"]).encode()


def _count(value: object) -> int:
    """Return a number of tokens; -1 for what is none."""
    return value if type(value) is int and 0 <= value < MOST_TOKENS else -1


def _number(value: float | None) -> float:
    """Return a log-probability; nan for none, which the first token of a prompt has."""
    if value is None or (type(value) in (int, float) and value <= NEVER):
        return math.nan
    if type(value) not in (int, float) or not value <= ROUNDING:
        raise BadNumbers(f"it gives {first_line(ValueError(repr(value)))[:MOST_DIGITS]} as a log-probability")
    return min(float(value), 0.0)


def _top(pairs: Any) -> dict[bytes, float]:
    """Return tokens by their bytes, of equal ones the more probable; refuse those that are more probable than 1."""
    top: dict[bytes, float] = {}
    for text, value in pairs:
        number = _number(value)
        if not math.isnan(number):
            top[text] = max(number, top.get(text, -math.inf))
    total = math.fsum(map(math.exp, top.values()))
    if total > MOST_IN_ALL:
        raise BadNumbers(f"it gives tokens in one place, of which one alone can follow, a probability of {total:.2f}")
    return top


def error_text(body: str) -> str:
    """Return the message of a server's error, in a line.

    Example:
        >>> error_text('{"error": {"message": "no such model", "code": 404}}'), error_text("<h1>Oops</h1>")
        ('no such model', '<h1>Oops</h1>')
    """
    message: Any = body
    try:
        content = json.loads(body)
        error = content.get("error") or content.get("detail") or content
        message = error.get("message", error) if isinstance(error, dict) else error
        if isinstance(message, dict):
            message = json.dumps(message)
    except (ValueError, AttributeError, RecursionError):
        pass
    return first_line(ValueError(str(message).strip()))[:MOST_WORDS]


MOST_DIGITS = 30
"""Most characters of what stands for a number in a message of ours."""

MOST_WORDS = 300
"""Most characters of a server's message in ours."""


def is_certain(tokens: Sequence[Token]) -> bool:
    """Return True if tokens have a probability of about 1 after the first of them, which no prompt has.

    Example:
        >>> is_certain([Token(b"It"), Token(b" is", 0.0)]), is_certain([Token(b"It"), Token(b" is", -2.0)])
        (True, False)
    """
    return math.fsum(token.logprob for token in tokens[1:] if not math.isnan(token.logprob)) > CERTAIN


def covering(tokens: Sequence[Token], end: bytes) -> int:
    """Return the index of the token from which on tokens cover the end of a text.

    Example:
        >>> covering([Token(b"It"), Token(b" is"), Token(b" bad")], b" bad")
        2
        >>> covering([Token(b"It is"), Token(b"b")], b"sb")
        0
    """
    left, index = len(end), len(tokens)
    while left > 0 and index > 0:
        index -= 1
        left -= len(tokens[index].text)
    return index
