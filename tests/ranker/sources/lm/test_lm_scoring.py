"""Labels by the probabilities of words after a prompt, against a loop that runs one text at a time without a cache."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import TASK, make_lm
from refusals import refuses
from transformers import AutoTokenizer, BertConfig, BertLMHeadModel

from factors.types import Example
from ranker.attribution import attribute
from ranker.errors import LabelError, ModelError
from ranker.sources.base import Machine, ResourceCache, SourceOptions
from ranker.sources.hf.heads import CAUSAL, SEQ2SEQ
from ranker.sources.hf.networks import PADDING
from ranker.sources.lm.kind import PromptedModel, sources
from ranker.sources.lm.network import LanguageModel, _needs_eager_attention, _padding
from ranker.sources.lm.options import LMOptions
from ranker.sources.lm.prompts import CONTENT_FREE, Prompt
from ranker.sources.lm.scoring import LabelScorer
from ranker.sources.references import Reference
from ranker.tasks.classes import ClassProbabilities

DECODERS = ("llama", "gemma", "gpt2")
DEFAULTS = LMOptions()
LONG = "Judge whether the second sentence follows from the first one, and say so in one word."
WORDS = {"entailment": ("The doctor", "actor"), "neutral": ("judge",), "contradiction": ("an old judge",)}
PROMPT = Prompt(name="because", segments=("premise", "hypothesis"), template="{premise} because {hypothesis} ",
                instruction=LONG, verbalizers=WORDS)  # fmt: skip
EXAMPLES = [
    Example("1", ("The doctor saw the actor.", "An actor waited."), 1),
    Example("2", ("The old judge danced near the doctor.", "the judge believed"), 0),
    Example("3", ("old", "an"), 1),
    Example("4", ("The doctor saw the actor.", "The doctor saw the actor."), 1),
]


def opened(folder, prompt=PROMPT, task=TASK, options=DEFAULTS, **changes):
    """A loaded model of a prompt."""
    source = PromptedModel("m", str(folder), "m", prompt=prompt, options=SourceOptions(kinds=[options]), **changes)
    return source.open(task, Machine(), ResourceCache())


def probabilities(model, examples=EXAMPLES):
    """(N, C)."""
    return ClassProbabilities.joined(list(model.predict(examples))).probs


def plain_scores(model, example, texts=None):
    """The log-probability of each word after the prompt of an example, one forward pass each."""
    network = model.network
    context = model.encoder.frame_of(2).text(texts or example.segments)[0]
    scores = []
    for word in model.encoder.words:
        start = context.rstrip()
        blank = context[len(start) :]
        if network.encodes:
            encoded = network.tokenizer(context, return_tensors="pt").input_ids
            tokens = network.tokenizer(word, add_special_tokens=False).input_ids
            decoded = torch.tensor([[network.bos, *tokens]])
            logs = network.model(encoded, decoder_input_ids=decoded).logits[0].log_softmax(dim=-1)
            scores.append([logs[i, token].item() for i, token in enumerate(tokens)])
        else:
            before = network.tokenizer(start).input_ids
            ids = network.tokenizer(start + blank + word).input_ids
            assert ids[: len(before)] == before
            logs = network.model(torch.tensor([ids])).logits[0].log_softmax(dim=-1)
            scores.append([logs[i - 1, ids[i]].item() for i in range(len(before), len(ids))])
    return scores


def plain_probabilities(model, example, reduce=sum):
    """(C,) probabilities of non-entailment and entailment, from the scores of the words."""
    entails, also, neutral, against = np.exp([reduce(tokens) for tokens in plain_scores(model, example)])
    yes, no = entails + also, neutral + against
    return np.array([no, yes]) / (yes + no)


@pytest.mark.parametrize("kind", [*DECODERS, "t5"])
def test_probabilities_are_those_of_a_loop_without_cache(lm, kind):
    """Sums of log-probabilities over a word's tokens; the words of a label add up, and so do names of a label."""
    model = opened(lm(kind))
    assert bool(model.encoder.prefix(2)) == (kind != "t5")
    expected = [plain_probabilities(model, example) for example in EXAMPLES]
    np.testing.assert_allclose(probabilities(model), expected, atol=1e-5)
    assert np.ptp([row[0] for row in expected]) > 0.01


