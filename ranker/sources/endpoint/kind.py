"""Models behind a server as a kind of source: ``openai:URL#MODEL``, a model for each prompt."""

from __future__ import annotations

import math
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ranker.errors import EXTRAS, UsageError, check_installed
from ranker.records import digest
from ranker.sources.base import Machine, ModelInfo, Needs, ResourceCache, Source, SourceOptions
from ranker.sources.endpoint.abilities import Abilities, Endpoint, Prompted, find_abilities, tokens_of
from ranker.sources.endpoint.client import Client, NotKept, RowError, Server, ServerError, Share
from ranker.sources.endpoint.journal import Journal
from ranker.sources.endpoint.options import EndpointOptions
from ranker.sources.endpoint.prices import read_prices
from ranker.sources.endpoint.scoring import NextTokens, ServerScorer, ServerWriter, Way, WholeWords
from ranker.sources.lm import prompts
from ranker.sources.lm.answers import Words, check_apart, parse_answer
from ranker.sources.lm.members import PromptSetup, listed_labels, setups
from ranker.sources.lm.prompts import CONTENT_FREE, Prompt
from ranker.sources.references import Reference
from ranker.sources.texts import Texts, group_labels
from ranker.tasks.classes import has_labels

if TYPE_CHECKING:
    from factors.types import Example
    from ranker.sources.base import Predictor
    from ranker.sources.usage import RowUsage
    from ranker.tasks.base import Task

Options = EndpointOptions

REVISION = 1
"""Version of asking and scoring, part of the store's key; raise it when answers change."""

PRELOAD = (*EXTRAS["endpoint"], "ranker.sources.endpoint.scoring")


