from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients
from conftest import ENCODERS, TASK, make_tokenizer
from refusals import refuses
from transformers import PreTrainedConfig

from factors.types import Example
from ranker.attribution import attribute, ig
from ranker.attribution.ig import Path, Stretch, rough_stretches
from ranker.attribution.perturb import explained_output
from ranker.attribution.settings import FIRST, IGSettings
from ranker.errors import ModelError
from ranker.sources.hf import networks
from ranker.sources.hf.batching import Batch
from ranker.sources.hf.classifiers import Classifier

EXAMPLES = [
    Example("a", ("The doctor's co-worker waited.", "An old judge danced."), 1),
    Example("b", ("The actor saw the judge.", ""), 0),
    Example("c", ("A naïve café 👍 near 走路", "the the"), 1),
    Example("d", ("The actor saw the actor.", ""), 0),
    Example("e", ("the old actor",), 0),
]
ROUGH = IGSettings(steps=4, max_steps=4)


class BendingBag(torch.nn.Module):
    """Bag of words whose logits are W times the sum of embeddings, or of their tanh if `bend` is not 0."""

    def __init__(self, words, bend=0.0):
        super().__init__()
        random = torch.Generator().manual_seed(1)
        self.config = PreTrainedConfig()
        self.words = torch.nn.Embedding.from_pretrained(torch.randn(words, 3, generator=random))
        self.weight, self.bend, self.rows = torch.randn(3, 2, generator=random), bend, []

    def get_input_embeddings(self):
        """(V, 3)."""
        return self.words

    def forward(self, input_ids, attention_mask):
        """(R, T) -> (R, 2) logits."""
        self.rows.append(len(input_ids))
        x = self.words(input_ids)
        x = torch.tanh(self.bend * x) if self.bend else x
        return SimpleNamespace(logits=x.sum(dim=1) @ self.weight)


def bag(bend=0.0, budget=1000):
    """A classifier around a bag of words."""
    tokenizer = make_tokenizer("wordpiece")
    return Classifier(
        name="bag", model=BendingBag(len(tokenizer), bend), tokenizer=tokenizer, max_length=100, takes_type_ids=False,
        special_ids=tuple(tokenizer.all_special_ids), device=torch.device("cpu"), token_budget=budget,
        groups=((0,), (1,)),
    )  # fmt: skip


def rows_of(classifier, settings="ig", examples=EXAMPLES):
    """The attributions, as a list."""
    return list(attribute(classifier, examples, settings))


@pytest.mark.parametrize("baseline", ["mask", "pad", "zero"])
def test_a_linear_model_gets_weight_times_difference(baseline):
    """A token's score is its weight times its way from the baseline if the margin is linear."""
    classifier = bag()
    words, weight = classifier.model.words.weight.double(), classifier.model.weight.double()
    token = {"mask": classifier.tokenizer.mask_token_id, "pad": classifier.tokenizer.pad_token_id}.get(baseline)
    start = torch.zeros(3) if token is None else words[token]
    for row, e in zip(rows_of(classifier, replace(ROUGH, baseline=baseline)), classifier.encode(EXAMPLES), strict=True):
        exact = (words[torch.tensor(e.ids)] - start) @ (weight[:, 1] - weight[:, 0])
        np.testing.assert_allclose(row.scores, exact.numpy(), atol=1e-5)
        assert abs(row.residual) < 1e-5
        assert row.effort == 4


@pytest.mark.parametrize("rule", ["gausslegendre", "riemann_middle"])
@pytest.mark.parametrize("output", ["margin", "logit", "probability"])
@pytest.mark.parametrize("target", [0, 1])
def test_scores_are_captums_own(rule, output, target):
    """Many examples at once get what captum gives each alone, at the same steps, rule and output."""
    classifier = bag(bend=1.5)
    settings = IGSettings(target=target, output=output, rule=rule, steps=5, max_steps=5)
    start = classifier.start("mask")
    for row, e in zip(rows_of(classifier, settings), classifier.encode(EXAMPLES), strict=True):
        x = classifier.embed([e])
        own_scores = IntegratedGradients(
            lambda x, e=e: explained_output(classifier.from_embeddings(x, [e] * len(x)), target, output)
        )
        scores = own_scores.attribute(x, start.expand_as(x), n_steps=5, method=rule).sum(-1)[0]
        np.testing.assert_allclose(row.scores, scores.numpy(), atol=1e-6)


