"""One table, in every kind of file, through every door: each sees the same rows, texts, labels and empty cells."""

import csv
from functools import cache
from importlib import metadata

import ir_measures
import pytest
from calling import called
from corpus import KINDS, UNQUOTED, asked, plain, records, saved, separated
from sklearn.metrics import f1_score

TEXTS = [
    "The ferry was late, and nobody said why.", "Hot soup; cold bread.", 'A sign read "closed", yet they were open.',
    "Left before noon.\nCame back at two.", "Añejo, crème brûlée and 茶.", "It rained = we stayed.",
    "The lift's out of order", "Nine steps down, no light.", "A fine view of the harbour!", "Towels? None.",
    "They found us a cot within minutes.", "The key would not turn.", "Tea at four, as promised.",
    "Music until three in the morning.", "The clerk drew us a map.", "Our booking was gone.",
    "Fresh figs on the table.", "The tap dripped all night long.",
]  # fmt: skip

LONE = {
    2: '"Closed, a sign read, yet they were open.',
    3: 'Left before noon, 6" of snow.',
    6: "The lift's out of order",
}
"""Texts of kinds that know no quotes, by their place."""


def said(signs):
    """Labels by their first letters; a point is an empty cell."""
    return [{"b": "bad", "g": "good"}.get(sign) for sign in signs]


LABELS = said("bgb.g.bbg.gb..g.gb")
BERT = said("bgbbgg.bgbgggbgb.b")
GPT = said("bbgbgbbbbbgbg.gbgg")
IDS = [301 + 2 * n for n in range(len(TEXTS))]

RIGHT = {"bert": 9 / 12, "gpt": 8 / 12}
"""The accuracies on the twelve rows with a label, where no answer is wrong."""

RESULTS = {
    "model": [f"m{m}" for m in range(3) for _ in range(4)],
    "set": [f"s{s}" for _ in range(3) for s in range(4)],
    "value": [0.61, 0.52, 0.7, 0.55, 0.66, 0.5, 0.75, 0.6, 0.71, 0.63, None, 0.625],
}
"""What three models scored on four sets, one value of which is not known."""

MEANS = {"m0": 0.56, "m1": 1.76 / 3, "m2": 1.965 / 3}
"""The means over the sets for which every model has a value."""


def texts_of(kind):
    """The texts that a kind of file can hold."""
    if kind not in UNQUOTED:
        return TEXTS
    one_line = {place: text.replace('"', "'") if kind.startswith("r-") else text for place, text in LONE.items()}
    return [one_line.get(place, text) for place, text in enumerate(TEXTS)]


def rows(kind, **columns):
    """The table of rows."""
    return {"id": IDS, "text": texts_of(kind), "label": LABELS, **columns}


def expected(kind):
    """Known rows with a label: id -> text, label, answers of models."""
    answers = zip(map(str, IDS), texts_of(kind), LABELS, BERT, GPT, strict=True)
    return {
        row: (text, label, {"bert": bert or "no answer", "gpt": gpt or "no answer"})
        for row, text, label, bert, gpt in answers
        if label
    }


def found(ended):
    """Rows with a label in the JSON of the program."""
    return {row["id"]: (row["text"], row["label"], row["predicted"]) for row in ended.json["decision"]["rows"]}


