"""Abilities of a server, found out by asking: log-probabilities of a prompt, of the next token, or of nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from ranker.sources.endpoint.client import Client, NotKept, RowError, ServerError, Share
from ranker.sources.endpoint.journal import request_name
from ranker.sources.endpoint.replies import Reply, is_certain

COMPLETIONS, CHAT = "/completions", "/chat/completions"
"""Addresses behind a server's URL."""

SAMPLE = "The capital of France is"

TOP = (2_000, 100, 20, 5)
"""Numbers of most probable tokens to ask for, from the most: llama.cpp has no limit, chats have 20, OpenAI has 5."""

USUAL_TOP = 100
"""Most probable tokens asked for at first; where a word is not among them, one more request asks for all."""

REPETITIONS = 4
"""Times that a word is shown before the server is expected to repeat it."""

REPEATED_TOKENS = 12

REVISION = 3
"""Version of the probe, part of what it is kept under; raise it when other abilities are found."""


@dataclass(frozen=True)
class Abilities:
    """Abilities of one model of a server, for prompts of one form.

    Attributes:
        chat: for chats; else for completions.
        echo: it gives the log-probabilities of the prompt's tokens.
        top: most probable tokens that it gives at most; 0 for none.
        limit_name: parameter that limits the tokens of an answer.
        model, fingerprint: stated by the server, see `Reply`.
        doubt: why log-probabilities of a prompt that it gives are not used, in words; "" where it gives none.
    """

    chat: bool
    echo: bool = False
    top: int = 0
    limit_name: str = "max_tokens"
    temperature: bool = True
    model: str = ""
    fingerprint: str = ""
    doubt: str = ""

    @property
    def expected(self) -> Reply:
        """Reply with the model that later ones must have, too."""
        return Reply("", model=self.model, fingerprint=self.fingerprint)

    @property
    def path(self) -> str:
        """Address of the requests."""
        return CHAT if self.chat else COMPLETIONS


Prompted: TypeAlias = str | Sequence[Mapping[str, str]]
"""A prompt: a text, or the messages of a chat."""


@dataclass(frozen=True)
class Endpoint:
    """One model of a server, with what is known of it.

    Attributes:
        model: name of the model; "" for the server's only one.
        round: see `Journal.round`.
        abilities: of the model; None before they are known.
        share: of the budget, for requests about rows; None without a budget.
    """

    client: Client
    model: str
    round: str
    abilities: Abilities | None = None
    usual_top: int = USUAL_TOP
    share: Share | None = None

    @property
    def place(self) -> str:
        """Identity of the model."""
        return f"{self.client.server.url}#{self.model}"

    def ask(self, prompt: Prompted, limit: int, **parameters: Any) -> Reply:
        """Return the reply to a prompt, at temperature 0."""
        assert self.abilities is not None
        body = self.body(self.abilities, prompt, limit, **parameters)
        path, expected = self.abilities.path, self.abilities.expected
        return self.client.ask(self.place, path, body, self.round, expected, share=self.share)

    def body(self, abilities: Abilities, prompt: Prompted, limit: int, **parameters: Any) -> dict[str, Any]:
        """Return the body of a request."""
        put = {"prompt": prompt} if isinstance(prompt, str) else {"messages": [*map(dict, prompt)]}
        model = {"model": self.model} if self.model else {}
        cold = {"temperature": 0} if abilities.temperature else {}
        return {**model, **put, abilities.limit_name: limit, **cold, **parameters}

    def top(self, prompt: Prompted, limit: int = 1, all_tokens: bool = False) -> Reply:
        """Return the reply to a prompt, with the most probable tokens in each place: the usual number, or all."""
        assert self.abilities is not None
        count = self.abilities.top if all_tokens else min(self.abilities.top, self.usual_top)
        return self.ask(prompt, limit, **_top(self.abilities.chat, count))

    def logprobs(self, prompt: Prompted, tokens: Iterable[bytes]) -> Mapping[bytes, float]:
        """Return the log-probabilities of the most probable next tokens, of more where these are not shown."""
        assert self.abilities is not None
        reply = self.top(prompt)
        logprobs = reply.tokens[0].top if reply.tokens else {}
        if self.abilities.top > self.usual_top and not all(token in logprobs for token in tokens):
            reply = self.top(prompt, all_tokens=True)
            logprobs = reply.tokens[0].top if reply.tokens else {}
        if not logprobs:
            raise RowError("it gives no log-probabilities of the next token")
        return logprobs


