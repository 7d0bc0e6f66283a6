"""Token classifiers and question answering heads: tiny models of our own making, held to transformers' own loops."""

import json
import shutil
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import seqeval.metrics
import torch
from conftest import LIMIT, TASK, make_checkpoint
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import refuses

from factors import BUILTIN
from factors.types import Example
from ranker.errors import LabelError, ModelError
from ranker.runs.decide import decide
from ranker.runs.rows import RowsFile
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence
from ranker.sources.base import Machine, ResourceCache
from ranker.sources.hf.extractors import LONGEST_ANSWER, SpanExtractor, best_span
from ranker.sources.hf.kind import Checkpoint
from ranker.sources.hf.taggers import Tagger
from ranker.tasks.tags import TagTask
from ranker.tasks.texts import SpanTask, TextTask

SPREAD = 1.0
"""Standard deviation of weights, large enough that the answer at a token depends on the other tokens."""
TAG_NAMES = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
SENTENCES = [
    "The doctor saw the actor near an old judge",
    "waiting",
    "dancing \u200b believed  the judges , because",
    "",
    "an old doctor waited near the actor because the judge believed",
]
LONG = [" ".join(f"{word}{'ing' * (place % turn)}" for place, word in enumerate(" ".join(SENTENCES[::4]).split() * 3))
        for turn in range(2, 6)]  # fmt: skip
PASSAGE = "The old judge danced; an actor saw 12."
QUESTIONS = [*product(["Who danced?", "Why?", "saw", "the judge"], [PASSAGE, "the actor", "", *SENTENCES[::4]])]
LONG_QUESTIONS = [("Who waited?", f"{PASSAGE} {LONG[0]}"), ("Near what?", f"actor {LONG[1]}, because {PASSAGE}")]


def make_tagger(folder, name="bert", labels=TAG_NAMES, seed=0):
    """A checkpoint with a token classification head."""
    return make_checkpoint(folder, name, labels, "TokenClassification", seed, initializer_range=SPREAD)


def make_extractor(folder, name="bert", seed=0):
    """A checkpoint with a question answering head."""
    return make_checkpoint(folder, name, None, "QuestionAnswering", seed, initializer_range=SPREAD)


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    """A tiny BERT with tags."""
    return make_tagger(tmp_path_factory.mktemp("tagger"))


@pytest.fixture(scope="module")
def extractor(tmp_path_factory):
    """A tiny BERT that answers questions."""
    return make_extractor(tmp_path_factory.mktemp("extractor"))


def from_transformers(folder, head):
    """The network and the tokenizer of a folder, by transformers alone."""
    import transformers

    model = getattr(transformers, f"AutoModelFor{head}").from_pretrained(folder).eval()
    return model, transformers.AutoTokenizer.from_pretrained(folder)


def texts(*segments):
    """Examples of these segments, without truth."""
    return [Example(str(number), segment) for number, segment in enumerate(segments)]


def answers(model, examples):
    """All answers of a loaded model, in order."""
    return [answer for block in model.predict(examples) for answer in block.values]


def tags_alone(folder, text):
    """The tags of one short text, as transformers' example reads them: of each word's first token."""
    model, tokenizer = from_transformers(folder, "TokenClassification")
    words = text.split(" ")
    encoded = tokenizer([words], is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        outputs = model(**encoded).logits[0].argmax(dim=-1).tolist()
    tags = ["O"] * len(words)
    for word, output in reversed(list(zip(encoded.word_ids(0), outputs, strict=True))):
        if word is not None:
            tags[word] = TAG_NAMES[output]
    return tuple(tags)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["bert", "roberta", "deberta-v3", "xlnet"])
def test_tags_are_those_of_transformers_row_by_row(tmp_path, name):
    """Whatever the tokenizer, and however rows are batched; words without tokens are outside."""
    folder = make_tagger(tmp_path, name)
    expected = [tags_alone(folder, text) for text in SENTENCES]
    assert len({tag for tags in expected for tag in tags}) > 2
    for budget in (1, 24, 10_000):
        loaded = Tagger.load(folder, token_budget=budget)
        assert answers(loaded, texts(*((text,) for text in SENTENCES))) == expected