def done(ended):
    """The JSON of a call that must have worked."""
    assert ended.status == 0, ended.message
    return ended


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with what two models say of all texts, in files found by their texts alone; and a store."""
    path = tmp_path_factory.mktemp("doors")
    for name, answers in (("bert", BERT), ("gpt", GPT)):
        (path / name).mkdir()
        for form, texts in (("quoted", TEXTS), ("plain", texts_of("plain.tsv")), ("r", texts_of("r-default.tsv"))):
            table = {"text": [*texts, *OTHER], "prediction": [*answers, *OTHER_SAID[name]]}
            (path / name / f"{form}.csv").write_text(separated(table, ","), encoding="utf-8")
    (path / "few.csv").write_text(separated({"text": OTHER, "label": OTHER_LABELS}, ","), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANK_MODELS_STORE", str(path / "store"))
        patch.chdir(path)
        patch.setattr(metadata, "entry_points", cache(metadata.entry_points))
        yield path


OTHER = [f"A note of {n} words left at the desk." for n in ("two", "three", "five", "six", "eight", "nine")]
OTHER_LABELS = ["good", "bad", "good", "bad", "good", "bad"]
OTHER_SAID = {"bert": ["good", "bad", "good", "bad", "bad", "bad"], "gpt": ["bad", "bad", "good", "good", "bad", "bad"]}


def models(folder, kind):
    """The files of answers that have the texts of a kind of file."""
    form = "quoted" if kind not in UNQUOTED else "r" if kind.startswith("r-") else "plain"
    return [f"{name}={folder / name / form}.csv" for name in ("bert", "gpt")]


@cache
def through_json(folder, door, plain_texts):
    """A call with the same table as JSON lines through a door."""
    kind = "r-default.tsv" if plain_texts == "r" else "plain.tsv" if plain_texts else "lines.jsonl"
    path = saved("lines.jsonl", rows(kind), folder, f"reference-{plain_texts}-{door}")
    model_files = models(folder, kind)
    few = folder / "few.csv"
    of_pool = ["run", "--data", few, "--pool", path, "--models", *model_files]
    return done(called(*(of_pool if door == "pool" else ["shift", path, few]), "-q", output=folder / "r.json"))


def reference(folder, door, kind):
    """A call with the table of a kind as JSON lines through a door."""
    return through_json(folder, door, "r" if kind.startswith("r-") else "plain" if kind in UNQUOTED else "")


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_data(folder, kind):
    """`--data`: the rows with a label, with their ids and texts, by which answers find them."""
    path = saved(kind, rows(kind), folder, "data")
    command = ["run", "--data", path, "--models", *models(folder, kind), *asked(kind), "-q"]
    ended = done(called(*command, output=folder / "o.json"))
    assert found(ended) == expected(kind)
    assert ended.accuracies == pytest.approx(RIGHT, abs=1e-12)


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_pool(folder, kind):
    """`--pool`: all rows with a text; the order of the models is that of the same pool as JSON lines."""
    path = saved(kind, rows(kind), folder, "pool")
    arguments = ["run", "--data", folder / "few.csv", "--pool", path, "--models", *models(folder, kind), *asked(kind)]
    ended, expected = done(called(*arguments, "-q", output=folder / "o.json")), reference(folder, "pool", kind)
    for part in ("models", "notes"):
        assert ended.json["decision"][part] == expected.json["decision"][part]


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_wide_table(folder, kind):
    """`--models`: rows, truth and a column for each model."""
    path = saved(kind, rows(kind, bert=BERT, gpt=GPT), folder, "wide")
    ended = done(called("run", "--models", path, *asked(kind), "-q", output=folder / "o.json"))
    assert ended.accuracies == pytest.approx(RIGHT, abs=1e-12)
    assert found(ended) == expected(kind)


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_answers_of_a_model(folder, kind):
    """`--data` and `--models`: the answers of one model, found by their ids."""
    data_path = saved("lines.jsonl", rows(kind), folder, "asked")
    path = saved(kind, {"id": IDS[::-1], "prediction": BERT[::-1]}, folder, "answers")
    second = models(folder, kind)[1]
    arguments = ["run", "--data", data_path, "--models", f"bert={path}", second, *asked(kind)]
    ended = done(called(*arguments, "-q", output=folder / "o.json"))
    assert ended.accuracies == pytest.approx(RIGHT, abs=1e-12)
    assert found(ended) == expected(kind)


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_to_label(folder, kind):
    """`label --batch`: three of the rows without a label, with their ids and texts as they are."""
    path, sheet = saved(kind, rows(kind), folder, "to-label"), folder / "sheet.csv"
    sheet.unlink(missing_ok=True)
    arguments = ["label", "--pool", path, "--models", *models(folder, kind), "--batch", "3", "-o", sheet]
    done(called(*arguments, *asked(kind), "-q"))
    with sheet.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    unlabelled = {
        str(number): text for number, text, label in zip(IDS, texts_of(kind), LABELS, strict=True) if label is None
    }
    chosen = [row for row in lines if not row["label"]]
    assert len(chosen) == 3
    assert {row["id"]: row["text"] for row in chosen}.items() <= unlabelled.items()


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_rankings(folder, kind):
    """`--task ranking`: lists of documents as references and as answers, each in a file of the kind."""
    data_path = saved(kind, {"id": IDS, "text": texts_of(kind), "label": RELEVANT}, folder, "queries")
    answers = [saved(kind, {"id": IDS, "prediction": ranked}, folder, name) for name, ranked in RANKED.items()]
    models = [f"{name}={path}" for name, path in zip(RANKED, answers, strict=True)]
    arguments = ["run", "--data", data_path, "--models", *models, "--task", "ranking", *asked(kind)]
    ended = done(called(*arguments, "-q", output=folder / "o.json"))
    assert ended.accuracies == pytest.approx(gains(), abs=1e-12)


RELEVANT = [f"d{n} d{n + 1}" if n % 3 else None for n in range(len(TEXTS))]
RANKED = {
    "bm25": [f"d{n + 1} x d{n}" if n % 4 else None for n in range(len(TEXTS))],
    "dense": [f"y d{n + n % 2}" for n in range(len(TEXTS))],
}
"""Relevant documents of queries, and what two systems found."""


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_label_sets(folder, kind):
    """`--task label-sets`: labels with a separator, and columns of 0 and 1, in files of the kind."""
    data_path = saved(kind, {"id": IDS, "text": texts_of(kind), "label": SETS["true"]}, folder, "sets")
    answers = [saved(kind, {"id": IDS, "prediction": SETS[name]}, folder, name) for name in ("svm", "knn")]
    models = [f"{name}={path}" for name, path in zip(("svm", "knn"), answers, strict=True)]
    columns = {label: [int(label in (cell or "").split("+")) for cell in SETS["svm"]] for label in "abc"}
    models.append(f"columns={saved(kind, {'id': IDS, **columns}, folder, 'indicators')}")
    arguments = ["run", "--data", data_path, "--models", *models, "--task", "label-sets", "--separator", "+"]
    arguments += asked(kind)
    ended = done(called(*arguments, "-q", output=folder / "o.json"))
    rows = [n for n, cell in enumerate(SETS["true"]) if cell]
    true, svm, knn = (
        [[label in (SETS[name][n] or "").split("+") for label in "abc"] for n in rows]
        for name in ("true", "svm", "knn")
    )
    expected = {"svm": f1_score(true, svm, average="micro"), "knn": f1_score(true, knn, average="micro")}
    assert ended.accuracies == pytest.approx({**expected, "columns": expected["svm"]}, abs=1e-12)


SETS = {
    "true": ["a+b" if n % 4 == 0 else "c" if n % 4 == 1 else "b" if n % 4 == 2 else None for n in range(len(TEXTS))],
    "svm": ["a+b" if n % 4 == 0 else "c+a" if n % 4 == 1 else None for n in range(len(TEXTS))],
    "knn": ["b" if n % 2 else "a+c" for n in range(len(TEXTS))],
}
"""Labels of rows, and what two systems say of them."""


def gains():
    """The mean nDCG@10 of each system by ir-measures; a query without an answer counts 0."""
    qrels = {str(n): dict.fromkeys(relevant.split(), 1) for n, relevant in enumerate(RELEVANT) if relevant}
    means = {}
    for system, ranked in RANKED.items():
        ranks = {
            query: {name: -place for place, name in enumerate((ranked[int(query)] or "").split())} for query in qrels
        }
        run = {query: scores for query, scores in ranks.items() if scores}
        by_query = {score.query_id: score.value for score in ir_measures.iter_calc([ir_measures.nDCG @ 10], qrels, run)}
        means[system] = sum(by_query.get(query, 0.0) for query in qrels) / len(qrels)
    return means


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_domain(folder, kind):
    """`shift`: as many texts, of as many words, the same labels and distances as of the same rows as JSON lines."""
    path = saved(kind, rows(kind), folder, "domain")
    ended = done(called("shift", path, folder / "few.csv", *asked(kind), "-q", output=folder / "o.json")).json
    expected = reference(folder, "shift", kind).json
    domain, as_json = ended["domains"][0], expected["domains"][0]
    assert domain["rows"] == len(TEXTS)
    assert {**domain, "name": ""} == {**as_json, "name": ""}
    assert ended["pairs"][0]["measures"] == expected["pairs"][0]["measures"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_results(folder, kind):
    """`compare`: the values of each model, and which set lacks one."""
    path = saved(kind, RESULTS, folder, "results")
    ended = done(called("compare", path, output=folder / "o.json"))
    assert {model["model"]: model["value"] for model in ended.json["models"]} == pytest.approx(MEANS, abs=1e-12)


def test_the_corpus_holds_what_its_kinds_can_hold(tmp_path):
    """The files differ in how they are written, and each is there once."""
    contents = {kind: saved(kind, rows(kind), tmp_path, "x").read_bytes() for kind in KINDS}
    assert len({*contents.values()}) >= len(KINDS) - 3
    assert '"Closed' in plain(rows("plain.tsv"))
    assert len(records(rows("plain.csv"))) == len(TEXTS)


def scores_of(*answers, form):
    """The scores of both labels, for each model, a column each: `bert/bad`, `bert/good`, ..."""
    high, low = (form(0.87), form(0.13))
    return {
        f"{name}/{label}": [high if answer == label else low for answer in answers_of_model]
        for name, answers_of_model in zip(("bert", "gpt"), answers, strict=False)
        for label in ("bad", "good")
    }


@pytest.mark.parametrize("door", ["models", "data"])
def test_a_decimal_comma_is_named(folder, door):
    """A comma for a point in a number, without semicolons around, is named, and nothing is ranked."""
    scores = scores_of(*((BERT, GPT) if door == "models" else (BERT,)), form=lambda score: f"{score}".replace(".", ","))
    table, path = {"id": IDS, **scores}, folder / f"comma-{door}.csv"
    if door == "models":
        table["label"] = LABELS
    path.write_text(separated(table, "|"), encoding="utf-8")
    data_options = ["--data", saved("lines.jsonl", rows("plain.csv"), folder, "comma")] if door == "data" else []
    second_model = [models(folder, "plain.csv")[1]] if door == "data" else []
    ended = called("run", *data_options, "--models", path, *second_model, "-q", output=folder / "o.json")
    assert ended.refused, ended.message
    assert "decimal comma" in ended.message
    assert "0,13" in ended.message or "0,87" in ended.message


def test_a_decimal_comma_of_results_is_named(folder):
    """`compare` names the cell, and says that it has a comma."""
    path = folder / "comma-results.csv"
    values = [None if value is None else str(value).replace(".", ",") for value in RESULTS["value"]]
    path.write_text(separated({**RESULTS, "value": values}, "|"), encoding="utf-8")
    ended = called("compare", path, output=folder / "o.json")
    assert ended.refused
    assert ended.status == 2
    assert "comma" in ended.message
    assert "0,61" in ended.message


def test_percent_signs_of_results_are_read_or_named(folder):
    """`61%` is 0.61, or a line names the cell."""
    path = folder / "percent.csv"
    values = [None if value is None else f"{100 * value:g}%" for value in RESULTS["value"]]
    path.write_text(separated({**RESULTS, "value": values}, ","), encoding="utf-8")
    ended = called("compare", path, output=folder / "o.json")
    if not (ended.refused and "61%" in ended.message):
        done(ended)
        assert {model["model"]: model["value"] for model in ended.json["models"]} == pytest.approx(MEANS, abs=1e-12)


@pytest.mark.parametrize("door", ["models", "data"])
def test_percent_signs_of_scores_are_read_or_named(folder, door):
    """`87%` among probabilities is 0.87, or a line names the cell; it is never taken for a label."""
    wrong = {"good": "bad", "bad": "good"}  # no answer is wrong, and rows without scores are not judged
    pairs = [list(zip(model, LABELS, strict=True)) for model in (BERT, GPT)]
    answers = [[answer or wrong.get(label) or "bad" for answer, label in of_model] for of_model in pairs]
    scores = scores_of(*answers[: 2 if door == "models" else 1], form=lambda score: f"{100 * score:g}%")
    table, path = {"id": IDS, **scores}, folder / f"percent-{door}.csv"
    if door == "models":
        table["label"] = LABELS
    path.write_text(separated(table, ","), encoding="utf-8")
    data_options = ["--data", saved("lines.jsonl", rows("plain.csv"), folder, "percent")] if door == "data" else []
    second_model = [models(folder, "plain.csv")[1]] if door == "data" else []
    ended = called("run", *data_options, "--models", path, *second_model, "-q", output=folder / "o.json")
    if not (ended.refused and ("87%" in ended.message or "13%" in ended.message)):
        assert max(done(ended).accuracies.values()) == pytest.approx(RIGHT["bert"], abs=1e-12)
