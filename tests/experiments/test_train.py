import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from experiments import train
from experiments.recipe import Base, Stage
from factors import Example
from ranker.datasets import sets
from ranker.errors import ModelError, UsageError

TASK = sets.tasks()["nli"]
LABELS = TASK.labels
TINY = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
WORDS = ["actor", "judge", "doctor", "lawyer", "artist", "banker", "ran", "slept", "danced", "waited"]


def pairs(count, seed=0):
    """Pairs whose label says whether the second text is the first one's beginning."""
    rng = np.random.default_rng(seed)
    examples = []
    for i in range(count):
        words = list(rng.choice(WORDS, 6, replace=False))
        label = int(rng.integers(2))
        hypothesis = words[:2] if label else words[3:5]
        examples.append(Example(f"pairs-{i}", (" ".join(words), " ".join(hypothesis)), label))
    return examples


def texts(examples):
    """All texts of the examples."""
    return [text for example in examples for text in example.segments]


@pytest.fixture
def examples():
    """Sixty-four pairs."""
    return pairs(64)


@pytest.fixture
def tiny(examples):
    """A new two-layer BERT and its tokenizer."""
    return train.build(Base(architecture="bert", config=TINY, vocabulary=80), LABELS, texts(examples), seed=0)


def weights(model):
    """All weights in one vector."""
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@given(st.lists(st.integers(1, 40), min_size=1, max_size=300), st.integers(1, 7), st.integers(0, 9))
@settings(max_examples=50)
def test_an_epoch_sees_every_row_once(lengths, size, seed):
    """No row is lost or repeated, and no batch is larger than it may be."""
    cut = train.batches(lengths, size, torch.Generator().manual_seed(seed))
    assert sorted(row for batch in cut for row in batch) == list(range(len(lengths)))
    assert max(map(len, cut)) <= size


def test_batches_hold_rows_of_similar_length():
    """Padding stays below a tenth of the tokens, where batches at random would have a quarter."""
    lengths = np.random.default_rng(0).integers(5, 60, 1000).tolist()
    cut = train.batches(lengths, 8, torch.Generator().manual_seed(0))
    padded = sum(max(lengths[row] for row in batch) * len(batch) for batch in cut)
    assert padded < 1.1 * sum(lengths)


def test_epochs_differ_and_seeds_repeat():
    """The order of batches is fresh in each epoch, and the same for the same seed."""
    stream = train.endless_batches([1] * 20, 4, torch.Generator().manual_seed(5))
    first, second = ([next(stream) for _ in range(5)] for _ in range(2))
    assert first != second
    assert first == train.batches([1] * 20, 4, torch.Generator().manual_seed(5))


@pytest.mark.parametrize(
    ("rows", "stage", "steps"),
    [
        (10, Stage(batch_size=4), 3), (10, Stage(batch_size=4, epochs=2), 6), (10, Stage(batch_size=4, epochs=0.5), 2),
        (10, Stage(batch_size=4, epochs=2, steps=7), 7), (10, Stage(steps=0), 0), (0, Stage(steps=7), 0),
    ],
)  # fmt: skip
def test_number_of_steps(rows, stage, steps):
    """Steps are batches; their number is given, or follows from epochs; without rows there are none."""
    assert train.number_of_steps(rows, stage) == steps


@pytest.mark.more
def test_a_model_learns_what_can_be_learnt(tiny, examples):
    """Two layers learn from 64 pairs which of them are beginnings: the loss falls far below chance."""
    model, tokenizer = tiny
    losses = train.train(model, tokenizer, examples, Stage(steps=250, learning_rate=5e-3), seed=0)
    assert losses[0] == pytest.approx(np.log(2), abs=0.1)
    assert np.mean(losses[-10:]) < 0.2
    assert not model.training