def test_a_word_without_tokens_is_outside(tagger):
    """A tokenizer drops characters of no width; the other words keep their tags."""
    (tags,) = answers(Tagger.load(tagger), texts(("judge \u200b judge",)))
    assert tags == (tags[0], "O", tags[2])
    assert tags_alone(tagger, "judge judge") == (tags[0], tags[2])


def test_long_rows_are_tagged_where_words_have_most_context(tagger):
    """Each window is run by itself, and the tag of a word is looked up by the definition."""
    model, tokenizer = from_transformers(tagger, "TokenClassification")
    room, overlap = LIMIT - 2, (LIMIT - 2) // 2
    expected, differing = [], 0
    for text in LONG:
        ids, first = [], []
        for word in text.split(" "):
            first.append(len(ids))
            ids += tokenizer(word, add_special_tokens=False)["input_ids"]
        starts = range(0, len(ids) - overlap, room - overlap)
        windows = []
        for start in starts:
            row = [tokenizer.cls_token_id, *ids[start : start + room], tokenizer.sep_token_id]
            with torch.no_grad():
                windows.append(model(torch.tensor([row])).logits[0, 1:-1].argmax(dim=-1).tolist())
        tags = []
        for token in first:
            contexts = [
                (min(token - start, start + len(outputs) - 1 - token), -number, outputs[token - start])
                for number, (start, outputs) in enumerate(zip(starts, windows, strict=True))
                if 0 <= token - start < len(outputs)
            ]
            tags.append(TAG_NAMES[max(contexts)[2]])
            differing += max(contexts)[2] != contexts[0][2]
        expected.append(tuple(tags))
    assert differing
    assert answers(Tagger.load(tagger), texts(*((text,) for text in LONG))) == expected


def best_answer(model, tokenizer, passage, windows, null_answers):
    """The answer by two loops over the spans of all windows, by transformers alone."""
    # a window: the network's inputs, the places of the passage's tokens there, and the number of the first of these
    offsets = tokenizer(passage, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    scores, nulls = {}, []
    for inputs, tokens, before in windows:
        with torch.no_grad():
            outputs = model(**inputs)
        start, end = outputs.start_logits[0].tolist(), outputs.end_logits[0].tolist()
        place = inputs["input_ids"][0].tolist().index(tokenizer.cls_token_id)
        nulls.append(start[place] + end[place])
        for i, j in product(range(len(tokens)), repeat=2):
            if i <= j < i + LONGEST_ANSWER:
                score = start[tokens[i]] + end[tokens[j]]
                scores[before + i, before + j] = max(scores.get((before + i, before + j), score), score)
    if not scores or (null_answers and min(nulls) > max(scores.values())):
        return ""
    first, last = max(scores, key=scores.get)
    return passage[offsets[first][0] : offsets[last][1]].strip()


@pytest.mark.more
@pytest.mark.parametrize("name", ["bert", "roberta", "deberta-v3", "xlnet"])
def test_answers_are_the_best_of_all_spans(tmp_path, name):
    """Whatever the tokenizer, its side of padding, and however rows are batched; null answers only where allowed."""
    folder = make_extractor(tmp_path, name)
    model, tokenizer = from_transformers(folder, "QuestionAnswering")
    segment = int(tokenizer.padding_side == "right")
    assert segment == (name != "xlnet")
    for null_answers, budget in ((False, 1), (True, 10_000), (True, 48)):
        expected = []
        for question, passage in QUESTIONS:
            pair = (question, passage) if segment else (passage, question)
            inputs = tokenizer(*([text] for text in pair), return_tensors="pt")
            tokens = [token for token, sequence in enumerate(inputs.sequence_ids(0)) if sequence == segment]
            expected.append(best_answer(model, tokenizer, passage, [(inputs, tokens, 0)], null_answers))
        loaded = SpanExtractor.load(folder, null_answers=null_answers, token_budget=budget)
        assert answers(loaded, texts(*QUESTIONS)) == expected
        assert null_answers or [not answer for answer in expected] == [not passage for _, passage in QUESTIONS]


@pytest.mark.more
@given(logits=arrays(np.float64, (2, 40), elements=st.floats(-9, 9, width=16), unique=True), allowed=arrays(bool, 40))
def test_the_best_span_is_that_of_all_pairs(logits, allowed):
    """Of tokens at which it may start and end, and none longer than the longest answer."""
    start, end = logits
    sums = [start[i] + end[j] for i, j in product(np.flatnonzero(allowed), repeat=2) if i <= j < i + LONGEST_ANSWER]
    score, first, last = best_span(start, end, allowed)
    assert score == max(sums, default=-np.inf)
    if sums:
        assert start[first] + end[last] == score
        assert allowed[[first, last]].all()
        assert first <= last < first + LONGEST_ANSWER


@pytest.mark.parametrize(("longer", "expected"), [(LONGEST_ANSWER - 1, 18.0), (LONGEST_ANSWER, 9.0)])
def test_an_answer_has_a_longest_length(longer, expected):
    """A start and an end that are further apart are no span."""
    start, end = np.zeros((2, 40))
    start[2] = end[2 + longer] = 9
    assert best_span(start, end, np.ones(40, dtype=bool))[0] == expected


def test_windows_lose_nothing_whatever_side_a_tokenizer_cuts(tagger, tmp_path, caplog):
    """Windows begin at the beginning of a row; a line says that `pipeline` would cut it."""
    folder = shutil.copytree(tagger, tmp_path / "left")
    stated = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    (folder / "tokenizer_config.json").write_text(json.dumps({**stated, "truncation_side": "left"}), encoding="utf-8")
    rows = texts(("judge",), *((text,) for text in LONG))
    with caplog.at_level("INFO"):
        left = answers(Tagger.load(folder), rows)
    assert left == answers(Tagger.load(tagger), rows)
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        f"{len(LONG)} of {len(rows)} examples are longer than its {LIMIT} tokens, and were read in windows "
        "(`pipeline` would cut them)"
    ]