@pytest.mark.parametrize("kind", ["llama", "t5"])
def test_special_tokens_in_a_text_are_read_as_the_tokenizer_reads_them(lm, kind):
    """Ends of text and padding among the words, and at the end of a text, lose nothing and move nothing."""
    texts = [("The doctor [SEP] saw", "An actor [SEP]"), ("[PAD] the [PAD]", "[SEP]"), ("[CLS] old", "[MASK] [UNK]")]
    examples = [Example(str(number), segments) for number, segments in enumerate(texts)]
    model = opened(lm(kind))
    expected = [plain_probabilities(model, example) for example in examples]
    np.testing.assert_allclose(probabilities(model, examples), expected, atol=1e-5)
    explained = [row.probs for row in attribute(model, examples, "occlusion:hide=remove")]
    np.testing.assert_allclose(explained, expected, atol=1e-5)


def test_means_over_tokens(lm):
    """`length=mean` divides by the number of tokens."""
    model = opened(lm(), length="mean")
    expected = [plain_probabilities(model, example, np.mean) for example in EXAMPLES]
    np.testing.assert_allclose(probabilities(model), expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["llama", "t5"])
def test_calibration_divides_by_rows_without_content(lm, kind):
    """The mean probabilities of three rows without content are divided out, and the rest scaled to 1."""
    model = opened(lm(kind), calibration="content-free")
    empty = np.mean([plain_probabilities(model, Example("e", (text, text))) for text in CONTENT_FREE], axis=0)
    expected = np.array([plain_probabilities(model, example) for example in EXAMPLES]) / empty
    np.testing.assert_allclose(probabilities(model), expected / expected.sum(axis=1, keepdims=True), atol=1e-5)


@pytest.mark.parametrize("kind", [*DECODERS, "t5"])
@pytest.mark.parametrize("budget", [1, 4096])
def test_batches_change_nothing(lm, kind, budget):
    """Each row alone, and all rows at once, have the same probabilities."""
    model = opened(lm(kind))
    batched = replace(model, network=replace(model.network, token_budget=budget))
    np.testing.assert_allclose(probabilities(batched), probabilities(model), atol=1e-5)


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", DECODERS)
@pytest.mark.parametrize("short", [True, False])
def test_rows_are_lengthened_to_need_fewer_passes(lm, monkeypatch, kind, short):
    """A decoder runs rows of any length in one pass, with the same probabilities."""
    prompt = replace(PROMPT, instruction="") if short else PROMPT
    rows = [Example(str(n), ("The doctor saw " + "the old actor " * n, "An actor waited."), 1) for n in range(12)]
    expected = probabilities(opened(lm(kind), prompt), rows)
    model = opened(lm(kind), prompt)
    assert bool(model.encoder.prefix(2)) != short
    assert len({len(encoding.ids) for encoding in model.encodings(rows)}) == len(rows)
    model = replace(model, network=replace(model.network, token_budget=65_536, padding=4096))
    passes = []
    run = LanguageModel.run

    def counted(network, type_ids, **inputs):
        passes.append(len(next(iter(inputs.values()))))
        return run(network, type_ids, **inputs)

    monkeypatch.setattr(LanguageModel, "run", counted)
    np.testing.assert_allclose(probabilities(model, rows), expected, atol=1e-5)
    assert len([count for count in passes if count > 1]) == 1


@pytest.mark.more
@pytest.mark.parametrize("kind", DECODERS)
@pytest.mark.parametrize("method", ["ig:baseline=zero", "shap:baseline=remove"])
def test_attributions_of_rows_of_many_lengths_are_as_alone(lm, kind, method):
    """One pass for rows of several lengths, before answers of several tokens, changes no score."""
    model = opened(lm(kind))
    padded = replace(model, network=replace(model.network, token_budget=65_536, padding=4096))
    rows = zip(attribute(padded, EXAMPLES, method), attribute(model, EXAMPLES, method), strict=True)
    for row, alone in rows:
        np.testing.assert_allclose(row.scores, alone.scores, atol=1e-5)
        np.testing.assert_allclose(row.probs, alone.probs, atol=1e-5)


@pytest.mark.parametrize(("kind", "head", "padding"), [("llama", CAUSAL, PADDING), ("t5", SEQ2SEQ, 0)])
def test_rows_are_lengthened_on_gpus_alone(lm, kind, head, padding):
    """Rows of encoders never are: their tokens see those after them."""
    network = opened(lm(kind)).network
    assert network.padding == _padding(head, network.device) == 0
    assert _padding(head, torch.device("cuda")) == padding