@dataclass(frozen=True)
class EndpointModel(PromptSetup):
    """A prompt on a model behind a server: a `ranker.sources.base.Source`.

    Attributes:
        model: its name there; "" for the only one.
        prompt, demonstrations, calibration, length: see `PromptSetup`.
        sharing: models of the run that share its budget.
    """

    name: str
    server: Server
    model: str = ""
    options: SourceOptions = SourceOptions()
    sharing: int = 1

    precomputed = False
    shares = "servers"
    """All of a run share one process: one pool of connections, and one place for keys."""

    @property
    def family(self) -> str:
        """The model, so that reports can group by it."""
        return self.model or self.server.host

    @property
    def place(self) -> str:
        """URL and name of the model, and a digest of the prompt."""
        return f"{self.server.url}#{self.model}#{digest(self.settings())[:12]}"

    def inspect(self, cache: ResourceCache) -> ModelInfo:
        """Return the labels that its prompt has words for; nothing is sent. See `Source.inspect`."""
        key_name = self.server.options.key_name(self.server.host, alone=len(cache.get(_HOSTS, ())) < 2)
        return ModelInfo(
            replace(self, server=replace(self.server, key_name=key_name), sharing=len(cache.get(_NAMES, ())) or 1),
            self.prompt_labels,
            preload=PRELOAD,
            unused=self.options.of_others(EndpointOptions) | ({"label_map"} if self.options.label_map else frozenset()),
            needs=Needs(secrets=(key_name,) if key_name else (), network=True),
            demonstrations=tuple(demonstration.segments for demonstration in self.demonstrations),
            parts={"model": self.name.partition("/")[0], "prompt": self.prompt_name},
            attributable=self.server.options.budgeted,
        )

    def connect(self, cache: ResourceCache) -> None:
        """Find out what the server can do, unless it is known; no text of a row is sent. See `Connected`."""
        self._endpoint(self.prompt is not None and self.prompt.chat, cache)

    def identity(self, task: Task, machine: Machine, cache: ResourceCache) -> Mapping[str, Any]:
        """Return the server, its model, the way of asking, and the prompt; see `Source.identity`."""
        settings = self.settings(task)
        try:
            endpoint = self._endpoint(self.chosen_prompt(task).chat, cache)
            way = self._way(task, self._put_prompt(task, endpoint), endpoint)
            abilities = vars(endpoint.abilities)
            words = [way.words, way.shown] if way else []
            fields = {**abilities, "round": endpoint.round, "way": type(way).__name__, "words": words}
        except NotKept:  # of a dry run: nothing is stored under such a key
            fields = {"unknown": True}
        server = {"url": self.server.url, "name": self.model, **fields}
        return {
            "content": digest({"server": server, "settings": settings}),
            "server": server,
            "prompt": settings,
            "revision": REVISION,
        }

    def open(self, task: Task, machine: Machine, cache: ResourceCache) -> Predictor:
        """Return a model that asks the server; see `Source.open`. In a dry run it can only be billed."""
        self.check_task(task, self.name)
        prompt = self.chosen_prompt(task)
        try:
            endpoint = self._endpoint(prompt.chat, cache)
            prompt = self._put_prompt(task, endpoint)
            way = self._way(task, prompt, endpoint)
        except NotKept:
            endpoint = Endpoint(_client(self.server, cache), self.model, "", Abilities(prompt.chat))
            words = prompt.words(task)
            listed_words = tuple(form for forms in words.values() for form in forms)
            hard = prompt.decode or prompt.chat or not words
            way = None if hard else WholeWords(listed_words, False)  # the way with most requests
        words = prompt.words(task)
        endpoint = replace(endpoint, share=self._share(endpoint.client, cache))
        member = digest({"place": self.place, "round": endpoint.round, "task": task.name})
        remarks = partial(endpoint.client.journal.remarks, member)
        doubt = endpoint.abilities.doubt if endpoint.abilities else ""
        remarks_once = [f"the server's log-probabilities of prompts (echo) are not used: {doubt}"] if doubt else []
        if prompt.chat and not self.chosen_prompt(task).chat:
            remarks_once.append(
                f"the server takes chats alone, so that the prompt {prompt.name} is put as a user's message"
            )
        note = partial(_note, self.place, cache, way, prompt.decode or not words, remarks_once, remarks)
        note()
        shared: dict[str, Any] = {
            "name": self.name,
            "endpoint": endpoint,
            "put": partial(_put, self, prompt, task, words, {}),
            "member": member,
            "prices": self.server.options.prices,
            "finish": note,
            "beat": cache.beat,
        }
        if way is None:
            parse = partial(parse_answer, task, words)
            most = 1 if cache.offline and words and not prompt.decode else prompt.max_new_tokens
            return ServerWriter(**shared, task=task, parse=parse, most=most, stop=prompt.stop)
        assert has_labels(task)
        forms = [(label, form) for label, of_label in words.items() for form in of_label if form in way.words]
        groups = group_labels(self.name, [label for label, _ in forms], task)
        return ServerScorer(
            **shared,
            way=way,
            groups=tuple(tuple(dict.fromkeys(forms[place][1] for place in group)) for group in groups),
            labels=task.labels,
            empty_texts=CONTENT_FREE if self.calibration == "content-free" else (),
        )

    def usage(self, task: Task, examples: Sequence[Example], machine: Machine, cache: ResourceCache) -> RowUsage | None:
        """Return the tokens of the answers to examples, from replies that are kept; see `Metered`."""
        own_cache = ResourceCache()  # so that no client that sends is shared
        own_cache.folder, own_cache.offline = cache.folder, True
        model = self.open(task, machine, own_cache)
        assert isinstance(model, (ServerScorer, ServerWriter))
        return model.usage(examples)

    def _endpoint(self, chat: bool, cache: ResourceCache) -> Endpoint:
        """Return the model of the server, with its abilities, which are found out once."""
        client = _client(self.server, cache)
        place = f"{self.server.url}#{self.model}"
        anew = self.server.run if self.server.options.refetch else ""
        asked_round = anew if cache.offline and anew else client.journal.round(place, anew)  # a dry run begins none
        endpoint = Endpoint(client, self.model, asked_round)
        return replace(endpoint, abilities=find_abilities(endpoint, chat))

    def _share(self, client: Client, cache: ResourceCache) -> Share | None:
        """Return the share of the budget that each model of the run has; None without a budget, or for one alone."""
        options = self.server.options
        if not options.budgeted or cache.offline or self.sharing == 1:
            return None
        if _SHARE not in cache:  # the first of them begins
            requests, tokens = client.journal.spent(self.server.run)
            cache[_SHARE] = (
                (options.max_requests - requests) // self.sharing if options.max_requests else math.inf,
                (options.max_tokens - tokens) / self.sharing if options.max_tokens else math.inf,
            )
        shares: dict[str, Share] = cache.setdefault(_SHARES, {})
        return shares.setdefault(self.place, Share(*cache[_SHARE]))

    def _put_prompt(self, task: Task, endpoint: Endpoint) -> Prompt:
        """Return the prompt in the form that the server takes: of a built-in set, its chat where it takes no other."""
        assert endpoint.abilities is not None
        prompt = self.chosen_prompt(task)
        if prompt.chat or not endpoint.abilities.chat:
            return prompt
        return replace(prompts.prompt_of(task, chat=True) if self.prompt is None else prompt, chat=True)

    def _way(self, task: Task, prompt: Prompt, endpoint: Endpoint) -> Way | None:
        """Choose how labels are scored; None if they are read from written text."""
        words, able, mean = prompt.words(task), endpoint.abilities, self.length == "mean"
        assert able is not None
        listed = tuple(dict.fromkeys(form for forms in words.values() for form in forms))
        if prompt.decode or not listed or not (able.echo or able.top):
            return None
        if able.echo:
            return WholeWords(listed, mean)
        blank = "" if prompt.chat else prompt.template[len(prompt.template.rstrip()) :]
        try:
            tokens = {word: tokens_of(endpoint, blank + word) for word in listed}
        except RowError as error:  # of no row yet
            raise ServerError.at(self.server.host, str(error), option="models") from error
        if not all(tokens.values()):
            return None
        if prompt.chat:  # of words that begin alike, the first stands for its label
            first: dict[tuple[bytes, ...], str] = {}
            label_of = {form: task.index(label) for label, forms in words.items() for form in forms}  # type: ignore[attr-defined]  # words are of labels
            for word in listed:
                if label_of[first.setdefault(tokens[word], word)] != label_of[word]:
                    return None
            tokens = {word: tokens[word] for word in first.values()}
        else:
            check_apart(listed, list(tokens.values()), self.name)
        return NextTokens(tokens, mean, blank, prompt.chat, able.top)