@pytest.mark.parametrize("seed", range(3))
def test_long_passages_are_read_in_windows(tmp_path, seed):
    """The best span of any window; the score of no answer is its lowest of any window."""
    folder = make_extractor(tmp_path, seed=seed)
    model, tokenizer = from_transformers(folder, "QuestionAnswering")
    overlap = (LIMIT - LIMIT // 4 - 3) // 2
    rows = []
    for question, passage in LONG_QUESTIONS:
        question_ids, ids = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (question, passage))
        front, room = [tokenizer.cls_token_id, *question_ids, tokenizer.sep_token_id], LIMIT - 3 - len(question_ids)
        windows = []
        for before in range(0, len(ids) - overlap, room - overlap):
            part = [*ids[before : before + room], tokenizer.sep_token_id]
            inputs = {"input_ids": [*front, *part], "token_type_ids": [0] * len(front) + [1] * len(part)}
            tensors = {key: torch.tensor([values]) for key, values in inputs.items()}
            windows.append((tensors, range(len(front), len(front) + len(part) - 1), before))
        assert len(windows) > 3
        rows.append((passage, windows))
    for null_answers in (False, True):
        expected = [best_answer(model, tokenizer, *row, null_answers) for row in rows]
        assert answers(SpanExtractor.load(folder, null_answers=null_answers), texts(*LONG_QUESTIONS)) == expected


def test_a_null_answer_needs_the_option(tmp_path):
    """A model whose first token scores above all others says so only if it is allowed to."""
    folder = make_extractor(tmp_path)
    answers_by_option = {}
    for null_answers in (False, True):
        loaded = SpanExtractor.load(folder, null_answers=null_answers)
        network = loaded.model.forward

        def forward(network=network, **inputs):
            outputs = network(**inputs)
            outputs.start_logits[:, 0] += 100
            return outputs

        loaded.model.forward = forward
        answers_by_option[null_answers] = answers(loaded, texts(QUESTIONS[0]))
    assert answers_by_option[True] == [""]
    assert answers_by_option[False][0] in PASSAGE
    assert answers_by_option[False][0]


def test_a_long_question_is_cut_and_counted(extractor, caplog):
    """The question leaves room for the passage, and is read as if its end were not there."""
    cut, uncut = answers(SpanExtractor.load(extractor), texts(("actor " * 30, PASSAGE), ("actor " * 10, PASSAGE)))
    assert cut == uncut
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        f"1 of 2 questions are longer than a quarter of its {LIMIT} tokens, and were cut"
    ]


