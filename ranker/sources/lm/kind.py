"""Language models as a kind of source: checkpoints and GGUF files, a model for each prompt."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranker.errors import ModelError, UsageError, check_installed
from ranker.records import digest
from ranker.sources.base import Machine, ModelInfo, Needs, ResourceCache, Source, SourceOptions, version
from ranker.sources.hf import align, checkpoints
from ranker.sources.hf.files import GGUF, Files, open_checkpoint_files, open_gguf
from ranker.sources.hf.heads import CAUSAL, Head, writing_head
from ranker.sources.hf.kind import FOLDERS, LIBRARIES, checkpoints_in, last_files, located, pin
from ranker.sources.lm import prompts
from ranker.sources.lm.answers import parse_answer
from ranker.sources.lm.members import PromptSetup, listed_labels, setups
from ranker.sources.lm.options import LMOptions
from ranker.sources.lm.prompts import Frame, Prompt
from ranker.sources.references import Reference
from ranker.sources.texts import group_labels
from ranker.tasks.classes import has_labels

if TYPE_CHECKING:
    from ranker.sources.base import Predictor
    from ranker.sources.lm.network import LanguageModel
    from ranker.tasks.base import Task

Options = LMOptions

REVISION = 2
"""Version of prompting and scoring, part of the store's key; raise it when answers change."""

PRELOAD = ("torch", "transformers", "ranker.sources.lm.scoring", "ranker.sources.lm.writing")


