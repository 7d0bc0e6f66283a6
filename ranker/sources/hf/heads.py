"""Heads of networks: what each answers, and the architectures in a checkpoint's configuration that have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ranker.sources.hf import checkpoints
from ranker.sources.hf.files import Files
from ranker.tasks.classes import ClassificationTask
from ranker.tasks.label_sets import LabelSetTask
from ranker.tasks.tags import TagTask
from ranker.tasks.texts import SpanTask


@dataclass(frozen=True)
class Head:
    """Head of a network, or none.

    Attributes:
        auto: class of transformers that loads the network; a checkpoint's architecture ends as its name does.
        task: class of the tasks that it answers to.
        model: module and class of the loaded model.
        adapter: task type of PEFT adapters that have it.
        module: of the network that holds it, in most architectures.
        optional: modules that may lack weights.
    """

    description: str
    auto: str
    answers: str = ""
    task: type[Any] = object
    model: str = ""
    adapter: str = ""
    module: str = ""
    optional: tuple[str, ...] = ()

    def model_class(self) -> Any:
        """Import the class of the loaded model."""
        module, _, name = self.model.partition(":")
        return getattr(import_module(module), name)


LABELS = Head(
    *("a trained sequence classifier", "AutoModelForSequenceClassification", "labels", ClassificationTask),
    *("ranker.sources.hf.classifiers:TextClassifier", "SEQ_CLS", "classifier"),
)
LABEL_SETS = Head(
    *("a trained sequence classifier", "AutoModelForSequenceClassification", "sets of labels", LabelSetTask),
    *("ranker.sources.hf.set_classifiers:SetClassifier", "SEQ_CLS", "classifier"),
)
TAGS = Head(
    *("a trained token classifier", "AutoModelForTokenClassification", "tags", TagTask),
    *("ranker.sources.hf.taggers:Tagger", "TOKEN_CLS", "classifier"),
)
SPANS = Head(
    *("a trained question answering head", "AutoModelForQuestionAnswering", "spans of a passage", SpanTask),
    *("ranker.sources.hf.extractors:SpanExtractor", "QUESTION_ANS", "qa_outputs"),
)
ENCODER = Head("an encoder", "AutoModel", optional=("pooler",))
CAUSAL = Head("a causal language model", "AutoModelForCausalLM", "texts", adapter="CAUSAL_LM", module="lm_head")
SEQ2SEQ = Head("a text-to-text model", "AutoModelForSeq2SeqLM", "texts", adapter="SEQ_2_SEQ_LM", module="lm_head")

SEVERAL = "multi_label_classification"
"""Problem type, in a configuration, of classifiers whose labels do not exclude each other."""

WRITING = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
"""Endings of architectures that write text."""


def writing_head(config: Mapping[str, Any], adapter: Mapping[str, Any] | None = None) -> Head | None:
    """Return the head of a language model that a checkpoint names; None if it is no language model.

    Example:
        >>> writing_head({"architectures": ["LlamaForCausalLM"]}).auto, writing_head({"architectures": ["BertModel"]})
        ('AutoModelForCausalLM', None)
    """
    names = config.get("architectures")
    writes = isinstance(names, list) and any(str(name).endswith(WRITING) for name in names)
    task_type = (adapter or {}).get("task_type")
    if not writes or (adapter is not None and task_type not in (CAUSAL.adapter, SEQ2SEQ.adapter)):
        return None
    return SEQ2SEQ if config.get("is_encoder_decoder") else CAUSAL


def head_of(config: Mapping[str, Any], adapter: Mapping[str, Any] | None = None) -> Head:
    """Return the head that a checkpoint names; `LABELS` if it names none that is known.

    Args:
        adapter: configuration of a PEFT adapter, whose head replaces that of its base.

    Example:
        >>> head_of({"architectures": ["BertForTokenClassification"]}).answers, head_of({}).answers
        ('tags', 'labels')
        >>> head_of({"architectures": ["BertForMaskedLM"]}, {"task_type": "QUESTION_ANS"}).answers
        'spans of a passage'
        >>> head_of({"problem_type": "multi_label_classification"}).answers
        'sets of labels'
    """
    task_type = (adapter or {}).get("task_type")
    architectures = config.get("architectures")
    names = architectures if isinstance(architectures, list) else []
    of_texts = LABEL_SETS if config.get("problem_type") == SEVERAL else LABELS
    for head in (TAGS, SPANS, of_texts):
        if head.adapter == task_type:
            return head
    endings = {head.auto.removeprefix("AutoModel"): head for head in (TAGS, SPANS)}
    return next((head for name in names for ending, head in endings.items() if ending in str(name)), of_texts)


def head_of_files(files: Files) -> Head:
    """Return the head of a checkpoint by its open files: see `head_of`."""
    adapter = files.settings(checkpoints.ADAPTER) if files.under else None
    return head_of((files.under or files).settings(checkpoints.CONFIG), adapter)