@dataclass(frozen=True)
class CountingEndpoint(Endpoint):
    """An endpoint that keeps the replies to a row."""

    replies: list[Reply] = field(default_factory=list)

    def ask(self, prompt: Prompted, limit: int, **parameters: Any) -> Reply:
        """Return the reply to a prompt, and keep it."""
        self.replies.append(super().ask(prompt, limit, **parameters))
        return self.replies[-1]


def _top(chat: bool, count: int) -> dict[str, Any]:
    """Return the parameters that ask for the most probable tokens."""
    if not count:
        return {}
    return {"logprobs": True, "top_logprobs": count} if chat else {"logprobs": count}


def find_abilities(endpoint: Endpoint, chat: bool) -> Abilities:
    """Find out what a model of a server can do, once: the result is kept, and a failure holds for the run.

    A server that cannot complete texts is asked for chats.

    Raises:
        NotKept: it is not kept, and the client is offline.
        ServerError: the server cannot be asked in this form.
    """
    client = endpoint.client
    name = request_name(endpoint.place, "abilities", {"chat": chat, "revision": REVISION}, endpoint.round)
    if reply := client.journal.reply(name):
        return Abilities(**json.loads(reply[1]))
    if client.offline:
        raise NotKept(name)
    if error := client.failures.get(name):
        raise ServerError.like(error)
    try:
        abilities = _probe_chat(endpoint) if chat else _probe_completions(endpoint)
    except ServerError as error:
        client.failures[name] = error
        raise
    client.journal.keep(name, 200, json.dumps(asdict(abilities)))
    return abilities


def _probe_completions(endpoint: Endpoint) -> Abilities:
    """Ask for the log-probabilities of a prompt, which count if they can be some; then for the next token's."""
    abilities = Abilities(chat=False)
    reply, refusal = _try(endpoint, abilities, echo=True, logprobs=1)
    doubt = str(refusal) if refusal is not None and refusal.doubtful else ""
    if reply is not None and repeats_prompt(reply, SAMPLE):
        doubt = doubt_of(reply)
        if not doubt:
            return Abilities(False, echo=True, top=1, model=reply.model, fingerprint=reply.fingerprint)
    for count in (*TOP, 0):
        reply, refusal = _try(endpoint, abilities, **_top(False, count))
        if reply is not None:
            count_shown = len(reply.tokens[0].top) if reply.tokens else 0
            top = min(count, count_shown)
            return Abilities(False, top=top, model=reply.model, fingerprint=reply.fingerprint, doubt=doubt)
    return _probe_chat(endpoint, f"cannot complete texts ({refusal}), and ")


def repeats_prompt(reply: Reply, prompt: str) -> bool:
    """Return True if the tokens of a reply begin with those of the prompt, behind special ones."""
    return b"".join(token.text for token in reply.prompt).endswith(prompt.encode())


def doubt_of(reply: Reply) -> str:
    """Return why the log-probabilities of a prompt that a reply repeats cannot be any; "" if they can."""
    tokens = reply.prompt
    if reply.prompt_tokens not in (-1, len(tokens)):
        return f"it counts {reply.prompt_tokens} tokens, and shows {len(tokens)}"
    if any(math.isnan(token.logprob) for token in tokens[1:]):
        return "some tokens have none"
    return "by them the prompt has a probability of about 1, which no prompt has" if is_certain(tokens) else ""


