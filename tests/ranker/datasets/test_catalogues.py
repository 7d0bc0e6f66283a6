"""Cards of the catalogues: every field has a source, every layout is read from a made file, sizes are the papers'."""

import json
import tomllib
from collections import Counter

import pyarrow as pa
import pyarrow.parquet
import pytest
from named_rows import NamedRows
from refusals import refuses

from ranker.datasets import embedded, sets
from ranker.datasets.cards import Card
from ranker.errors import DataError, UnknownName
from ranker.tasks.classes import has_labels

CARDS = embedded.catalogue_cards()
PAPERS = {
    # BOSS Tables 1, 8, 11, 14, 17; GLUE-X Table 1; DomainSum Table 1
    "boss/sa": {"amazon": 38905, "dynasent": 4320, "semeval": 20622, "sst": 1067},
    "boss/td": {"civil_comments": 97320, "advcivil": 823, "implicit_hate": 21480, "toxigen": 940},
    "boss/nli": {"mnli": 9815, "anli": 3200, "contract_nli": 2091, "wanli": 5000},
    "boss/ner": {"few_nerd": 37649, "conll": 3454, "ener": 11692, "wnut": 1288},
    "boss/eqa": {"squad": 10570, "advqa": 3000, "newsqa": 4212, "searchqa": 16980},
    "glue-x/sst2": {"imdb": 50000, "yelp": 598000, "amazon": 4000000, "flipkart": 205041},
    "glue-x/cola": {"grammar_test": 304277},
    "glue-x/stsb": {"sick": 9840},
    "glue-x/mnli": {"mnli_mismatched": 9832, "snli": 570152, "sick": 9840},
    "glue-x/qnli": {"newsqa": 119525},
    "glue-x/rte": {"scitail": 26527, "hans": 60000},
    "glue-x/mrpc": {"qqp": 404276, "twitter": 16777},
    "glue-x/qqp": {"mrpc": 4076, "twitter": 16777},
    "domainsum/genre": {"cnndm": 11489, "pubmed": 5025, "reddit": 645, "samsum": 819, "wikihow": 6000},
    "domainsum/style": {"cnn": 4619, "fox": 8392, "nydaily": 5904, "nytimes": 16620, "wapo": 10072},
    "domainsum/topic": {"soccer": 1546, "crime": 973, "family": 1047, "media": 919, "law": 532},
}
FROM_PAPER = {f"{place}/{name}": size for place, names in PAPERS.items() for name, size in names.items()}

CELLS = {
    # rule of labels -> two cells of an official file, and the labels that they stand for
    "stars": ((1, "negative"), (5, "positive")),
    "fifths": ((0.1, "negative"), (0.5, "neutral")),
    "half": ((0.2, "benign"), (0.7, "toxic")),
    "from-one": ((1.0, "0"), (4.6, "4")),
    "from-five": ((0.0, "0"), (3.8, "3")),
    "hate-or-not": (("noHate", "benign"), ("hate", "toxic")),
    "any-hate": (("not_hate", "benign"), ("explicit_hate", "toxic")),
    "two-of-three": (("neutral", "negative"), ("positive", "positive")),
    "no-mixed": (("negative", "negative"), ("neutral", "neutral")),
    "three-numbers": ((0, "entailment"), (2, "contradiction")),
    "crossner": (("B-country O", "B-location O"), ("O B-writer", "O B-person")),
    "wnut": (("B-group I-group", "B-organization I-organization"), ("O O", "O O")),
    "coarse": (("art-film O", "B-art O"), ("other-law other-law", "B-miscellaneous I-miscellaneous")),
    "runs": (("I-PER I-PER", "B-person I-person"), ("O I-MISC", "O B-miscellaneous")),
    "conll-numbers": (([1, 2], "B-person I-person"), ([0, 7], "O B-miscellaneous")),
    "wnut-numbers": (([5, 6], "B-organization I-organization"), ([0, 3], "O B-art")),
}
QUESTIONS = [
    {"qid": key, "question": "Who ran?", "detected_answers": [{"text": "Ann"}], "answers": ["Ann"]} for key in "ab"
]
OF_RULES = {
    # rule of rows -> rows of an official file, and the targets that they stand for
    "mean-of-two": ([{"text": f"t{n}", "toxicity_ai": n, "toxicity_human": n} for n in (1, 5)], ["benign", "toxic"]),
    "mrqa": ([{"context": "Ann ran.", "qas": QUESTIONS}], [("Ann",), ("Ann",)]),
    "sentence-pairs": ([{"context": "It rained. Ann ran.", "qas": QUESTIONS[:1]}], ["not_entailment", "entailment"]),
    "in-passage": (
        [{"question": f"q{n}", "context": "Ann ran.", "answers": {"text": ["Ann", "Bo"]}} for n in (1, 2)],
        [("Ann",), ("Ann",)],
    ),
    "three-summaries": (
        [{"fname": str(n), "dialogue": f"d{n}", "summary1": "a", "summary2": "b", "summary3": "a"} for n in (1, 2)],
        [("a", "b"), ("a", "b")],
    ),
    "filled-gaps": ([{"text": "I ___.", "options": ["am", "is"], "answer": 0}], ["acceptable", "unacceptable"]),
}