if TYPE_CHECKING:
    _can: type[Source] = EndpointModel  # checked by mypy

_CLIENTS, _JOURNAL, _RUN, _HOSTS = "clients of servers", "journal of servers", "run of servers", "hosts of servers"
_NAMES, _SHARE, _SHARES = "names of models of servers", "share of a model of a server", "shares of models of servers"


def _client(server: Server, cache: ResourceCache) -> Client:
    """Return the client of a server, one for all its models."""
    if not (cache.offline or server.is_local or server.options.send_texts):
        text = f"the texts of rows would be sent to {server.host}, another machine: `send_texts` allows that"
        raise UsageError(text, option="send_texts", value=server.host)
    if _JOURNAL not in cache or cache[_JOURNAL].folder != cache.folder:
        cache[_JOURNAL] = Journal(cache.folder)
        cache[_CLIENTS] = {}
    clients: dict[str, Client] = cache[_CLIENTS]
    if server.url not in clients:
        clients[server.url] = Client(server, cache[_JOURNAL], offline=cache.offline)
    return clients[server.url]


def _put(
    model: EndpointModel, prompt: Prompt, task: Task, words: Words, frames: dict[int, prompts.Frame], texts: Texts
) -> Prompted:
    """Return the prompt of a row: a text, or the messages of a chat."""
    prompts.check_count(prompt, len(texts))
    labels = listed_labels(words)
    answered = model.answered(task, words, model.name)
    if prompt.chat:
        filled = [(prompt.fill(segments, labels), answer) for segments, answer in answered]
        return prompts.chat_turns(prompt, filled, prompt.fill(texts, labels))
    if len(texts) not in frames:
        frames[len(texts)] = prompts.frame(prompt, len(texts), labels, answered)
    return frames[len(texts)].text(texts)[0]


def _note(
    place: str,
    cache: ResourceCache,
    way: Way | None,
    writes: bool,
    remarks_once: Sequence[str],
    remarks: Callable[[], dict[str, int]],
) -> None:
    """Note how a model is asked, and what was remarkable in how many rows."""
    notes = [] if way is None and writes else [ServerWriter.note if way is None else way.note]
    notes += remarks_once if notes else []
    notes += [f"{remark} (different rows: {count:,})" for remark, count in sorted(remarks().items())]
    cache.noted[place] = 0, tuple(notes)


def claims(reference: Reference, options: SourceOptions) -> bool:
    """Return False: a server is named by its kind, ``openai:URL#MODEL``."""
    return False


def sources(reference: Reference, options: SourceOptions, cache: ResourceCache) -> list[EndpointModel]:
    """List the prompts on a model of a server; nothing is sent."""
    check_installed("a model of a server", "endpoint", option="models")
    chosen = options.of(EndpointOptions)
    if chosen.prices:
        chosen = replace(chosen, prices=os.path.abspath(chosen.prices))  # workers have another folder
        read_prices(chosen.prices)
    url = _checked(reference.place)
    server = Server(url, "", chosen, cache.setdefault(_RUN, uuid.uuid4().hex), options.limits)
    cache.setdefault(_HOSTS, set()).add(server.host)
    name = reference.part.rstrip("/").rpartition("/")[2] or server.host
    models = [
        EndpointModel("/".join(filter(None, (name, end))), server, reference.part, options, **vars(setup))
        for end, setup in setups(chosen, options)
    ]
    cache.setdefault(_NAMES, set()).update(model.place for model in models)
    return models


def _checked(url: str) -> str:
    """Return a URL without slashes at its end."""
    if "@" in url.partition("://")[2].partition("/")[0] or "?" in url:
        text = "the URL of a server must hold no password and no query, which reports would show"
        raise UsageError(f"{text}; name the variable with its key by `api_key_env`", option="models")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise UsageError.of(url, f"is no URL of a server: {error}", option="models", value=url) from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        predicate = "must be the URL of a server, such as openai:http://127.0.0.1:8080/v1#MODEL"
        raise UsageError.of(url, predicate, option="models", value=url)
    return url.rstrip("/")