@pytest.mark.parametrize("kind", ["gemma", "bert"])
def test_a_network_that_reads_both_ways_is_no_language_model(tmp_path, kind):
    """A decoder whose tokens see those after them is refused: answers would depend on the lengths of other rows."""
    if kind == "gemma":
        folder = make_lm(tmp_path / "lm", "gemma", use_bidirectional_attention=True)
    else:
        folder = make_lm(tmp_path / "lm", "llama")
        config = BertConfig(vocab_size=len(AutoTokenizer.from_pretrained(folder)), hidden_size=16, num_hidden_layers=2,
                            num_attention_heads=2, intermediate_size=16)  # fmt: skip
        BertLMHeadModel(config).save_pretrained(folder)
    with refuses(ModelError, place=folder):
        opened(folder)


def test_the_prefix_is_computed_once(lm, monkeypatch):
    """One pass over the instruction serves all rows, which only add their own tokens; the next prompt replaces it."""
    model = opened(lm())
    sizes = []
    run = type(model.network).run

    def counted(network, type_ids, **inputs):
        sizes.append(tuple(next(iter(inputs.values())).shape))
        return run(network, type_ids, **inputs)

    monkeypatch.setattr(type(model.network), "run", counted)
    probabilities(model)
    prefix = len(model.encoder.prefix(2))
    assert sizes.count((1, prefix)) == 1
    tokens = {len(e.ids) - prefix + max(map(len, e.continuations)) - 1 for e in model.encodings(EXAMPLES)}
    assert max(columns for _, columns in sizes[1:]) <= max(tokens)
    assert len(model.network.prefixes) == 1


def test_words_are_read_from_as_few_rows_as_possible(lm, monkeypatch):
    """A word of one token is read from the row of any other; equal rows are computed once."""
    words = {"entailment": ("a",), "neutral": ("b",), "contradiction": ("c",)}
    model, run, rows = opened(lm(), replace(PROMPT, verbalizers=words)), LabelScorer._run, []
    monkeypatch.setattr(LabelScorer, "_run", lambda self, batch: rows.extend(batch) or run(self, batch))
    probabilities(model, [*EXAMPLES, EXAMPLES[0]])
    assert len(rows) == len(EXAMPLES)


def test_a_tokenizer_that_merges_is_cut_where_all_answers_begin(lm):
    """Answers are scored from where they all begin, if the prompt's last token becomes part of one's first."""
    words = {"entailment": ("tor",), "neutral": ("s",), "contradiction": ("x",)}
    prompt = replace(PROMPT, template="{premise} {hypothesis} the doc", verbalizers=words)
    model = opened(lm(), prompt)
    (encoding,) = model.encodings(EXAMPLES[:1])
    tokenizer = model.network.tokenizer
    context = model.encoder.frame_of(2).text(EXAMPLES[0].segments)[0]
    wholes = [tokenizer(context + word).input_ids for word in model.encoder.words]
    assert wholes[0][: len(tokenizer(context).input_ids)] != tokenizer(context).input_ids, "nothing merges here"
    assert [[*encoding.ids, *answer] for answer in encoding.continuations] == wholes
    logs = [
        sum(
            model.network.model(torch.tensor([ids])).logits[0].log_softmax(-1)[place - 1, ids[place]].item()
            for place in range(len(encoding.ids), len(ids))
        )
        for ids in wholes
    ]
    yes, neutral, against = np.exp(logs)
    expected = (neutral + against) / (yes + neutral + against)
    assert probabilities(model, EXAMPLES[:1])[0, 0] == pytest.approx(expected, abs=1e-5)