def made(card, layout):
    """Rows in a layout of a card, as an official file has them, and their targets as text."""
    if layout.rows:
        return OF_RULES[layout.rows[-1]]
    if layout.map:
        pairs = CELLS[layout.map]
    elif layout.numbers:
        pairs = ((0, layout.numbers[0]), (1, layout.numbers[1]))
    elif has_labels(card.task):
        pairs = tuple((label, label) for label in card.task.labels[:2])
    elif card.task.answers == "tags":
        pairs = (("B-art O", "B-art O"), ("O O", "O O"))
    elif layout.label == "answers":
        pairs = (({"text": ["Ann"]}, "Ann"), ({"text": ["ran"]}, "ran"))
    else:
        pairs = (("A run.", "A run."), ("A walk.", "A walk."))
    text = ["Ann ran"] if card.task.answers == "tags" else "Ann ran"
    rows = [
        {**dict.fromkeys(layout.text, text[0] if isinstance(text, list) else text), layout.label: cell}
        | ({layout.id: str(number)} if layout.id else {})
        for number, (cell, _) in enumerate(pairs)
    ]
    return rows, [target for _, target in pairs]


def write(folder, card, layout, rows):
    """Write rows as the file of a layout: by tokens, by tabs without names of columns, or with all of them as JSON."""
    if layout.form == ".conll":
        blocks = ("\n".join(f"{token}\t{tag}" for token, tag in zip(("Ann", "ran"), row["tags"].split(), strict=True))
                  for row in rows)  # fmt: skip
        path, text = folder / card.files[-1], "\n\n".join(blocks) + "\n"
    elif layout.header:
        path = folder / next(name for name in card.files if name.endswith((".tsv", ".txt")))
        text = "".join("\t".join(str(row[column]) for column in layout.header) + "\n" for row in rows)
    elif card.files[0].endswith(".parquet"):
        path = folder / card.files[0]
        pa.parquet.write_table(pa.Table.from_pylist(rows), path)
        return path
    else:
        path, text = folder / "rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.few(3)
@pytest.mark.parametrize("name", CARDS)
def test_each_layout_is_read_from_a_made_file(name, tmp_path):
    """Targets are those of the paper's rules, whatever form the file has."""
    card = sets.find_card(name)
    for number, layout in enumerate(card.layouts):
        folder = tmp_path / str(number)
        folder.mkdir()
        rows, targets = made(card, layout)
        loaded = sets.load(name, write(folder, card, layout, rows))
        assert [
            row.target if isinstance(targets[0], tuple) else card.task.show(row.target) for row in loaded.examples
        ] == targets
        assert {len(row.segments) for row in loaded.examples} == {len(layout.text)}