@pytest.mark.parametrize(
    ("labels", "label_map", "wrong"),
    [(None, None, "LABEL_0"), (("O", "PER"), None, "PER"), (("O", "PER"), {"PER": "S-PER"}, "S-PER"),
     (("O", "B-PER"), {"0": "B-PER"}, "0")],
)  # fmt: skip
def test_labels_that_are_no_tags_demand_a_map(tmp_path, labels, label_map, wrong):
    """The error names the option, and the label, or the key that contradicts the configuration."""
    folder = make_tagger(tmp_path, labels=labels)
    with refuses(LabelError, option="label_map", value=wrong, place=folder):
        Tagger.load(folder, label_map=label_map)


def test_outputs_of_one_tag_add_up(tagger):
    """A map makes two outputs one tag, whose probability is the sum of both, as for classifiers."""
    for label_map, expected in ((None, "O"), ({"B-PER": "B-ENT", "B-LOC": "B-ENT"}, "B-ENT")):
        loaded = Tagger.load(tagger, label_map=label_map)
        loaded.model.classifier.weight.zero_()
        loaded.model.classifier.bias.copy_(torch.tensor([0.36, 0.3, 0.02, 0.3, 0.02]).log())
        assert answers(loaded, texts(("judge saw",))) == [(expected, expected)]


def test_a_head_answers_to_its_own_task_alone(tagger, extractor, checkpoint):
    """A run leaves the model out; nothing is loaded."""
    for folder, tasks in (
        (tagger, [SpanTask("spans"), TASK]),
        (extractor, [TagTask("tags"), TextTask("text"), TASK]),
        (checkpoint("bert"), [TagTask("tags"), SpanTask("spans")]),
    ):
        for task in tasks:
            with refuses(LabelError, place="m"):
                Checkpoint("m", str(folder)).open(task, Machine(), ResourceCache())


def test_a_question_needs_its_passage(extractor):
    """Rows of one text are refused, not answered."""
    with refuses(ModelError, value=1, place=extractor):
        answers(SpanExtractor.load(extractor), texts(("Who saw?",)))


@pytest.mark.parametrize("head", ["tagger", "extractor"])
def test_numbers_that_are_not_finite_are_refused(head, request):
    """A tag or a span of them would be chance."""
    folder = request.getfixturevalue(head)
    loaded = {"tagger": Tagger, "extractor": SpanExtractor}[head].load(folder)
    next(iter(loaded.model.parameters())).fill_(float("nan"))
    with pytest.raises(ValueError, match="^the model gives numbers that are not finite$"):
        answers(loaded, texts(*QUESTIONS))


@pytest.fixture(scope="module")
def gold(tagger, tmp_path_factory):
    """A CoNLL file of five rows, whose tags are the tiny tagger's in two."""
    path = tmp_path_factory.mktemp("gold") / "gold.conll"
    rows = [f"The doctor saw{'ing' * place} an old judge" for place in range(5)]
    tags = [tags_alone(tagger, text) if place < 2 else ["B-PER", *"OOOOO"] for place, text in enumerate(rows)]
    pairs = [zip(text.split(" "), row, strict=True) for text, row in zip(rows, tags, strict=True)]
    path.write_text("\n\n".join("\n".join(map(" ".join, row)) for row in pairs))
    return path


@pytest.mark.more
def test_taggers_are_compared_on_a_conll_file(tagger, gold, tmp_path, monkeypatch):
    """The outcome is the span F1 of each model's own tags; a second run reads all from the store."""
    models = [str(tagger), str(make_tagger(tmp_path / "other", seed=1))]
    rows, runtime = RowsFile(gold, "tags"), Runtime(store=tmp_path / "store")
    examples = rows.labelled().examples
    true = [list(row.target) for row in examples]
    tags = [[list(tags_alone(folder, row.segments[0])) for row in examples] for folder in models]
    expected = [seqeval.metrics.f1_score(true, of_model) for of_model in tags]
    assert expected[0] > expected[1]
    attributed = Evidence("occlusion", factors=[BUILTIN["CONCENTRATION"]])
    for evidence, load in product((Evidence(), attributed), (Tagger.load, None)):
        monkeypatch.setattr(Tagger, "load", load)
        ranking = decide(models, rows, evidence=evidence, runtime=runtime)
        assert [model.outcome for model in ranking.decision.models] == pytest.approx(expected, abs=1e-12)
        assert len(ranking.table.methods) == 1 + (evidence is attributed)
    by_layout = decide(models, RowsFile(gold), runtime=runtime)  # tags are the only task of a CoNLL file
    assert [model.outcome for model in by_layout.decision.models] == pytest.approx(expected, abs=1e-12)


