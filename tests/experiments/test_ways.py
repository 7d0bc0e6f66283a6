"""Ways to make models differ beside their rows: each against its definition, and all of them in a whole training."""

import copy
import json
import types

import numpy as np
import pytest
import torch
from refusals import refuses
from scipy import optimize
from test_train import WORDS, pairs
from torch.nn.functional import cross_entropy

from experiments import bias, eda, freelb, losses, plan, train, tuning
from experiments.recipe import Augment, Base, Loss, Perturb, Stage, Tune
from factors import Example
from ranker.errors import UsageError

LABELS = ("non-entailment", "entailment")
TINY = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
SENTENCE = [
    "A", "sad", ",", "superior", "human", "comedy", "played", "out", "on", "the", "back", "roads", "of", "life", ".",
]  # fmt: skip


def built(dropout=0.0):
    """A new two-layer BERT and its tokenizer."""
    config = {**TINY, "hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    corpus = [text for example in pairs(40) for text in example.segments]
    return train.build(Base(architecture="bert", config=config, vocabulary=80), LABELS, corpus, seed=0)


def trained(stage, dropout=0.0):
    """Weights by name after a training of the 16 same pairs."""
    model, tokenizer = built(dropout)
    losses = train.train(model, tokenizer, pairs(16), stage, seed=1)
    assert np.isfinite(losses).all()
    assert all(parameter.requires_grad for parameter in model.parameters())
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(first, second):
    """Bit for bit the same weights under the same names."""
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.fixture
def batch():
    """Random logits of five rows, with gradients, and labels."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(5, 2, generator=generator).requires_grad_(), torch.tensor([0, 1, 1, 0, 1])


def test_focal_loss_without_focus_is_cross_entropy(batch):
    """With gamma 0; with more, each row is weighted by how wrong it is."""
    torch.testing.assert_close(losses.focal(*batch, gamma=0.0), cross_entropy(*batch))
    p = batch[0].softmax(dim=1)[range(5), batch[1]]
    torch.testing.assert_close(losses.focal(*batch, gamma=3.0), -((1 - p) ** 3 * p.log()).mean())


def test_focal_loss_of_what_is_certain_has_a_gradient():
    """A power of less than 1 has none at 0, where a probability is rounded to 1."""
    logits = torch.tensor([[0.0, 30.0], [0.0, 0.0]], requires_grad=True)
    losses.focal(logits, torch.tensor([1, 1]), gamma=0.5).backward()
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
    assert logits.grad[1].abs().sum() > 0


def test_label_smoothing_is_torchs(batch):
    """The loss is cross entropy with soft targets, as written out."""
    target = 0.8 * torch.nn.functional.one_hot(batch[1], 2) + 0.1
    torch.testing.assert_close(losses.smoothed(*batch, 0.2), -(target * batch[0].log_softmax(dim=1)).sum(1).mean())


def test_an_ignorant_expert_changes_nothing(batch):
    """A uniform biased model leaves cross entropy as it is."""
    torch.testing.assert_close(losses.product_of_experts(*batch, torch.full((5, 2), 0.5).log()), cross_entropy(*batch))


def test_what_the_bias_knows_teaches_little():
    """Of two classes, the gradient of a row is softmax(logits + log bias) minus the truth."""
    logits = torch.tensor([[0.3, -0.2], [0.3, -0.2]], requires_grad=True)
    expert = torch.tensor([[0.01, 0.99], [0.99, 0.01]])
    losses.product_of_experts(logits, torch.tensor([1, 1]), expert.log()).backward()
    product = logits.detach().softmax(dim=1) * expert
    expected = (product / product.sum(dim=1, keepdim=True) - torch.tensor([[0.0, 1.0], [0.0, 1.0]])) / 2
    torch.testing.assert_close(logits.grad, expected)
    assert logits.grad[0].abs().max() < 0.02 < 0.4 < logits.grad[1].abs().max()


def test_a_training_minimises_the_loss_of_the_classes_whatever_outputs_they_are_made_of():
    """Of three outputs as two classes, the probability of a class is the sum of its outputs'."""
    model, tokenizer = built()
    with train.seeded(0):
        model.config.num_labels, model.classifier = 3, torch.nn.Linear(16, 3)
    start, rows = copy.deepcopy(model), pairs(16)
    stage = Stage(epochs=1, batch_size=16, learning_rate=1e-3, warmup=0.0)
    (loss,) = train.train(model, tokenizer, rows, stage, seed=1, groups=((0, 2), (1,)))
    batch = tokenizer.pad(train.encode(tokenizer, rows, stage.max_length), return_tensors="pt")
    p = start.eval()(**batch).logits.softmax(dim=1)
    labels = torch.tensor([row.target for row in rows])
    expected = -torch.where(labels == 1, p[:, 1], p[:, 0] + p[:, 2]).log().mean()
    assert loss == pytest.approx(expected.item(), abs=1e-5)


@pytest.mark.parametrize("kind", bias.FEATURES)
def test_a_biased_model_knows_its_shortcut_and_no_more(kind):
    """The model is sure if its shortcut tells the label, and gives the base rate otherwise."""
    rng = np.random.default_rng(0)
    telling, silent = [], []
    for i in range(200):
        label, other_label = int(rng.integers(2)), int(rng.integers(2))
        texts = {
            "hypothesis": (" ".join(rng.choice(WORDS, 4)), "never" if label else "always"),
            "overlap": ("the actor ran home", "the actor ran" if label else "no judge slept"),
        }
        telling.append(Example(f"a{i}", texts[kind], label))
        silent.append(Example(f"b{i}", ("the same", "the same"), other_label))
    p = np.exp(bias.log_probabilities(kind, telling, 2))
    assert (p.argmax(axis=1) == [row.target for row in telling]).all()
    assert p.max(axis=1).min() > 0.8
    rate = np.mean([row.target for row in silent])
    np.testing.assert_allclose(np.exp(bias.log_probabilities(kind, silent, 2))[:, 1], rate, atol=0.01)


def test_the_features_of_a_bias_on_rows_worked_by_hand():
    """Of the last segment: the share of its words in the first, all of them, all in one run; and which words it has."""
    texts = [
        ("The actor ran home.", "the actor ran"),
        ("The actor ran.", "The judge ran."),
        ("Ran the actor.", "The actor ran."),
        ("A judge and a doctor slept.", "slept"),
    ]
    rows = [Example(str(i), pair, 0) for i, pair in enumerate(texts)]
    assert bias.overlap(rows).tolist() == [[1, 1, 1], [0.75, 0, 0], [1, 1, 0], [1, 1, 1]]
    rows = [Example("a", ("x y", "a B a"), 0), Example("b", ("z", "b c"), 0), Example("c", ("c",), 0)]
    assert bias.hypothesis(rows).toarray().tolist() == [[1, 1, 0], [0, 1, 1], [0, 0, 1]]  # a, b, c


def test_a_biased_model_is_the_one_of_least_loss():
    """Cross entropy with a penalty, minimised anew without its gradient, says the same of each row."""
    rng = np.random.default_rng(0)
    words = ["the", "actor", "judge", "ran"]
    rows = [
        Example(str(i), (" ".join(rng.choice(words, 3)), " ".join(rng.choice(words, 3))), int(rng.integers(2)))
        for i in range(24)
    ]
    features = np.column_stack([bias.overlap(rows), np.ones(len(rows))])
    labels = np.array([row.target for row in rows])

    def log_p(flat):
        logits = features @ flat.reshape(4, 2)
        return logits - np.logaddexp(logits[:, :1], logits[:, 1:])

    def loss(flat):
        return -log_p(flat)[np.arange(len(rows)), labels].mean() + 1e-3 * (flat**2).sum()

    best = optimize.minimize(
        loss, rng.normal(size=8), method="Nelder-Mead", options={"maxiter": 20_000, "fatol": 1e-13}
    )
    np.testing.assert_allclose(bias.log_probabilities("overlap", rows, 2), log_p(best.x), atol=2e-3)


def test_eda_on_a_sentence():
    """Each operation under a seed: swaps keep the words, drops keep the order, insertions take words of the text."""
    rng = np.random.default_rng(0)
    swapped, dropped, longer = (eda.OPERATIONS[name](SENTENCE, 0.2, rng) for name in ("swap", "delete", "insert"))
    assert sorted(swapped) == sorted(SENTENCE) != swapped
    assert 2 <= sum(a != b for a, b in zip(swapped, SENTENCE, strict=True)) <= 6  # three swaps
    position = iter(SENTENCE)
    assert all(word in position for word in dropped)
    assert 0 < len(dropped) < len(SENTENCE)
    assert len(longer) == len(SENTENCE) + 3
    assert set(longer) == set(SENTENCE)
    assert eda.replaced(["a", "sad", "life"], 1.0, rng, {"sad": ["bleak"]}) == ["a", "bleak", "life"]
    assert eda.deleted(["one"], 1.0, rng) == eda.swapped(["one"], 1.0, rng) == ["one"]


def test_copies_stand_behind_their_rows():
    """Rows stay as they are, copies have ids and labels of theirs, and a seed gives the same copies."""
    rows = pairs(6)
    augmented = [eda.augmented(rows, Augment(copies=2, share=0.5), np.random.default_rng(3)) for _ in range(2)]
    assert augmented[0] == augmented[1]
    assert augmented[0][:6] == rows
    assert [copy.id for copy in augmented[0][6:8]] == ["pairs-0+1", "pairs-0+2"]
    assert [copy.target for copy in augmented[0][6:]] == [row.target for row in rows for _ in range(2)]
    assert {len(copy.segments) for copy in augmented[0]} == {2}


def test_shots_are_rows_of_each_label():
    """K of each label out of the rows of the stage, and an error where there are fewer."""
    pools = {plan.IN_DOMAIN: pairs(60)}
    drawn = plan.draw(Stage(shots=5), pools, 2, 0, "it")
    assert sorted(row.target for row in drawn) == [0] * 5 + [1] * 5
    assert drawn != plan.draw(Stage(shots=5), pools, 2, 1, "it")
    assert len(plan.draw(Stage(shots=5, augment=Augment(copies=3)), pools, 2, 0, "it")) == 40
    of_one_label = {plan.IN_DOMAIN: [row for row in pairs(60) if row.target]}
    with refuses(UsageError, option="shots", value=5, allowed=(1, 0)):
        plan.draw(Stage(shots=5), of_one_label, 2, 0, "it")
    with refuses(UsageError, option="shots", value=50):
        plan.draw(Stage(shots=50), pools, 2, 0, "it")


def test_freelb_without_steps_is_plain():
    """Bit for bit."""
    plain = trained(Stage(steps=3))
    assert same(trained(Stage(steps=3, perturb=Perturb(steps=0))), plain)
    assert not same(trained(Stage(steps=3, perturb=Perturb(steps=2, step_size=0.5))), plain)


class Straight(torch.nn.Module):
    """A network whose one output is linear in its word embeddings, so that all of FreeLB can be worked out by hand."""

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding.from_pretrained(torch.arange(12.0).reshape(4, 3) / 10, freeze=False)
        self.slope = torch.tensor([0.5, -1.0, 2.0])

    def get_input_embeddings(self):
        """As networks of transformers have it."""
        return self.words

    def forward(self, inputs_embeds, attention_mask):
        """The sum over all positions, padding included, which only FreeLB leaves as it is."""
        return types.SimpleNamespace(logits=(inputs_embeds @ self.slope).sum(1, keepdim=True))


@pytest.mark.parametrize("radius", [0.0, 0.2, 50.0])
def test_freelb_takes_the_steps_of_the_paper(radius):
    """From a uniform start, along each row's gradient of one length, back into the ball; padding is not pushed."""
    network, start, step = Straight(), 0.7, 0.3
    batch = {"input_ids": torch.tensor([[1, 2, 3], [3, 1, 0]]), "attention_mask": torch.tensor([[1, 1, 1], [1, 1, 0]])}
    perturb = Perturb(steps=3, step_size=step, start=start, radius=radius)
    torch.manual_seed(0)
    drawn = torch.rand(2, 3, 3).numpy()
    torch.manual_seed(0)
    value = freelb.backward(network, batch, lambda logits: logits.sum(), perturb)
    words, slope, losses_of = np.arange(12.0).reshape(4, 3) / 10, np.array([0.5, -1.0, 2.0]), np.zeros(3)
    for ids, noise, real in (([1, 2, 3], drawn[0], 3), ([3, 1, 0], drawn[1], 2)):
        real_tokens = np.arange(3)[:, None] < real
        push = real_tokens * start * (2 * noise - 1) / np.sqrt(real * 3)
        uphill = real_tokens * slope / np.linalg.norm(real_tokens * slope)
        for k in range(3):
            losses_of[k] += ((words[ids] + push) @ slope).sum()
            push = push + step * uphill
            if radius and np.linalg.norm(push) > radius:
                push *= radius / np.linalg.norm(push)
    assert value == pytest.approx(losses_of.mean(), abs=1e-5)


def test_freelb_goes_against_the_model():
    """Perturbations that start at nothing raise the loss, the more the longer; of no length they leave its gradient."""
    model, tokenizer = built()
    rows = pairs(8)
    batch = tokenizer.pad(train.encode(tokenizer, rows, 32), return_tensors="pt")
    labels = torch.tensor([row.target for row in rows])
    model.requires_grad_(True).eval()

    def of(**options):
        model.zero_grad()
        value = freelb.backward(model, batch, lambda logits: cross_entropy(logits, labels), Perturb(**options))
        return value, model.classifier.weight.grad.clone()

    plain = cross_entropy(model(**batch).logits, labels)
    unmoved, gradient = of(steps=2, step_size=0.0, start=0.0)
    assert unmoved == pytest.approx(plain.item(), abs=1e-6)
    model.zero_grad()
    plain.backward()
    torch.testing.assert_close(gradient, model.classifier.weight.grad, atol=1e-6, rtol=1e-4)
    near, _ = of(steps=4, step_size=0.3, start=0.0)
    bounded, _ = of(steps=4, step_size=0.3, start=0.0, radius=0.3)
    assert plain.item() < bounded < near


def test_a_linear_probe_leaves_the_encoder_alone():
    """Bit for bit, weight decay included; the head moves."""
    before = built()[0].state_dict()
    after = trained(Stage(steps=4, learning_rate=0.1, weight_decay=0.5, tune=Tune("head")), dropout=0.1)
    assert {name for name in before if not torch.equal(before[name], after[name])} == {
        "classifier.weight",
        "classifier.bias",
    }


def test_head_then_all_is_one_after_the_other():
    """All steps for the head is the linear probe, none of them is plain training."""
    stage = {"steps": 4, "learning_rate": 0.01}
    assert same(
        trained(Stage(**stage, tune=Tune("head-then-all", head_share=1.0))), trained(Stage(**stage, tune=Tune("head")))
    )
    assert same(trained(Stage(**stage, tune=Tune("head-then-all", head_share=0.0))), trained(Stage(**stage)))
    both_stages = trained(Stage(**stage, tune=Tune("head-then-all")))
    assert not torch.equal(both_stages["bert.pooler.dense.weight"], built()[0].state_dict()["bert.pooler.dense.weight"])


def test_lora_changes_linear_layers_by_low_rank():
    """Each linear layer of the encoder changes by at most the rank; embeddings and names stay."""
    pytest.importorskip("peft", reason="peft is not installed")
    before = built()[0].state_dict()
    after = trained(Stage(steps=5, learning_rate=0.05, tune=Tune("lora", rank=2)))
    assert after.keys() == before.keys()
    name = "bert.encoder.layer.0.attention.self.query.weight"
    change = after[name] - before[name]
    assert change.abs().max() > 1e-4
    assert torch.linalg.matrix_rank(change, rtol=1e-3) <= 2
    assert torch.equal(
        after["bert.embeddings.word_embeddings.weight"], before["bert.embeddings.word_embeddings.weight"]
    )
    assert not torch.equal(after["classifier.weight"], before["classifier.weight"])


def test_phases_add_up_to_the_steps():
    """Whatever the share of the head is."""
    for share in (0.0, 0.33, 1.0):
        assert sum(count for _, count in tuning.phases(Tune("head-then-all", head_share=share), 7)) == 7


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "way",
    [
        {"loss": Loss("focal")}, {"loss": Loss("smoothed")}, {"loss": Loss("product")},
        {"loss": Loss("product", bias="overlap")}, {"perturb": Perturb(steps=2)}, {"tune": Tune("head-then-all")},
        {"tune": Tune("lora")},
    ],
    ids=lambda way: str(next(iter(way.values()))),
)  # fmt: skip
def test_each_way_trains_and_repeats(way):
    """A whole training on two layers: another model than plain training gives, and the same one under the same seed."""
    if way == {"tune": Tune("lora")}:
        pytest.importorskip("peft", reason="peft is not installed")
    stage = Stage(steps=3, batch_size=8, learning_rate=0.01, **way)
    first = trained(stage, dropout=0.1)
    assert same(first, trained(stage, dropout=0.1))
    assert not same(first, trained(Stage(steps=3, batch_size=8, learning_rate=0.01), dropout=0.1))


def test_ways_are_part_of_the_key_only_where_they_are_used():
    """A stage without them has the key that it always had; each of them gives another."""

    def key(**options):
        return plan.Training("a", Stage(**options), 0, (), Base(path="x")).key

    ways = [
        {"shots": 3}, {"augment": Augment()}, {"loss": Loss("focal")}, {"perturb": Perturb()}, {"tune": Tune("head")},
    ]  # fmt: skip
    assert key() == "72675fc9beb43a87e2ca1cedc5e246e8e6bf2337585e4863d3e336d56935f5c7"
    assert len({key(), *(key(**way) for way in ways)}) == 6
    assert key(loss=Loss("focal")) != key(loss=Loss("focal", gamma=1.0))
    assert json.loads(json.dumps(plan._plain(Stage()), default=dict)).keys().isdisjoint(plan.WAYS)