@dataclass(frozen=True)
class PromptedModel(PromptSetup):
    """A prompt on a language model: a `ranker.sources.base.Source`.

    Attributes:
        name: see there.
        path: a directory, a GGUF file, or a hub id ``org/name@revision``.
        family: the language model, so that reports can group by it.
        prompt: the prompt; None for the first built-in one of the task.
        demonstrations: rows that the prompt shows.
        calibration, length: see `LMOptions`.
        options: of all sources of the run.

    Example:
        >>> prompt = Prompt(template="{text} It was ", verbalizers={"good": ("great",), "bad": ("terrible",)})
        >>> model = PromptedModel("smollm2/it-was", "models/smollm2", "smollm2", prompt=prompt)
        >>> model.family, list(model.prompt.verbalizers)
        ('smollm2', ['good', 'bad'])
    """

    name: str
    path: str
    family: str = ""
    options: SourceOptions = SourceOptions()

    precomputed = False

    @property
    def place(self) -> str:
        """Path with links resolved or hub id, and a digest of the prompt."""
        return (
            f"{os.path.realpath(self.path) if os.path.exists(self.path) else self.path}#{digest(self.settings())[:12]}"
        )

    @property
    def shares(self) -> str:
        """The language model, whose weights are shared."""
        return f"language model {self.path}"

    def inspect(self, cache: ResourceCache) -> ModelInfo:
        """Return the labels that its prompt has words for; weights on the hub are fetched. See `Source.inspect`."""
        try:
            folder = _located(self.path, self.options, cache)
            head = _head(folder, self.options)
            weights = [folder] if folder.suffix == GGUF else checkpoints.weight_files(
                folder, allow_pickle=self.options.allow_pickle
            )  # fmt: skip
            if head is None:
                raise ModelError.of(
                    self.path, "is no language model; its config.json names an architecture without one"
                )
        except ModelError as error:
            return ModelInfo(self, trouble=str(error))
        pinned = replace(self, path=pin(self.path, folder))
        cache[FOLDERS, pinned.path] = folder
        return ModelInfo(
            pinned,
            self.prompt_labels,
            sum(file.stat().st_size for file in weights),
            PRELOAD,
            self.options.of_others(LMOptions) | ({"label_map"} if self.options.label_map else frozenset()),
            needs=Needs(accelerator=True),
            demonstrations=tuple(demonstration.segments for demonstration in self.demonstrations),
            parts={"model": self.name.partition("/")[0], "prompt": self.prompt_name},
        )

    def identity(self, task: Task, machine: Machine, cache: ResourceCache) -> Mapping[str, Any]:
        """Return the content hash of the model, the prompt, and all else that its answers depend on."""
        files = _files(self.path, self.options, cache)
        settings = {**self.settings(task), "too_long": self.options.of(LMOptions).too_long}
        return {
            "content": f"{files.digest} {digest(settings)}",
            "prompt": settings,
            "own_code": self._trusted and files.brings_code(),
            "alignment": align.REVISION,
            "revision": REVISION,
            "dtype": machine.dtype,
            "versions": {name: version(name) for name in LIBRARIES},
        }

    def open(self, task: Task, machine: Machine, cache: ResourceCache) -> Predictor:
        """Load the network, or take it from the cache, and put the prompt before it. See `Source.open`."""
        from ranker.sources.lm.encoding import PromptEncoder
        from ranker.sources.lm.scoring import LabelScorer
        from ranker.sources.lm.writing import Writer

        self.check_task(task, self.name)
        network = self._network(machine, cache)
        prompt = self.chosen_prompt(task)
        words = prompt.words(task)
        listed_words = tuple(word for forms in words.values() for word in forms)
        writes = prompt.decode or not words
        encoder = PromptEncoder(
            network,
            partial(self._frame, prompt, task, network, {}),
            () if writes else listed_words,
            prompt.chat,
            self.options.of(LMOptions).too_long == "cut",
            prompt.max_new_tokens if writes and not network.encodes else 0,
        )
        cache.noted[self.place] = 0, network.notes
        if writes:
            parse = partial(parse_answer, task, words)
            most, padding = prompt.max_new_tokens, network.padding_written(prompt.max_new_tokens)
            return Writer(self.name, network, encoder, task, parse, most, prompt.stop, padding)
        assert has_labels(task)
        raw = {**self.settings(task), "calibration": "none", "model": network.digest, "machine": repr(machine)}
        if cache.get(_SCORES, ("", None))[0] != (key := digest(raw)):
            cache[_SCORES] = key, {}
        of_words = [label for label, forms in words.items() for _ in forms]
        return LabelScorer(
            name=self.name,
            network=network,
            encoder=encoder,
            groups=group_labels(self.name, of_words, task),
            mean=self.length == "mean",
            calibrated=self.calibration == "content-free",
            scores=cache[_SCORES][1],
            seed=f"{network.digest} {digest(self.settings(task))}",
        )

    @property
    def _trusted(self) -> bool:
        """True if the user named this model, or its language model, as one that may run code of its own."""
        return bool({self.name, self.family} & self.options.trust_remote_code)

    def _network(self, machine: Machine, cache: ResourceCache) -> LanguageModel:
        """Load the language model once for all prompts that come one after the other."""
        from ranker.sources.lm.network import LanguageModel

        files = _files(self.path, self.options, cache)
        key = (files.digest, machine)
        if cache.get(_NETWORK, (None, None))[0] != key:
            cache.pop(_NETWORK, None)  # before the next is loaded, so that there is room for it
            if machine.threads is not None:
                import torch

                torch.set_num_threads(machine.threads)
            head = _head(_located(self.path, self.options, cache), self.options)
            assert head is not None
            cache[_NETWORK] = (
                key,
                LanguageModel.load(
                    self.path,
                    files,
                    head,
                    device=machine.device,
                    dtype=machine.dtype,
                    trust_remote_code=self._trusted,
                    allow_pickle=self.options.allow_pickle,
                    token_budget=machine.token_budget,
                    beat=cache.beat,
                    limits=self.options.limits,
                ),
            )
        network: LanguageModel = cache[_NETWORK][1]
        return network

    def _frame(self, prompt: Prompt, task: Task, network: LanguageModel, frames: dict[int, Frame], count: int) -> Frame:
        """Return the prompt around the texts of a row, once for each number of texts."""
        if count not in frames:
            words = prompt.words(task)
            answered = self.answered(task, words, self.name)
            chat = network.chat if prompt.chat else None
            frames[count] = prompts.frame(prompt, count, listed_labels(words), answered, chat)
        return frames[count]


