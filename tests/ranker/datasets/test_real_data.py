"""The loaders and rules on every row of the real files, which are not part of the project: see ``docs/data.md``."""

import gzip
import json
import os
import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ranker.datasets import readers, sets
from ranker.datasets.marks import RULES, control
from ranker.files import reader
from ranker.tasks.classes import ClassificationTask

DATA = os.environ.get("RANK_MODELS_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="RANK_MODELS_DATA does not name the folder of the real files")

ROWS = {
    "hans-con": 10_000, "hans-lex": 10_000, "hans-sub": 10_000, "msgs-adject": 9_302, "msgs-morph": 10_000,
    "msgs-verb": 10_000, "paws": 677,
}  # fmt: skip
MSGS = ["msgs-adject", "msgs-morph", "msgs-verb"]

EXPECTED = {
    # what decides the relation, by HANS' own subcase
    "cn_embedded_under_if": "if, unless, whether or not, in case",
    "cn_after_if_clause": "if, unless",
    "cn_embedded_under_verb": "believed that, claimed that, hoped that, thought that, said that, assumed that",
    "cn_disjunction": "or",
    "cn_adverb": "hopefully, maybe, probably, supposedly",
    "ce_embedded_under_since": "after, although, because, before, since, though, while",
    "ce_after_since_clause": "after, although, because, before, since, though, while, whether or not, in case",
    "ce_embedded_under_verb": "forgot that, knew that, learned that, realized that, remembered that",
    "ce_conjunction": "and",
    "ce_adverb": "certainly, clearly, definitely, obviously, suddenly, without a doubt, of course",
}


@cache
def load(name):
    """A set with its real rows, read once."""
    return sets.load(name, Path(DATA))


@cache
def table(path):
    """The rows of a file as they stand, read once."""
    return [row.cells for row in reader.read_columns(path).rows()]


def lines(path):
    """The rows of one of the JSON files."""
    with gzip.open(Path(DATA, path), "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


@pytest.mark.parametrize("name", ROWS)
def test_no_row_is_lost_and_no_text_changed(name):
    """As many examples as rows, ids once each, texts as they stand in the file, both labels there."""
    loaded = load(name)
    assert len(loaded.examples) == ROWS[name]
    assert len({example.id for example in loaded.examples}) == ROWS[name]
    assert {example.target for example in loaded.examples} == {0, 1}
    card = sets.cards()[name]
    layout, chosen = card.layouts[0], card.layouts[0].where
    rows = [row for row in table(Path(loaded.origin)) if all(str(row[column]) == v for column, v in chosen.items())]
    texts = [tuple(row[column] for column in layout.text) for row in rows]
    assert [example.segments for example in loaded.examples] == texts


@pytest.mark.parametrize("name", ROWS)
def test_no_mark_lies_outside_its_segment(name):
    """A mark covers whole words: no white space at its ends, and no letter beside them."""
    for example in load(name).examples:
        for span in (span for spans in example.marks.values() for span in spans):
            text = example.segments[span.segment]
            assert span.end <= len(text)
            assert example.text(span) == example.text(span).strip() != ""
            around = text[span.start - 1 : span.start] + text[span.end : span.end + 1]
            assert not any(character.isalnum() for character in around)


def test_every_premise_of_hans_con_has_its_control_word():
    """One span a row, and the words that the subcase is named for."""
    subcases = {row["pairID"]: row["subcase"] for row in table(Path(load("hans-con").origin))}
    counts = Counter()
    for example in load("hans-con").examples:
        (span,) = example.marks["control"]
        counts[subcases[example.id], example.text(span).lower()] += 1
    assert counts.total() == ROWS["hans-con"]
    unexpected = {key: count for key, count in counts.items() if key[1] not in EXPECTED[key[0]].split(", ")}
    assert not unexpected


def test_parse_and_text_give_the_same_control_words():
    """On every row of HANS-CON: data without parses is marked as the official table is."""
    for example in load("hans-con").examples:
        assert control(example.segments, {}) == example.marks["control"]


def test_control_words_of_the_training_set_are_found_without_a_parse():
    """Other sentences of the same kinds, in a file that has none."""
    rows = [row for row in lines("hans/heuristics_train_set.jsonl.gz") if row["heuristic"] == "constituent"]
    spans_of_rows = [control((row["sentence1"], row["sentence2"]), row) for row in rows]
    assert len(rows) > 9_000
    assert sum(len(spans) == 1 for spans in spans_of_rows) == len(rows)


def test_swapped_words_are_marked_wherever_a_word_moved():
    """Of 677 rows 632 have a mark, among them all in which words that occur once stand in another order."""
    marked = 0
    for example in load("paws").examples:
        words = [re.findall(r"\w+", text.lower()) for text in example.segments]
        once = {word for word in words[0] if words[0].count(word) == words[1].count(word) == 1}
        orders = [[word for word in text if word in once] for text in words]
        spans = example.marks.get("swapped", ())
        assert {span.segment for span in spans} in (set(), {0, 1})
        assert spans or orders[0] == orders[1]
        marked += bool(spans)
    assert marked == 632


@pytest.mark.parametrize("name", MSGS)
def test_rows_with_the_feature_have_one_mark_and_others_none(name):
    """At least 97 of 100 rows of either label."""
    for label in (0, 1):
        counts = [len(row.marks.get("feature", ())) for row in load(name).examples if row.target == label]
        assert sum(count == label for count in counts) >= 0.97 * len(counts)


@pytest.mark.parametrize("name", MSGS)
@pytest.mark.parametrize("part", ["train_ambiguous", "train_inoculating"])
def test_the_feature_is_found_in_rows_of_other_parts(name, part):
    """The rules know the feature, not the test rows: 97 of 100 labels of either kind are told from the mark."""
    card = sets.cards()[name]
    rule = RULES[card.marks["feature"]]
    rows = lines(f"{card.folders[0]}/{part}.jsonl.gz")
    for label in (0, 1):
        counts = [len(rule((row["sentence"],), row)) for row in rows if row["label"] == label]
        assert sum(count == label for count in counts) >= 0.97 * len(counts)


@pytest.mark.parametrize(
    ("path", "rows", "text", "label"),
    [
        ("hans/heuristics_train_set.jsonl.gz", 29_060, ("sentence1", "sentence2"), "gold_label"),
        ("mnli/dev_matched.jsonl.gz", 9_815, ("premise", "hypothesis"), "gold_label"),
        ("paws-qqp/train.jsonl.gz", 11_988, ("sentence1", "sentence2"), "label"),
        ("qqp/dev.jsonl.gz", 10_000, ("sentence1", "sentence2"), "label"),
        ("snli/dev.jsonl.gz", 9_842, ("premise", "hypothesis"), "gold_label"),
        ("snli/test.jsonl.gz", 9_824, ("premise", "hypothesis"), "gold_label"),
    ],
)
def test_training_files_are_read_as_a_users_own_data(path, rows, text, label):
    """Columns are found by their usual names, labels by name, alias or number."""
    name = "paraphrase" if "qqp" in path else "nli"
    task: ClassificationTask = sets.tasks()[name]
    sheet = readers.read_sheet(Path(DATA, path))
    examples = list(readers.examples(sheet.rows, task, sheet.layout))
    assert len(examples) == rows
    first = lines(path)[0]
    assert examples[0].segments == tuple(first[column] for column in text)
    assert task.labels[examples[0].target] in (first[label], *task.aliases) or isinstance(first[label], int)


CATALOGUE = {
    # set -> rows, and how many of them have each label; for tags, spans and texts the rows alone
    "boss/sa/sst2": {"negative": 912, "positive": 909},
    "boss/td/hate_speech": {"benign": 9_464, "toxic": 1_196},
    "boss/td/hsol": {"benign": 4_159, "toxic": 4_159},
    "boss/td/olid": {"benign": 8_840, "toxic": 4_400},
    "boss/nli/mnli": {"entailment": 3_479, "neutral": 3_123, "contradiction": 3_213},
    "boss/nli/snli": {"entailment": 3_368, "neutral": 3_219, "contradiction": 3_237},
    "boss/ner/conll": 3_453,
    "boss/ner/crossner_ai": 431,
    "boss/ner/crossner_literature": 416,
    "boss/ner/crossner_music": 465,
    "boss/ner/crossner_politics": 651,
    "boss/ner/crossner_science": 543,
    "boss/ner/wnut": 1_287,
    "domainsum/genre/cnndm": 500,
    "domainsum/genre/dialogsum": 500,
    "domainsum/style/cnn": 500,
    "glue-x/mnli/mnli": {"entailment": 3_479, "neutral": 3_123, "contradiction": 3_213},
    "glue-x/mnli/snli": {"entailment": 3_368, "neutral": 3_219, "contradiction": 3_237},
    "glue-x/mrpc/qqp": {"non-paraphrase": 5_000, "paraphrase": 5_000},
    "glue-x/qqp/qqp": {"non-paraphrase": 5_000, "paraphrase": 5_000},
    "glue-x/rte/hans": {"entailment": 15_000, "not_entailment": 15_000},
    "glue-x/sst2/sst2": {"negative": 428, "positive": 444},
    "squadshifts/amazon": 9_885,
    "squadshifts/new_wiki": 7_938,
    "squadshifts/reddit": 9_803,
}
FEW_NERD = {"art", "event", "location", "miscellaneous", "organization", "person", "product"}


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_set_of_a_catalogue_is_read_from_its_real_file(name):
    """As many rows as a count of the file's own lines gives, by label; entities have Few-NERD's types."""
    loaded = load(name)
    rows = CATALOGUE[name]
    if isinstance(rows, dict):
        assert Counter(loaded.task.show(example.target) for example in loaded.examples) == rows
    else:
        assert len(loaded.examples) == rows
    if name.startswith("boss/ner"):
        types = {tag[2:] for example in loaded.examples for tag in example.target if tag != "O"}
        assert types <= FEW_NERD
        assert {"location", "person", "organization"} <= types


def test_the_counts_of_catalogues_are_those_of_the_files():
    """Oracle of the counts above: lines of the files, read without the loaders."""
    labels = Counter(row["label"] for row in lines("stormfront/all.jsonl.gz"))
    assert labels["noHate"] + labels["hate"] == 10_703  # as BOSS counts; 43 of them are user names and addresses alone
    offensive = Counter(row["subtask_a"] for row in table(Path(DATA, "olid/train.tsv.gz")))
    assert offensive == {"NOT": 8_840, "OFF": 4_400}
    classes = Counter(row["class"] for row in table(Path(DATA, "hsol/labeled_data.csv.gz")))
    assert classes == {"0": 1_430, "1": 19_190, "2": 4_163}
    for folder in ("ai", "literature", "music", "politics", "science"):
        with gzip.open(Path(DATA, f"crossner/{folder}/test.txt.gz"), "rt", encoding="utf-8") as stream:
            sentences = [block for block in stream.read().split("\n\n") if block.strip()]
        assert len(sentences) == CATALOGUE[f"boss/ner/crossner_{folder}"]
    for name, file in (("amazon", "amazon_reviews"), ("new_wiki", "new_wiki"), ("reddit", "reddit")):
        with gzip.open(Path(DATA, f"squadshifts/{file}.json.gz"), "rt", encoding="utf-8") as stream:
            articles = json.load(stream)["data"]
        questions = sum(len(paragraph["qas"]) for article in articles for paragraph in article["paragraphs"])
        assert questions == CATALOGUE[f"squadshifts/{name}"]


@pytest.mark.parametrize(("name", "published", "unit"), [("genre/cnndm", 83.81, 100), ("style/cnn", 10.77, 1)])
def test_the_published_density_of_domainsum_is_that_of_fragments_in_order(name, published, unit):
    """As its authors' program cuts them; within two standard errors of 500 rows, once the unit is the paper's."""
    tokenize = pytest.importorskip("nltk.tokenize").NLTKWordTokenizer().tokenize
    densities = []
    for example in load(f"domainsum/{name}").examples:
        texts = (example.segments[0], example.target[0])
        document, summary = ([token for part in re.split(r"(?<=[.!?])\s+", text.lower()) for token in tokenize(part)]
                             for text in texts)  # fmt: skip
        start, squares, row = 0, 0, 0
        while start < len(document) and row < len(summary):
            pairs = zip(document[start:], summary[row:], strict=False)
            length = next((n for n, (first, second) in enumerate(pairs) if first != second), None)
            length = min(len(document) - start, len(summary) - row) if length is None else length
            squares, start, row = squares + length**2, start + (length or 1), row + length
        densities.append(squares / len(summary))
    assert abs(np.mean(densities) - published / unit) < 2 * np.std(densities) / len(densities) ** 0.5