@pytest.mark.parametrize("output", ["margin", "logit", "probability"])
def test_the_residual_is_the_completeness_gap(classifier, output):
    """The sum of the scores less the change of the output from baseline to input, each computed by itself."""
    bert = classifier("bert")
    settings = replace(ROUGH, output=output)
    for row, e in zip(rows_of(bert, settings), bert.encode(EXAMPLES), strict=True):
        ids = torch.from_numpy(np.stack([e.ids, np.full(len(e), bert.tokenizer.mask_token_id)]))
        types = torch.from_numpy(np.stack([e.type_ids] * 2))
        with torch.no_grad():
            x, b = explained_output(bert.network(Batch(ids, types)), 1, output).tolist()
        assert row.residual == pytest.approx(abs(row.scores.sum() - (x - b)), abs=1e-5)
        assert row.probs.sum() == pytest.approx(1)


def test_rows_carry_the_alignment_and_special_tokens_have_a_score(classifier):
    """Tokens, segments, words and offsets are those of the encoding; separators start from the baseline, too."""
    bert = classifier("bert")
    for row, e in zip(rows_of(bert, ROUGH), bert.encode(EXAMPLES), strict=True):
        assert (row.tokens, row.backend, row.target) == (e.tokens, "ig", 1)
        for name in ("segment", "word", "offsets"):
            np.testing.assert_array_equal(getattr(row, name), getattr(e, name))
        special = row.segment == -1
        assert (row.word[special] == -1).all()
        assert (row.scores[special] != 0).all()


def test_two_segments_are_told_apart(classifier):
    """The network sees the segment ids: the same tokens cut elsewhere score differently."""
    bert = classifier("bert")
    pairs = [Example("a", ("the old actor", "saw"), 1), Example("b", ("the old", "actor saw"), 1)]
    a, b = rows_of(bert, ROUGH, pairs)
    assert sorted(a.tokens) == sorted(b.tokens)
    assert abs(a.probs - b.probs).max() > 1e-3


def test_only_rough_stretches_are_refined():
    """Stretches with a gap over their share get more points, then are cut; the others are done once and left alone."""
    classifier = bag(bend=6.0)
    start = classifier.start("mask")
    settings = IGSettings(rule="riemann_middle", steps=2, tolerance=0.02, share=0.25)

    def by_recursion(e):
        """Breadth first, captum alone, three middles for one before a cut: (T,) scores and the points used."""
        x = classifier.embed([e])
        own_scores = IntegratedGradients(lambda x: explained_output(classifier.from_embeddings(x, [e] * len(x)), 1))
        stretches, done, effort = [(*ends, 2) for ends in FIRST], {}, 0
        while stretches:
            for a, b, steps in stretches:
                near, far = start + a * (x - start), start + b * (x - start)
                row, gap = own_scores.attribute(
                    far, near, n_steps=steps, method="riemann_middle", return_convergence_delta=True
                )
                done[a, b, steps] = (row.sum(-1)[0].double(), abs(gap.item()))
                effort += {2: 2, 6: 4}[steps]  # of six middles two are known
            allowed = 0.02 / 4 * abs(sum(row for row, _ in done.values())).sum()
            rough = [stretch for stretch, (_, gap) in done.items() if gap > allowed]
            stretches = [(a, b, 6) for a, b, steps in rough if steps == 2]
            stretches += [(*half, 2) for a, b, steps in rough if steps == 6
                          for half in ((a, (a + b) / 2), ((a + b) / 2, b))]  # fmt: skip
            done = {stretch: part for stretch, part in done.items() if stretch not in rough}
        return sum(row for row, _ in done.values()).numpy(), effort

    rows = rows_of(classifier, settings)
    assert len({row.effort for row in rows}) > 1  # else nothing is shown
    assert max(row.effort for row in rows) > 18  # three times six middles: some stretch was cut
    for row, e in zip(rows, classifier.encode(EXAMPLES), strict=True):
        scores, effort = by_recursion(e)
        np.testing.assert_allclose(row.scores, scores, atol=1e-5)
        assert row.effort == effort