@pytest.mark.more
def test_extractors_are_compared_on_a_squad_file(extractor, tmp_path, monkeypatch, rank_models):
    """From the command line; null answers are stored beside the others, and neither is asked for twice."""
    folders = [extractor, make_extractor(tmp_path / "other", seed=1)]
    answer = {"text": "The old judge"}
    rows = [{"id": str(n), "question": f"Who saw {n}?", "answers": [answer][n % 2 :]} for n in range(4)]
    file = tmp_path / "dev.json"
    file.write_text(json.dumps({"data": [{"paragraphs": [{"context": PASSAGE, "qas": rows}]}]}))
    examples, task = RowsFile(file, "spans").labelled().examples, SpanTask("spans")
    load, loads = SpanExtractor.load, []

    def counted(*args, **options):
        loads.append(options["null_answers"])
        return load(*args, **options)

    monkeypatch.setattr(SpanExtractor, "load", counted)
    for flags in ([], ["--null-answers"], []):
        command = ["--data", str(file), "--task", "spans", "--models", *folders, "--format=json", *flags]
        status, out, _ = rank_models(*command)
        assert not status
        models = json.loads(out)["decision"]["models"]
        measured = {model["name"]: model["outcome"] for model in models}
        for folder in folders:
            predicted = task.predictions(answers(load(folder, null_answers=bool(flags)), examples))
            assert measured[folder.name] == pytest.approx(task.outcomes(predicted, examples).mean(), abs=1e-12)
    assert loads == [False, False, True, True]


@pytest.mark.more
def test_a_tagger_stands_beside_a_file_of_tags(tagger, gold, tmp_path, rank_models):
    """The task is said once, and no run of checkpoints alone has an option of tables."""
    answered = tmp_path / "perfect.conll"
    answered.write_text(gold.read_text())
    models = ["--models", str(tagger), str(answered)]
    status, out, _ = rank_models("--data", str(gold), "--task", "tags", *models, "--format=json")
    assert not status
    models = json.loads(out)["decision"]["models"]
    assert {model["name"]: model["outcome"] == 1 for model in models} == {"perfect": True, tagger.name: False}


def test_an_option_of_another_head_is_refused(tagger, gold, tmp_path, rank_models):
    """Null answers are said of question answering; nobody waits for a run that ignores them."""
    models = [str(tagger), str(make_tagger(tmp_path / "other"))]
    status, out, err = rank_models("run", "--data", str(gold), "--task", "tags", "--null-answers", "--models", *models)
    assert status == 2
    assert err.endswith("none of these models reads `--null-answers`; leave it out\n")


@pytest.mark.more
@pytest.mark.parametrize(
    ("head", "task_type", "loads"),
    [("TokenClassification", "TOKEN_CLS", Tagger), ("QuestionAnswering", "QUESTION_ANS", SpanExtractor)],
)
def test_adapters_have_the_head_of_their_task_type(tmp_path, head, task_type, loads):
    """An adapter answers as the network that it was saved from, to which PEFT gives segments or not."""
    peft = pytest.importorskip("peft", reason="needs the extra `peft`")
    base = make_checkpoint(tmp_path / "base", "bert", TAG_NAMES if loads is Tagger else None, head)
    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft reads what transformers will drop
        torch.manual_seed(1)
        config = peft.LoraConfig(task_type=task_type, r=2, target_modules=["query", "value"], init_lora_weights=False)
        network = peft.get_peft_model(from_transformers(base, head)[0], config).eval()
        network.save_pretrained(tmp_path / "adapter")
    task = TagTask("tags") if loads is Tagger else SpanTask("spans")
    opened = Checkpoint("adapter", str(tmp_path / "adapter")).open(task, Machine(), ResourceCache())
    expected = answers(replace(loads.load(base), model=network), texts(*QUESTIONS))
    assert answers(opened, texts(*QUESTIONS)) == expected != answers(loads.load(base), texts(*QUESTIONS))