def test_tokens_of_the_row_are_told_from_those_of_the_prompt(lm):
    """Words of the row have tokens with their characters; every other token is fixed."""
    model = opened(lm(), replace(PROMPT, template="{hypothesis} because {premise} "))
    for example, encoding in zip(EXAMPLES, model.encodings(EXAMPLES), strict=True):
        assert (encoding.fixed == (encoding.segment == -1)).all()
        assert encoding.words == len(example.words)
        for number in range(2):
            inside = encoding.segment == number
            pieces = [example.segments[number][a:b] for a, b in encoding.offsets[inside]]
            assert "".join(pieces).replace(" ", "") == example.segments[number].replace(" ", "")
        first = [int(np.flatnonzero(encoding.segment == number)[0]) for number in range(2)]
        assert first[1] < first[0], "the hypothesis comes first in this prompt"


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["llama", "gemma", "t5"])
@pytest.mark.parametrize("line", ["occlusion:hide=remove", "shap:baseline=remove", "lime:hide=remove,samples=50"])
def test_words_are_hidden_inside_the_prompt(lm, kind, line):
    """Attributions are of words of the row; the model's own answer without a word is what occlusion compares with."""
    model = opened(lm(kind))
    rows = list(attribute(model, EXAMPLES, line))
    np.testing.assert_allclose([row.probs for row in rows], probabilities(model), atol=1e-5)
    for row, encoding in zip(rows, model.encodings(EXAMPLES), strict=True):
        assert row.tokens == tuple(np.array(encoding.tokens)[~encoding.fixed])
        assert np.abs(row.scores).sum() > 0
    if line.startswith("occlusion"):
        encoding = next(iter(model.encodings(EXAMPLES)))
        visible = encoding.word != 1
        network = model.network
        margin = {}
        for name, ids in (("all", encoding.ids), ("less", encoding.ids[visible])):
            words = []
            for answer in encoding.continuations:
                if network.encodes:
                    decoded = torch.tensor([[network.bos, *answer]])
                    outputs = network.model(torch.tensor([ids.tolist()]), decoder_input_ids=decoded)
                    logs = outputs.logits[0].log_softmax(-1)
                    words.append(sum(logs[i, token].item() for i, token in enumerate(answer)))
                else:
                    logs = network.model(torch.tensor([[*ids, *answer]])).logits[0].log_softmax(-1)
                    words.append(sum(logs[len(ids) - 1 + i, token].item() for i, token in enumerate(answer)))
            yes, no = np.logaddexp(*words[:2]), np.logaddexp(*words[2:])
            margin[name] = yes - no
        assert rows[0].word_scores[1] == pytest.approx(margin["all"] - margin["less"], abs=1e-4)


@pytest.mark.parametrize(("line", "offered"), [("shap", "shap:baseline=remove"), ("ig", "ig:baseline=zero")])
def test_words_are_never_hidden_behind_padding(lm, line, offered):
    """The error names the way that this model has."""
    with pytest.raises(ModelError) as stop:
        attribute(opened(lm()), EXAMPLES, line)
    assert stop.value.allowed == (offered,)


@pytest.mark.more
@pytest.mark.parametrize("kind", [*DECODERS, "t5"])
def test_integrated_gradients_keep_the_prompt_in_place(lm, kind):
    """Scores add up to the margin less that of the row at zero; tokens of the prompt are no part of them."""
    model = opened(lm(kind))
    rows = list(attribute(model, EXAMPLES[:2], "ig:baseline=zero,max_steps=2000"))
    np.testing.assert_allclose([row.probs for row in rows], probabilities(model, EXAMPLES[:2]), atol=1e-4)
    for row, encoding in zip(rows, model.encodings(EXAMPLES), strict=False):
        assert len(row.scores) == (~encoding.fixed).sum()
        x = model.embed([encoding])
        start = torch.where(torch.tensor(encoding.fixed)[None, :, None], x, torch.zeros_like(x))
        margins = [
            (z[0, 1] - z[0, 0]).item() for z in (model.from_embeddings(point, [encoding]) for point in (x, start))
        ]
        assert row.scores.sum() == pytest.approx(margins[0] - margins[1], abs=0.05 * np.abs(row.scores).sum() + 1e-3)


def test_a_chat_is_put_by_the_models_own_template(lm):
    """The instruction is the system's message, and the answer begins right after the template's end."""
    model = opened(lm(), replace(PROMPT, chat=True))
    text, _ = model.encoder.frame_of(2).text(("A", "B"))
    assert text == f"<system>{LONG}\n<user>A because B\n<assistant>"
    (encoding,) = model.encodings(EXAMPLES[:1])
    decoded = model.network.tokenizer.decode(encoding.continuations[0])
    assert decoded.strip() == WORDS["entailment"][0]


