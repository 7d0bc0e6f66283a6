"""Comprehensiveness and sufficiency, end to end, on a model whose answers are known."""

from dataclasses import replace

import pytest

from factors import BUILTIN, Example
from ranker import ClassificationTask, Evidence, TextSource, decide, explain
from ranker.runtime.runtime import Runtime

TASK = ClassificationTask("tone", ("rude", "kind"))
FACTORS = [BUILTIN[name] for name in ("COMPREHENSIVENESS", "SUFFICIENCY")]
EVIDENCE = Evidence("occlusion:hide=remove", factors=FACTORS)
ROW = Example("1", ("Come here now, please.",), 1)


class PoliteSource(TextSource):
    """A model that gives "kind" .9 where it is asked nicely, .3 without a word of that, and .6 for few words."""

    def labels(self):
        """The task's."""
        return TASK.labels

    def content(self):
        """Of one version."""
        return f"says {self.place}, version 1"

    def probabilities(self, texts):
        """By the words that are there."""
        kind = [0.3 if self.place not in text else 0.9 if len(text.split()) > 2 else 0.6 for (text,) in texts]
        return [[1 - p, p] for p in kind]


def test_the_top_words_are_removed_and_kept():
    """Of six words two are top words, "please" and the first of equals; without them .3 is left of .9, alone .6."""
    explanation = explain([PoliteSource("please")], ROW, task=TASK, evidence=EVIDENCE)
    values = explanation.readings[0].factors
    assert values["COMPREHENSIVENESS"] == pytest.approx(0.9 - 0.3)
    assert values["SUFFICIENCY"] == pytest.approx(0.9 - 0.6)


def test_the_predicted_label_counts():
    """The probability of the predicted label counts: .7 of the text, .7 without a word, and .7 of one word."""
    rude = replace(ROW, segments=("Come here now.",))
    values = explain([PoliteSource("please")], rude, task=TASK, evidence=EVIDENCE).readings[0].factors
    assert values == pytest.approx({"COMPREHENSIVENESS": 0, "SUFFICIENCY": 0})


def test_a_run_ranks_by_them(tmp_path):
    """In a decision they order models like any factor; a second run asks nothing again, and says the same."""
    rows = [
        {"text": "Come here now, please.", "label": "kind"},
        {"text": "Go there, please, at once.", "label": "kind"},
    ]
    runtime = Runtime(store=tmp_path)

    def ranked():
        models = [PoliteSource("please"), PoliteSource("nothing")]
        decision = decide(models, rows, evidence=EVIDENCE, method="COMPREHENSIVENESS", runtime=runtime)
        return [model.name for model in decision.found.models]

    assert ranked() == ranked() == ["please", "nothing"]
    unnamed = explain([PoliteSource("please")], ROW, task=TASK, evidence=Evidence(EVIDENCE.attribution))
    assert "CONF" in unnamed.readings[0].factors
    assert "SUFFICIENCY" not in unnamed.readings[0].factors