if TYPE_CHECKING:
    _can: type[Source] = PromptedModel  # checked by mypy

_NETWORK, _SCORES = "the last language model", "scores of the last prompt"
"""Cache keys. Only the last model's weights are cached, and scores of words of the last prompt."""


def claims(reference: Reference, options: SourceOptions) -> bool:
    """Return True if a reference is a GGUF file, a checkpoint that writes text, or a folder of such."""
    place = f"{reference.place}@{reference.revision}" if reference.revision else reference.place
    try:
        if place.endswith(GGUF):
            return os.path.isfile(place)
        if os.path.isdir(place):
            if _gguf_in(place):
                return True
            inside = [Path(place), *checkpoints_in(Path(place))][-1]
            return checkpoints.is_checkpoint(inside) and _head(inside, options) is not None
        return checkpoints.is_hub_id(place) and writing_head(checkpoints.hub_config(place)) is not None
    except ModelError:
        return False


def sources(reference: Reference, options: SourceOptions, cache: ResourceCache) -> list[PromptedModel]:
    """List the prompted models that a reference names: each prompt, number of demonstrations and calibration is one.

    Raises:
        UsageError: there is no such prompt.
    """
    check_installed("a language model", "models", option="models", value=reference.place)
    place = f"{reference.place}@{reference.revision}" if reference.revision else reference.place
    below = [*checkpoints_in(Path(place)), *_gguf_in(place)] if os.path.isdir(place) else []
    networks = [(_name_of(str(path)), str(path)) for path in below] or [(_name_of(place), place)]
    prompted = list(setups(options.of(LMOptions), options))
    listed = [
        PromptedModel("/".join(filter(None, (name, end))), path, name, options=options, **vars(setup))
        for name, path in networks
        for end, setup in prompted
    ]
    if reference.part:
        by_part = {source.name.partition("/")[2]: source for source in listed}
        if reference.part not in by_part:
            text = f"has no prompt {reference.part!r} among `prompts`"
            raise UsageError.of(place, text, option="models", value=reference.part, allowed=by_part)
        return [by_part[reference.part]]
    return listed


def _gguf_in(place: str) -> list[Path]:
    """List the GGUF files in a folder, in the order of their names; none if it is a checkpoint itself."""
    folder = Path(place)
    return [] if checkpoints.is_checkpoint(folder) else sorted(folder.glob(f"*{GGUF}"))


def _name_of(place: str) -> str:
    """Return the name of a language model by its place."""
    path = Path(place)
    if path.suffix == GGUF:
        return path.stem
    return path.resolve().name if path.is_dir() else place.partition("/")[2] or place


def _located(path: str, options: SourceOptions, cache: ResourceCache) -> Path:
    """Return the folder of a checkpoint, or the GGUF file."""
    return Path(path) if path.endswith(GGUF) else located(path, options, cache)


def _head(folder: Path, options: SourceOptions) -> Head | None:
    """Return the head of the language model in a folder or a file; None if it is no language model."""
    if folder.suffix == GGUF:
        return CAUSAL
    base = checkpoints.locate_base(folder, allow_pickle=options.allow_pickle)
    config = checkpoints.read_json((base or folder) / checkpoints.CONFIG, limits=options.limits)
    return writing_head(config, checkpoints.read_json(folder / checkpoints.ADAPTER) if base else None)


def _files(path: str, options: SourceOptions, cache: ResourceCache) -> Files:
    """Return the open files of a language model, and close those of the previous one."""

    def opened() -> Files:
        folder = _located(path, options, cache)
        if folder.suffix == GGUF:
            return open_gguf(folder, beat=cache.beat)
        return open_checkpoint_files(folder, allow_pickle=options.allow_pickle, beat=cache.beat, limits=options.limits)

    return last_files(path, opened, cache)