@pytest.mark.more
def test_the_same_seed_gives_the_same_weights(examples):
    """Twice the same training is bit for bit the same model, dropout included; another seed is another model."""
    outcomes = []
    for seed in (1, 1, 2):
        model, tokenizer = train.build(Base(architecture="bert", config=TINY), LABELS, texts(examples), seed)
        torch.rand(1)  # what others draw does not matter
        train.train(model, tokenizer, examples, Stage(epochs=2, batch_size=8), seed=seed)
        outcomes.append(weights(model))
    assert torch.equal(outcomes[0], outcomes[1])
    assert not torch.equal(outcomes[0], outcomes[2])


def test_torchs_own_generator_is_left_as_it_was(examples):
    """Building and training draw nothing from the generator that everybody shares."""
    before = torch.random.get_rng_state()
    model, tokenizer = train.build(Base(architecture="bert", config=TINY), LABELS, texts(examples), seed=3)
    train.train(model, tokenizer, examples, Stage(steps=1), seed=3)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_no_rows_train_nothing(tiny):
    """A stage without rows leaves the weights as they were: the untouched member."""
    model, tokenizer = tiny
    before = weights(model)
    assert train.train(model, tokenizer, [], Stage(), seed=0) == []
    assert torch.equal(weights(model), before)


@pytest.mark.parametrize("rising", [0.0, 0.1, 1.0])
def test_the_learning_rate_rises_and_falls(rising):
    """The rate is never 0, reaches 1 once, and never leaves the range between."""
    factor = train.slope(50, rising)
    rates = [factor(step) for step in range(50)]
    peak = rates.index(max(rates))
    assert max(rates) == 1
    assert min(rates) > 0
    assert rates == sorted(rates[: peak + 1]) + sorted(rates[peak + 1 :], reverse=True)


def test_vectors_are_not_decayed(tiny):
    """Weight decay takes matrices and embeddings; biases and normalisations are left alone."""
    decayed, free = train.weight_groups(tiny[0], 0.1)
    assert {p.ndim for p in decayed["params"]} == {2}
    assert {p.ndim for p in free["params"]} == {1}
    assert (decayed["weight_decay"], free["weight_decay"]) == (0.1, 0.0)


def test_the_same_texts_give_the_same_tokenizer():
    """The learnt vocabulary does not depend on the order of a hash table."""
    corpus = texts(pairs(200))
    vocabularies = [train.wordpiece(corpus, 60, 32, segments=True).get_vocab() for _ in range(5)]
    assert all(vocabulary == vocabularies[0] for vocabulary in vocabularies)


def test_a_tokenizer_knows_pairs_and_unknown_letters():
    """Segments are told apart, separators stand behind each, and a letter never seen is unknown, not lost."""
    tokenizer = train.wordpiece(texts(pairs(50)), 60, 32, segments=True)
    row = tokenizer("actor ran", "judge ж")
    tokens = tokenizer.convert_ids_to_tokens(row["input_ids"])
    assert tokens[0] == "[CLS]"
    assert tokens[-2:] == ["[UNK]", "[SEP]"]
    assert tokens.count("[SEP]") == 2
    assert row["token_type_ids"] == [0] * (tokens.index("[SEP]") + 1) + [1] * (len(tokens) - tokens.index("[SEP]") - 1)


@pytest.mark.parametrize(
    ("architecture", "config"),
    [
        ("bert", {}),
        ("roberta", {"type_vocab_size": 1}),
        ("electra", {"embedding_size": 8}),
        ("deberta-v2", {"type_vocab_size": 0}),
        ("distilbert", {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}),
    ],
)
def test_architectures_that_can_be_trained_from_scratch(architecture, config, examples):
    """Each takes the tokenizer's rows, at their longest, too, and names its classes after the labels."""
    config = config if "dim" in config else {**TINY, **config}
    base = Base(architecture=architecture, config={"max_position_embeddings": 20, **config}, vocabulary=60)
    model, tokenizer = train.build(base, LABELS, texts(examples), seed=0)
    long = Example("long", ("actor " * 30, "judge"), 0)
    train.train(model, tokenizer, [*examples[:3], long], Stage(steps=1, max_length=tokenizer.model_max_length), seed=0)
    assert model.config.id2label == dict(enumerate(LABELS))
    embeddings = model.get_input_embeddings().weight
    assert not embeddings[tokenizer.mask_token_id].any(), "attribution hides words behind a word of some meaning"
    assert embeddings[tokenizer.sep_token_id].any()