def test_rows_that_are_too_long_are_refused_or_cut(lm, caplog):
    """The error names the row and the way out; a cut row keeps its prompt, and loses the end of its longest text."""
    model = opened(lm())
    long = Example("long", ("doctor " * 300, "An actor."))
    with refuses(ModelError, option="too_long"):
        list(model.predict([long]))
    model = opened(lm(), options=LMOptions(too_long="cut"))
    (encoding,) = model.encodings([long])
    assert encoding.truncated
    assert len(encoding.ids) + max(map(len, encoding.continuations)) <= model.network.max_length
    assert "1 of 1 examples" in caplog.text
    text = model.network.tokenizer.decode(encoding.ids)
    assert text.startswith(LONG)
    assert text.endswith("because An actor.")
    with refuses(ModelError, option="prompts"):
        list(opened(lm(), replace(PROMPT, instruction=LONG * 9), options=LMOptions(too_long="cut")).predict([long]))


@pytest.mark.parametrize(
    ("changes", "error", "value"),
    [
        ({"verbalizers": {"entailment": ("old",), "neutral": ("old judge",)}}, LabelError, "old"),
        ({"verbalizers": {"entailment": ("yes",)}}, LabelError, "non-entailment"),
        ({"verbalizers": {"entailment": ("yes",), "maybe": ("no",), "neutral": ("never",)}}, LabelError, "maybe"),
        ({"segments": ("text",), "template": "{text} is "}, ModelError, 2),
    ],
)
def test_prompts_that_do_not_fit(lm, changes, error, value):
    """A word that begins another's, labels without words, words without a label, and another number of texts."""
    with refuses(error, value=value):
        list(opened(lm(), replace(PROMPT, **changes)).predict(EXAMPLES))


def test_no_chat_template(tmp_path):
    """A chat needs one."""
    with refuses(ModelError, option="prompts"):
        list(opened(make_lm(tmp_path / "plain", chat=None), replace(PROMPT, chat=True)).predict(EXAMPLES))


@pytest.mark.parametrize(("device", "heads", "eager"), [("cuda", 1, True), ("cuda", 2, False), ("cpu", 1, False)])
def test_shared_keys_are_read_by_eager_attention_on_cuda(lm, device, heads, eager):
    """Torch's fused kernel is wrong there; everywhere else it is used."""
    config = opened(lm()).network.model.config
    config.num_key_value_heads = heads
    assert _needs_eager_attention(config, torch.device(device)) == eager


def test_a_calibrated_model_shares_the_scores_of_the_other(lm, monkeypatch):
    """With calibration, only the rows without content are new; another prompt shares nothing."""
    cache, rows = ResourceCache(), []
    run = LabelScorer._run
    monkeypatch.setattr(LabelScorer, "_run", lambda self, batch: rows.extend(batch) or run(self, batch))
    plain = PromptedModel("m", str(lm()), "m", prompt=PROMPT)
    counts = []
    for source in (plain, replace(plain, calibration="content-free"), replace(plain, length="mean")):
        before, done = len(rows), []
        list(source.open(TASK, Machine(), cache).predict(EXAMPLES, done.append))
        counts.append(len({row.ids.tobytes() for row in rows[before:]}))
        assert sum(done) == len(EXAMPLES)
    assert counts == [len(EXAMPLES), len(CONTENT_FREE), len(EXAMPLES)]


def test_prompts_of_one_model_share_its_weights(lm, tmp_path):
    """One copy of the network serves all prompts in a worker, and each is a model with a name of its own."""
    file = tmp_path / "because.toml"
    file.write_text('template = "{text} so "\n[verbalizers]\nentailment = "actor"\nneutral = "judge"\n')
    rows = tmp_path / "rows.jsonl"
    labels = ("entailment", "neutral", "contradiction") * 3
    lines = [
        {"premise": f"The doctor {n}.", "hypothesis": "An actor.", "label": label} for n, label in enumerate(labels)
    ]
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines))
    chosen = LMOptions(prompts=(str(file), "nli/entailment"), shots=(0, 2), demonstrations=str(rows))
    cache = ResourceCache()
    models = sources(Reference(str(lm())), SourceOptions(kinds=[chosen]), cache)
    assert [model.name for model in models] == [
        "llama/because", "llama/because/2-shot", "llama/entailment", "llama/entailment/2-shot",
    ]  # fmt: skip
    assert len({model.shares for model in models}) == 1
    assert len({model.place for model in models}) == 4
    loaded = [model.open(TASK, Machine(), cache).network for model in models]
    assert len({id(network.model) for network in loaded}) == 1
    keys = {json.dumps(dict(model.identity(TASK, Machine(), cache)), sort_keys=True) for model in models}
    assert len(keys) == 4
