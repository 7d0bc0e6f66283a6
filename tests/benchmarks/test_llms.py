"""Effects of calibration and of hidden words on language models, against loops."""

from itertools import combinations

import numpy as np
import pytest
from conftest import TASK, make_lm

from benchmarks.llms import CALIBRATED, PromptCase, answers, calibration_effect, hidden_words
from factors import Attributions, Example
from ranker.sources.base import Machine, ResourceCache
from ranker.sources.lm.kind import PromptedModel
from ranker.sources.lm.prompts import Prompt

PROMPT = Prompt(
    name="because",
    segments=("premise", "hypothesis"),
    template="{premise} because {hypothesis} ",
    verbalizers={"entailment": ("actor",), "non-entailment": ("judge",)},
)
EXAMPLES = [Example("1", ("The doctor saw the actor.", "An actor waited."), 1), Example("2", ("The judge", "old"), 0)]


def test_each_prompt_answers_with_and_without_calibration(tmp_path):
    """Names tell apart what the table of accuracies has in columns, and demonstrations change answers."""
    rivals = [
        {"premise": f"{subject} danced.", "hypothesis": "The judge danced.", "label": label}
        for subject, label in zip(
            ("The judge", "The actor", "The old judge", "A doctor"), ("entailment", "non-entailment") * 2, strict=True
        )
    ]
    case = PromptCase("toy", TASK, tuple(EXAMPLES), rivals, ("nli/entailment",))
    probs = answers(case, make_lm(tmp_path / "llama", max_position_embeddings=512), tmp_path)
    assert list(probs) == [f"llama/entailment{shots}{end}" for shots in ("", "/4-shot") for end in ("", CALIBRATED)]
    assert all((a != b).any() for a, b in combinations(probs.values(), 2))


def test_the_effect_of_calibration_is_counted_by_a_loop():
    """Gains by model, the interval of their mean over rows, and the share of the most frequent label."""
    rng = np.random.default_rng(0)
    labels, corrected = rng.integers(2, size=50), rng.random((3, 50)) < 0.7
    predicted = np.array([rng.random(50) < share for share in (0.5, 0.9, 0.05)]).astype(int)
    effect = calibration_effect(predicted == labels, corrected, predicted)
    of_rows = [np.mean([int(corrected[m, n]) - int(predicted[m, n] == labels[n]) for m in range(3)]) for n in range(50)]
    half = 1.96 * np.std(of_rows, ddof=1) / 50**0.5
    assert (effect.low, effect.high) == pytest.approx((np.mean(of_rows) - half, np.mean(of_rows) + half))
    assert effect.gains == pytest.approx([corrected[m].mean() - (predicted[m] == labels).mean() for m in range(3)])
    assert effect.leaning == pytest.approx([max(row.mean(), 1 - row.mean()) for row in predicted])


def test_two_words_change_what_their_removal_changes(lm):
    """The fall for the words with the highest scores is that of the margin without them, less the mean of all pairs."""
    scorer = PromptedModel("m", str(lm()), prompt=PROMPT).open(TASK, Machine(), ResourceCache())
    (effect, _), (row, _) = hidden_words(scorer, EXAMPLES), scorer.encodings(EXAMPLES)
    scores = np.random.default_rng(0).normal(size=len(row.ids))
    attributions = Attributions(np.ones(2) / 2, 1, row.tokens, row.segment, row.word, row.offsets, scores)

    def margin(hidden):
        request = [(None, row, ~np.isin(row.word, hidden)[None] | (row.word < 0)[None])]
        ((_, logits),) = scorer.answers(request, "remove")
        return logits[0, 1] - logits[0, 0]

    sign = np.sign(margin([]))
    falls = {pair: sign * (margin([]) - margin(pair)) for pair in combinations(range(row.words), 2)}
    best = max(falls, key=lambda pair: sign * attributions.word_scores[list(pair)].sum())
    mean = np.mean(list(falls.values()))
    assert effect.fall(attributions) == pytest.approx((falls[best] - mean, max(falls.values()) - mean), abs=1e-6)