def test_paths_of_one_shape_start_from_one_evaluation():
    """The start of a path has no words in it: it is run once for each length, and the gaps stay what they are."""
    classifier = bag(bend=1.5)
    examples = [Example(text, (text,), 0) for text in ("the old actor", "an old judge", "the actor", "saw the actor")]
    together = rows_of(classifier, ROUGH, examples)
    with_gradient = 4 * len(examples)
    assert sum(classifier.model.rows) - with_gradient == len(examples) + 2
    for row, example in zip(together, examples, strict=True):
        assert row.residual == pytest.approx(rows_of(bag(bend=1.5), ROUGH, [example])[0].residual, abs=1e-6)


def test_small_gaps_that_add_up_are_cut_at_the_widest():
    """Four stretches within their shares, together over the tolerance: one of them is cut; where they cancel, none."""
    settings = IGSettings(tolerance=0.1, share=0.3)
    stretches = [Stretch(0, a, b) for a, b in pairwise([0.0, 0.25, 0.5, 0.75, 1.0])]

    def cut(gaps):
        return rough_stretches(dict(zip(stretches, gaps, strict=True)), 1.0, settings)

    assert cut([0.026, 0.028, 0.027, 0.026]) == [stretches[1]]
    assert cut([0.026, -0.028, 0.027, -0.026]) == []


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize(
    ("was", "rounding", "goes_on"),
    [
        (0.02, 1e-7, True),  # too large for rounding: the path bends
        (0.02, 0.008, False),  # no better than before, and no larger than rounding may make it
        (0.1, 0.008, True),  # more points helped
    ],
)
def test_a_gap_that_more_points_did_not_mend_is_left(dense, was, rounding, goes_on):
    """A replacement of a stretch that is off by .02 of the scores is refined again, unless that is rounding."""
    stretch = Stretch(0, 0.0, 1.0, dense)
    finer = stretch.finer()
    path = Path({part: np.array([1 / len(finer)]) for part in finer}, effort=15, left={stretch: was})
    refined = path.refine({(0, 0.0): 0.0, (0, 0.5): 0.49, (0, 1.0): 0.98}, IGSettings(), rounding)
    assert refined == ([again for part in finer for again in part.finer()] if goes_on else [])


@pytest.mark.parametrize(("rounding", "goes_on"), [(1e-7, True), (0.008, False)])
def test_a_large_output_is_rounded_by_more_than_its_small_change(rounding, goes_on):
    """From 7.7 to 7.8 a gap of .05 is half of the scores, and less than one rounding of the output."""
    stretch = Stretch(0, 0.0, 1.0)
    refined = Path({stretch: np.array([0.15])}, effort=5).refine({(0, 0.0): 7.7, (0, 1.0): 7.8}, IGSettings(), rounding)
    assert refined == (list(stretch.finer()) if goes_on else [])


def test_the_widest_gaps_come_first():
    """With points for one stretch of two, the one with the wider gap gets them."""
    near, far = Stretch(0, 0.0, 0.5), Stretch(0, 0.5, 1.0)
    settings = IGSettings(steps=2, max_steps=8)
    path = Path({near: np.array([0.5]), far: np.array([0.5])}, effort=4)
    assert path.refine({(0, 0.0): 0.0, (0, 0.5): 0.4, (0, 1.0): 0.7}, settings, 0.0) == list(far.finer())
    assert (path.effort, list(path.parts)) == (7, [near])


def test_steps_never_pass_their_limit():
    """The points that are left are used as far as they go."""
    for limit in (6, 11, 30):
        rows = rows_of(bag(bend=20.0), IGSettings(steps=2, max_steps=limit, tolerance=1e-9))
        assert all(limit - 4 < row.effort <= limit for row in rows)


@pytest.mark.parametrize("budget", [1, 30, 200, 10_000])
def test_scores_do_not_depend_on_the_budget(budget):
    """Small batches, one row at a time, or all at once: the same numbers."""
    wanted = rows_of(bag(bend=1.5))
    for row, expected in zip(rows_of(bag(bend=1.5, budget=budget)), wanted, strict=True):
        np.testing.assert_allclose(row.scores, expected.scores, atol=1e-5)
        np.testing.assert_allclose(row.probs, expected.probs, atol=1e-6)