@pytest.mark.parametrize("name", CARDS)
def test_each_field_names_its_source(name):
    """A field but the notes and the role stands in a paper or a file, or is unknown; `tested` has a default."""
    raw = tomllib.loads(CARDS[name].read_text(encoding="utf-8"))
    fields = {key for key, value in raw.items() if value != "unknown"} - {"sources", "notes", "role"}
    sourced = Counter(field for names in raw["sources"].values() for field in names)
    if raw["tested"] == Card.tested:
        fields -= {"tested"}
    assert set(sourced) == fields
    for field in ("source", "licence", "citation", "tested", "metrics", "role", "in_domain"):
        assert raw[field]
    assert "url" in raw or "by_hand" in raw


@pytest.mark.more
def test_the_catalogues_are_those_of_the_papers():
    """20 sets of BOSS, 16 pairs of task and set of GLUE-X and its 8 tasks, 15 domains, with the sizes as printed."""
    cards = {name: sets.find_card(name) for name in CARDS}
    beside = {name for name, card in cards.items() if card.role in ("candidate", "stand-in")}
    in_domain = {f"glue-x/{task}/{task}" for task in ("sst2", "cola", "stsb", "mnli", "qnli", "rte", "mrpc", "qqp")}
    shifts = {f"squadshifts/{name}" for name in ("new_wiki", "nyt", "amazon", "reddit")}
    assert set(CARDS) - beside == {*FROM_PAPER, *in_domain, *shifts}
    assert {name: cards[name].size for name in FROM_PAPER} == FROM_PAPER
    of_boss = Counter(card.role for name, card in cards.items() if name.startswith("boss/") and name not in beside)
    assert of_boss == {"in-domain": 5, "ood": 15}
    assert {name.split("/")[0] for name in CARDS} == set(embedded.CATALOGUES)


def test_a_file_that_a_rule_or_layout_does_not_know_is_refused(tmp_path):
    """One line names the file, or its row, and what is needed there."""
    (tmp_path / "test.tsv").write_text("tweet\tclass\nA.\t1\n", encoding="utf-8")
    with refuses(DataError, option="Text", place=tmp_path / "test.tsv") as stop:
        sets.load("boss/sa/sst", tmp_path / "test.tsv")
    assert str(stop.value).endswith("needs the columns Text, Label; or sentence, label (columns: tweet, class)")
    (tmp_path / "amazon.json").write_text('{"reviewText": "A.", "overall": 5}\n{"reviewText": "B.", "overall": 9}\n')
    with refuses(DataError, place=f"{tmp_path / 'amazon.json'}, row 2"):
        sets.load("boss/sa/amazon", tmp_path)