def _probe_chat(endpoint: Endpoint, before: str = "") -> Abilities:
    """Ask a chat for the most probable first tokens, in the forms that servers take; `before` begins an error."""
    forms = [
        *(Abilities(True, top=count, limit_name=name) for name in ("max_tokens", "max_completion_tokens")
          for count in TOP if count != USUAL_TOP),
        *(Abilities(True, limit_name=name) for name in ("max_tokens", "max_completion_tokens")),
        Abilities(True, limit_name="max_completion_tokens", temperature=False),
    ]  # fmt: skip
    for form in forms:
        reply, refusal = _try(endpoint, form, **_top(True, form.top))
        if reply is not None:
            count_shown = len(reply.tokens[0].top) if reply.tokens else 0
            stated = {"model": reply.model, "fingerprint": reply.fingerprint}
            return Abilities(True, False, min(form.top, count_shown), form.limit_name, form.temperature, **stated)
    raise ServerError.of(endpoint.client.server.host, f"{before}takes no chat ({refusal})", option="prompts")


def _try(endpoint: Endpoint, form: Abilities, **parameters: Any) -> tuple[Reply | None, RowError | None]:
    """Return the reply to a request in one form, or why it has none."""
    prompt: Prompted = [{"role": "user", "content": SAMPLE}] if form.chat else SAMPLE
    body = endpoint.body(form, prompt, 1, **parameters)
    try:
        return endpoint.client.ask(endpoint.place, form.path, body, endpoint.round, keep_refusals=False), None
    except RowError as error:
        if not error.final:  # which says nothing of what it can do
            raise ServerError.at(endpoint.client.server.host, str(error), option="models") from error
        return None, error


def tokens_of(endpoint: Endpoint, word: str) -> tuple[bytes, ...]:
    """Return the tokens of a word as the server shows them when it repeats it; of a chat the first alone.

    Nobody here has its tokenizer, so nothing is guessed: () where the server does not repeat the word.
    """
    assert endpoint.abilities is not None
    if endpoint.abilities.chat:
        reply = endpoint.top(_repeating(word, "", chat=True), REPEATED_TOKENS)
        first = reply.tokens[0].text if reply.tokens else b""
        begins = first.strip() and word.strip().encode().startswith(first.strip())
        return (first,) if begins and reply.text.strip().startswith(word.strip()) else ()
    tokens: list[bytes] = []
    while missing := word.encode()[len(b"".join(tokens)) :]:
        begun = b"".join(tokens).decode(errors="ignore")
        reply = endpoint.top(_repeating(word, begun, chat=False), REPEATED_TOKENS)
        further = _covering_start(reply, missing) or [_likely_start(reply, missing)]
        if not further[0]:
            return ()
        tokens += further
    begun_bytes = [b"".join(tokens[:size]) for size in range(1, len(tokens))]
    return () if any("\ufffd" in begun.decode(errors="replace") for begun in begun_bytes) else tuple(tokens)


def _likely_start(reply: Reply, text: bytes) -> bytes:
    """Return the most probable first token that a text begins with; empty where none is shown."""
    logprobs = reply.tokens[0].top if reply.tokens else {}
    starts = [(logprob, token) for token, logprob in logprobs.items() if token.strip() and text.startswith(token)]
    return max(starts)[1] if starts else b""


def _repeating(word: str, begun: str, chat: bool) -> Prompted:
    """Return a prompt after which a word is the likely continuation."""
    if not chat:
        return f"Label:{word}\n" * REPETITIONS + "Label:" + begun
    turns = [("user", "Repeat: apple"), ("assistant", "apple"), ("user", f"Repeat: {word.strip()}")]
    turns += [("assistant", word.strip()), ("user", f"Repeat: {word.strip()}")]
    return [{"role": role, "content": content} for role, content in turns]


def _covering_start(reply: Reply, text: bytes) -> list[bytes]:
    """Return the first tokens of a reply that are a text together; [] where the last of them goes on behind it."""
    tokens: list[bytes] = []
    for token in reply.tokens:
        if len(b"".join(tokens)) >= len(text):
            break
        tokens.append(token.text)
    return tokens if b"".join(tokens) == text else []