@pytest.mark.parametrize("needs_gradient", [True, False])
def test_out_of_memory_on_the_way_changes_no_score(monkeypatch, needs_gradient):
    """Smaller batches give the same rows in the same order if memory runs out, on the path or at its ends."""
    examples = [
        Example(str(i), (text,), 0) for i, text in enumerate(["the old actor", "an old judge", "saw the actor"] * 3)
    ]
    wanted = rows_of(bag(bend=1.5), ROUGH, examples)
    classifier = bag(bend=1.5)
    whole_forward, failed = BendingBag.forward, []

    def forward(self, input_ids, attention_mask):
        if len(input_ids) > 7 and self.words(input_ids).requires_grad == needs_gradient:
            failed.append(len(input_ids))
            raise torch.OutOfMemoryError("out of memory")
        return whole_forward(self, input_ids, attention_mask)

    monkeypatch.setattr(BendingBag, "forward", forward)
    rows = rows_of(classifier, ROUGH, examples)
    assert failed
    for row, expected in zip(rows, wanted, strict=True):
        assert row.tokens == expected.tokens
        np.testing.assert_allclose(row.scores, expected.scores, atol=1e-5)
        assert row.residual == pytest.approx(expected.residual, abs=1e-5)


def test_a_large_budget_makes_no_large_windows(monkeypatch):
    """Rows come after so many examples at most, however many a batch of an accelerator has room for."""
    monkeypatch.setattr(ig, "MAX_WINDOW", 2)
    counts = []
    next(attribute(bag(budget=65_536), EXAMPLES, ROUGH, counts.append))
    assert sum(counts) == 2


@pytest.mark.parametrize("settings", [ROUGH, "shap", "lime:samples=20"])
def test_a_window_of_a_large_network_is_some_seconds_of_work(monkeypatch, settings):
    """On a processor rows come one by one where each takes long: by the number of weights, and by no clock."""
    monkeypatch.setattr(networks, "WORK", 1)
    counts = []
    next(attribute(bag(), EXAMPLES, settings, counts.append))
    assert sum(counts) == 1


def test_progress_counts_every_example_once():
    """Examples that need more steps are told when they are done, those of one round together."""
    counts = []
    settings = IGSettings(steps=1, tolerance=0.02)
    assert len(list(attribute(bag(bend=2.0), EXAMPLES, settings, counts.append))) == len(EXAMPLES)
    assert sum(counts) == len(EXAMPLES) > len(counts)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_is_complete_alone_and_in_company(classifier, name):
    """On each common encoder the scores add up, and an example's neighbours do not change them."""
    settings = IGSettings(tolerance=0.02)
    together = rows_of(classifier(name), settings)
    for row, example in zip(together, EXAMPLES, strict=True):
        assert settings.accepts(row)
        (alone,) = rows_of(classifier(name), settings, [example])
        np.testing.assert_allclose(row.scores, alone.scores, atol=1e-5)
        np.testing.assert_allclose(row.probs, alone.probs, atol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ENCODERS)
def test_rounding_is_not_taken_for_a_bend(classifier, checkpoint, name):
    """In bfloat16 gaps stay whatever the points; the search for more of them ends, and the scores are those."""
    exact = rows_of(classifier(name), IGSettings())
    rounded = rows_of(Classifier.load(checkpoint(name), TASK, dtype="bfloat16"), IGSettings())
    assert sum(row.effort for row in rounded) <= sum(row.effort for row in exact) + 80 * len(EXAMPLES)
    off = [abs(a.scores - b.scores).max() / abs(b.scores).max() for a, b in zip(rounded, exact, strict=True)]
    assert np.mean(off) < 0.1


@pytest.mark.parametrize("baseline", ["mask", "pad"])
def test_a_tokenizer_without_the_baselines_token_is_refused(baseline):
    """The error offers what this very model can run."""
    classifier = bag()
    setattr(classifier.tokenizer, f"{baseline}_token", None)
    other_token = {"mask": "pad", "pad": "mask"}[baseline]
    with refuses(ModelError, value="ig", allowed=(f"ig:baseline={other_token}",), place="bag"):
        rows_of(classifier, IGSettings(baseline=baseline))
    assert len(rows_of(classifier, replace(ROUGH, baseline="zero"))) == len(EXAMPLES)