def test_rows_that_a_rule_leaves_out_are_counted(tmp_path):
    """Nothing is lost in silence: a note for each rule, and one where the paper counts other rows."""
    rows = [("@Ann http://t.co/x", 0), ("@Bo You #fool", 0), ("Fine", 2), ("Good", 2), ("Well", 2)]
    lines = ["tweet,class", *(f"{text},{label}" for text, label in rows)]
    (tmp_path / "labeled_data.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    loaded = sets.load("boss/td/hsol", tmp_path)
    assert sorted(row.target for row in loaded.examples) == [0, 1]
    assert [row.segments for row in loaded.examples if row.target] == [("You",)]
    assert loaded.notes == (
        "Rows left out by the rule 'urls': 1.",
        "Rows left out by the rule 'balance': 2.",
        "boss/td/hsol: 2 rows; the paper counts 8,308.",
    )


def test_a_set_is_judged_as_its_paper_judges():
    """The first metric of the card is that of the run, unless another one is named."""
    assert sets.from_rows("glue-x/cola/cola", [{"sentence": "A.", "label": 1}]).metric == "mcc"
    assert sets.load("hans-sub", limit=10).metric == ""


def printed(rank_models, *words):
    """Output of a command that succeeds."""
    status, out, _ = rank_models(*words)
    assert not status
    return out


@pytest.mark.parametrize(
    ("names", "targets"), [(["1", "2"], [0, 1]), (["positive", "negative"], [1, 0]), (None, [0, 1])]
)
def test_names_of_numbers_in_a_file_count_if_they_are_labels(names, targets):
    """Others, such as the stars of Yelp, leave the card's order."""
    rows = NamedRows([{"text": "Bad.", "label": 0}, {"text": "Good.", "label": 1}], names)
    assert [row.target for row in sets.from_rows("glue-x/sst2/yelp", rows).examples] == targets


def test_a_catalogue_is_listed(rank_models):
    """A line a set, with what its layouts were tested on; the first list names the catalogues alone."""
    listed = printed(rank_models, "ls", "ood", "--catalogue", "BOSS").splitlines()
    assert len(listed) == len(embedded.catalogue_cards("boss"))
    assert [" ".join(line.split()[:10]) for line in listed if line.startswith("boss/td/hsol")] == [
        "boss/td/hsol toxicity candidate 8,308 rows layout tested on: official file"
    ]
    assert "boss/" not in (first := printed(rank_models, "ls", "ood"))
    assert "rank-models ls ood --catalogue boss" in first
    assert sum(line.endswith("layout tested on: official file.") for line in first.splitlines()) == 3


@pytest.mark.parametrize("words", [["ls", "ood", "--catalogue", "bos"], ["ls", "factors", "--catalogue", "boss"]])
def test_a_catalogue_that_cannot_be_listed_is_refused(words, rank_models):
    """In one line."""
    status, _, err = rank_models(*words)
    assert status == 2
    assert len(err.splitlines()) == 1


def test_a_name_in_a_catalogue_is_known_in_any_case_and_a_near_one_is_offered():
    """As the names of the other sets are."""
    assert sets.find_card("BOSS/sa/SST").name == "boss/sa/sst"
    with refuses(UnknownName, value="boss/sa/ss") as stop:
        sets.find_card("boss/sa/ss")
    assert str(stop.value).endswith("did you mean boss/sa/sst?")


def test_taggers_are_ranked_on_a_set_of_tags(tmp_path, rank_models):
    """By span F1 of all rows, the metric of its card: a system without any span is last."""
    words = [("Ann", "B-person"), ("saw", "O"), ("Rome", "B-location")]
    for name, hidden in (("test", ()), ("good", ("Rome",)), ("bad", ("Ann", "Rome"))):
        lines = [f"{word}\t{'O' if word in hidden and n % 2 else tag}" for n in range(12) for word, tag in words]
        blocks = "\n\n".join("\n".join(lines[start : start + 3]) for start in range(0, len(lines), 3))
        (tmp_path / f"{name}.conll").write_text(blocks + "\n", encoding="utf-8")
    models = [str(tmp_path / f"{name}.conll") for name in ("bad", "good")]
    run = ("--ood", "boss/ner/wnut", "--data-dir", str(tmp_path), "--probe", "5", "--by-order", "--quiet")
    out = printed(rank_models, *run, "--format", "json", "--models", *models)
    answer = json.loads(out)["evaluation"]
    assert [model["name"] for model in answer["models"]] == ["good", "bad"]
    assert answer["methods"][0]["name"] == "span-f1"


def test_answers_to_questions_are_ranked_on_a_set_of_spans(tmp_path, rank_models):
    """Answers by the ids of the questions, which are MRQA's."""
    rows = [{"context": f"Ann ran {n} miles.", "qas": [{**QUESTIONS[0], "qid": f"q{n}"}]} for n in range(12)]
    (tmp_path / "NewsQA.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for name, share in (("good", 9), ("bad", 3)):
        answers = {f"q{n}": "Ann" if n < share else "Bo" for n in range(12)}
        (tmp_path / f"{name}.json").write_text(json.dumps(answers), encoding="utf-8")
    models = [str(tmp_path / f"{name}.json") for name in ("bad", "good")]
    run = ("--ood", "boss/eqa/newsqa", "--data-dir", str(tmp_path), "--probe", "5", "--quiet")
    answer = json.loads(printed(rank_models, *run, "--format", "json", "--models", *models))["evaluation"]
    assert [(model["name"], model["outcome"]) for model in answer["models"]] == [("good", 0.75), ("bad", 0.25)]