def test_what_is_saved_can_be_loaded(tiny, tmp_path):
    """Weights, labels and tokenizer come back as they were; no weights are pickled."""
    model, tokenizer = tiny
    train.save(model, tokenizer, tmp_path / "model")
    loaded, its_tokenizer = train.load(str(tmp_path / "model"), TASK, seed=9)
    assert torch.equal(weights(loaded), weights(model))
    assert its_tokenizer("actor ran", "judge") == tokenizer("actor ran", "judge")
    assert {path.suffix for path in (tmp_path / "model").iterdir()} == {".json", ".safetensors"}


@pytest.mark.parametrize("names", [("negative", "positive"), ("LABEL_0", "LABEL_1"), ("a", "b", "c")])
def test_a_base_of_another_task_is_refused(tiny, tmp_path, names):
    """A classifier of other labels, or of labels without a meaning, is no start: its head would mean something else."""
    model, tokenizer = tiny
    model.config.update(train.names_of(names))
    train.save(model, tokenizer, tmp_path / "other")
    with pytest.raises(ModelError) as caught:
        train.load(str(tmp_path / "other"), TASK, seed=0)
    assert f"other is a classifier of {len(names)} labels ({', '.join(names)}), and those of the task nli are" in str(
        caught.value
    )


def test_a_head_is_read_by_its_names(tiny, tmp_path):
    """Labels in another order, or three of NLI for two, make a start; the head stays as it is."""
    model, tokenizer = tiny
    model.config.update(train.names_of(("entailment", "not_entailment")))
    train.save(model, tokenizer, tmp_path / "turned")
    turned, _ = train.load(str(tmp_path / "turned"), TASK, seed=0)
    assert train.outputs(turned.config.id2label, TASK, "it") == ((1,), (0,))
    assert torch.equal(weights(turned), weights(model))
    assert train.outputs({0: "entailment", 1: "neutral", 2: "contradiction"}, TASK, "it") == ((1, 2), (0,))


def test_labels_of_a_base_without_names_are_given_by_the_recipe(tiny, tmp_path):
    """`labels` of a base says what LABEL_0 and LABEL_1 mean; names that are not the task's are refused as ever."""
    model, tokenizer = tiny
    model.config.update(train.names_of(("LABEL_0", "LABEL_1")))
    train.save(model, tokenizer, tmp_path / "unnamed")
    named_model, _ = train.load(str(tmp_path / "unnamed"), TASK, seed=0, labels=("entailment", "not_entailment"))
    assert named_model.config.id2label == {0: "entailment", 1: "not_entailment"}
    assert torch.equal(weights(named_model), weights(model))
    with refuses(ModelError, allowed=TASK.labels, place=tmp_path / "unnamed"):
        train.load(str(tmp_path / "unnamed"), TASK, seed=0, labels=("cat", "dog"))


def test_a_base_that_is_missing_is_said_so(tmp_path):
    """A folder without a model is one line, and names the folder."""
    with refuses(ModelError, place=tmp_path / "nothing"):
        train.load(str(tmp_path / "nothing"), TASK, seed=0)


def test_an_unknown_architecture_is_said_so(examples):
    """So is one that transformers does not know."""
    with refuses(ModelError, place="berd"):
        train.build(Base(architecture="berd"), LABELS, texts(examples), seed=0)


def test_a_package_brings_a_base():
    """`package:NAME/FOLDER` is a folder of an installed package; other paths stay as they are."""
    assert train.resolve("package:experiments/recipes").endswith("recipes")
    assert train.resolve("org/model") == "org/model"


@pytest.mark.parametrize("path", ["package:no_such_package/model", "package:experiments/no_such_folder"])
def test_a_package_that_is_not_installed_is_said_so(path):
    """The message names the package."""
    with refuses(UsageError, option="path", value=path):
        train.resolve(path)
