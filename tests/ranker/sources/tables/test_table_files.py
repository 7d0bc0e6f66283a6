import gzip
import json

import numpy as np
import pyarrow as pa
import pytest
from refusals import refuses
from tables_made import ROWS, TASK, answers, joined_by, said_by, understood

from ranker import load_suite
from ranker.errors import DataError, UsageError
from ranker.files import arrow, collect, reader
from ranker.sources.tables import reading
from ranker.tasks.base import ANSWERED, MISSING, NO_ANSWER

RECORDS = [
    {"id": "a", "text": "Lovely.", "prediction": "positive"},
    {"id": "b", "text": 'Dull, and "long"', "prediction": "negative"},
    {"id": "c", "text": "Fine.", "prediction": "good"},
    {"id": "d", "text": "Zürich", "prediction": ""},
]
COMMAS = 'id,text,prediction\na,Lovely.,positive\nb,"Dull, and ""long""",negative\nc,Fine.,good\nd,Zürich,\n'
TABS = 'id\ttext\tprediction\na\tLovely.\tpositive\nb\tDull, and "long"\tnegative\nc\tFine.\tgood\nd\tZürich\t\n'
LINES = "\n".join(str(row).replace("'", '"') for row in RECORDS if row["id"] != "b") + "\n"
COLUMNS = {name: [row[name] for row in RECORDS] for name in RECORDS[0]}
SPLIT = {"columns": list(COLUMNS), "index": [0, 1, 2, 3], "data": [list(row.values()) for row in RECORDS]}

QUOTED = TABS.replace('"long"', '""long""')

FORMS = {
    "commas": ("a.csv", COMMAS),
    "a byte-order mark": ("a.csv", "\ufeff" + COMMAS),
    "lines of Windows": ("a.csv", COMMAS.replace("\n", "\r\n")),
    "commas in a .txt": ("a.txt", COMMAS),
    "commas in a .txt.gz": ("a.txt.gz", COMMAS),
    "gzip": ("a.csv.gz", COMMAS),
    "tabs": ("a.tsv", TABS),
    "tabs in a .txt": ("a.txt", TABS),
    "tabs and quotes": ("a.tsv", TABS.replace('Dull, and "long"', '"Dull, and ""long"""')),
    "tabs and quotes in a .txt": ("a.txt", TABS.replace('Dull, and "long"', '"Dull, and ""long"""')),
    "tabs and quotes everywhere": ("a.tsv", '"' + QUOTED.replace("\t", '"\t"').replace("\n", '"\n"')[:-1]),
    "records": ("a.json", RECORDS),
    "records, gzipped": ("a.json.gz", RECORDS),
    "columns and data": ("a.json", SPLIT),
    "columns": ("a.json", COLUMNS),
    "columns beside numbers": ("a.json", {"accuracy": 0.5, "_timestamp": 1, **COLUMNS}),
    "pandas' table": (
        "a.json",
        {"schema": {"primaryKey": ["index"]}, "data": [{"index": n, **row} for n, row in enumerate(RECORDS)]},
    ),
    "pandas' own JSON": ("a.json", {name: {str(i): v for i, v in enumerate(cells)} for name, cells in COLUMNS.items()}),
    "records by id": ("a.json", {row["id"]: {k: v for k, v in row.items() if k != "id"} for row in RECORDS}),
    "Parquet": ("a.parquet", COLUMNS),
    "Parquet of categories": ("a.parquet", {name: pa.array(c).dictionary_encode() for name, c in COLUMNS.items()}),
}  # fmt: skip
ANSWERS = ["positive", "negative", "positive", "no answer"]


def request(n, content="positive", **fields):
    """A line of a batch of OpenAI's interface."""
    response = {"status_code": 200, "body": {"choices": [{"message": {"role": "assistant", "content": content}}]}}
    return {"id": f"batch_{n}", "custom_id": "abcd"[n], "response": response, "error": None} | fields


def test_a_batch_is_answers_by_the_id_of_each_request(tmp_path):
    """Not by the batch's own; a request that failed is an error, whichever of the two interfaces was asked."""
    part = {"type": "message", "content": [{"type": "output_text", "text": "good"}]}
    lines = [
        request(0),
        request(1, "negative"),
        request(2, response={"body": {"output": [{"type": "reasoning"}, part]}}),
        request(3, response=None, error={"code": "batch_expired"}),
    ]
    parsed = understood(tmp_path / "a.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    assert parsed.ids == ROWS.ids
    assert said_by(parsed.models[0]) == [*ANSWERS[:3], "error"]


def test_results_of_promptfoo_are_outcomes_of_each_provider(tmp_path):
    """A model for each prompt where there are several; repeated tests are runs."""

    def result(test, provider, score, prompt=0):
        return {"testIdx": test, "promptIdx": prompt, "provider": provider, "score": score, "vars": {"q": f"Q{test}"}}

    first, second = {"id": "openai:a", "label": ""}, {"id": "openai:b", "label": "mine"}
    results = [
        result(test, asked_provider, score)
        for test in (0, 1)
        for asked_provider, score in ((first, 1), (second, 0.25 * test))
    ]
    parsed = understood(tmp_path / "a.json", {"evalId": "x", "results": {"version": 3, "results": results}}, task=None)
    assert {model.name: model.outcomes.tolist() for model in parsed.models} == {"openai:a": [1, 1], "mine": [0, 0.25]}
    assert parsed.texts[0] == ("Q0", "Q1")
    again = [*results, *(result(test, first, 0, prompt=1) for test in (0, 1))]
    parsed = understood(tmp_path / "b.json", {"results": {"results": again}}, task=None)
    assert [model.name for model in parsed.models] == ["openai:a 0", "mine 0", "openai:a 1"]
    parsed = understood(tmp_path / "c.json", {"results": {"results": [*results, *results]}}, runs="mean", task=None)
    assert {model.name: model.outcomes.tolist() for model in parsed.models} == {"openai:a": [1, 1], "mine": [0, 0.25]}


@pytest.mark.parametrize(
    ("record", "program"),
    [
        ({"instance_id": "id1", "stats": [{"name": {"name": "em"}, "mean": 1.0}]}, "HELM"),
        ({"doc": {"query": "q", "choices": ["a"]}, "metric": {"acc": 1}}, "lighteval"),
        ({"__doc__": {"query": "q", "choices": ["a"]}, "__metric__": {"acc": 1}}, "lighteval"),
    ],
)
def test_a_program_without_a_reader_has_a_recipe(tmp_path, record, program):
    """The program is named, and so is the page; nothing of it is taken for answers."""
    with refuses(DataError, place=tmp_path / "a.json"):
        understood(tmp_path / "a.json", [record, record], task=None)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same(tmp_path, form):
    """Ids, texts and labels, whatever they are written in."""
    name, content = FORMS[form]
    parsed = understood(tmp_path / name, content)
    assert parsed.ids == ROWS.ids
    assert list(parsed.texts[0]) == COLUMNS["text"]
    assert said_by(parsed.models[0]) == ANSWERS
    assert [model.name for model in parsed.models] == ["a"]


def test_answers_and_scores_by_id(tmp_path):
    """Keys of an object are ids, also if its lists are as short as there are labels."""
    (model,) = answers(tmp_path / "a.json", {"d": 0, "b": "positive", "a": None}).models
    assert said_by(model) == ["no answer", "positive", "missing", "negative"]
    parsed = understood(tmp_path / "a.json", {"a": [0.9, 0.1], "b": [0.2, 0.8], "c": [0.5, 0.5]})
    assert parsed.ids == ("a", "b", "c")
    assert np.allclose(parsed.models[0].probs, [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])


def test_a_list_of_answers(tmp_path):
    """Answers are in the order of the rows."""
    joined = answers(tmp_path / "a.json", ["positive", 0, None, "LABEL_1"])
    assert said_by(joined.models[0]) == ["positive", "negative", "no answer", "positive"]
    assert joined_by(joined) == "order"


@pytest.mark.parametrize(
    "cells",
    [
        [[0.9, 0.1], [0.2, 0.8]],
        [{"negative": 0.9, "positive": 0.1}, {"positive": 0.8, "negative": 0.2}],
        [[{"label": "negative", "score": 0.9}, {"label": "positive", "score": 0.1}],
         [{"label": "positive", "score": 0.8}, {"label": "negative", "score": 0.2}]],
        [{"LABEL_0": 0.9, "LABEL_1": 0.1}, {"LABEL_0": 0.2, "LABEL_1": 0.8}],
    ],
    ids=["lists", "objects", "a pipeline's", "numbered"],
)  # fmt: skip
def test_scores_in_a_cell(tmp_path, cells):
    """A list in the order of the labels, or an object by their names, in JSON lines and in Parquet."""
    rows = [{"id": name, "probs": cell} for name, cell in zip("ab", cells, strict=True)]
    lines = "".join(f"{row}\n".replace("'", '"') for row in rows)
    assert np.allclose(understood(tmp_path / "a.jsonl", lines).models[0].probs, [[0.9, 0.1], [0.2, 0.8]])
    if not isinstance(cells[0], list) or not isinstance(cells[0][0], dict):
        content = {"id": ["a", "b"], "probs": cells}
        assert np.allclose(understood(tmp_path / "a.parquet", content).models[0].probs, [[0.9, 0.1], [0.2, 0.8]])


def test_a_list_that_is_cut_is_an_error_of_its_row(tmp_path):
    """The other rows are read."""
    content = {"id": ["a", "b", "c"], "probs": [[0.9, 0.1], [0.2], None]}
    model = understood(tmp_path / "a.parquet", content).models[0]
    assert said_by(model) == ["negative", "error", "error"]


@pytest.mark.parametrize("kind", ["float32", "float64", ">f8", "float16"])
def test_arrays(tmp_path, kind):
    """Logits of `trainer.predict`, with the truth beside them, and one array alone, by rows or by columns."""
    logits = np.array([[1.5, -1], [0, 2], [3, 1]]).astype(kind)
    parsed = understood(tmp_path / "run.npz", {"predictions": logits, "label_ids": np.array([0, 1, 1])})
    assert said_by(parsed.models[0]) == ["negative", "positive", "negative"]
    assert parsed.models[0].kind == "logits"
    assert parsed.truth.tolist() == [0, 1, 1]
    assert parsed.ids is None
    alone = understood(tmp_path / "run.npy", np.asfortranarray(logits))
    assert np.array_equal(alone.models[0].probs, parsed.models[0].probs)


def test_what_else_an_archive_holds_is_not_read(tmp_path):
    """All of `trainer.predict`: its metrics are a pickled object, which stays one."""
    logits, truth = np.array([[2.5, -1.0], [0.5, 1.5]]), np.array([0, 1])
    path = tmp_path / "a.npz"
    metrics = np.array({"test_loss": 0.5}, object)
    np.savez(path, predictions=logits, label_ids=truth, metrics=metrics, loss=np.array(0.5))
    columns = reader.read_columns(path)
    assert columns.size == 2
    assert set(columns.cells) == {"predictions/0", "predictions/1", "label_ids"}
    assert columns.unread == {"metrics": "no numbers or texts", "loss": "an array of the shape ()"}
    (model,) = reading.parse_predictions(columns, TASK).models
    assert model.predicted.tolist() == [0, 1]


def test_an_array_of_labels(tmp_path):
    """Numbers, truth values or names."""
    for array in (np.array([0, 1, 1]), np.array([False, True, True]), np.array(["negative", "good", "positive"])):
        assert said_by(understood(tmp_path / "a.npy", array).models[0]) == ["negative", "positive", "positive"]


def test_pandas_own_index_is_an_id_only_out_of_order(tmp_path):
    """From 0 in order it is none, in any format; shuffled rows keep their numbers."""
    for name in ("", "Unnamed: 0"):
        parsed = understood(tmp_path / "a.csv", f"{name},prediction\n0,good\n1,negative\n")
        assert (parsed.ids, said_by(parsed.models[0])) == (None, ["positive", "negative"])
    parsed = understood(tmp_path / "a.parquet", {"prediction": ["good"], "__index_level_0__": [0]})
    assert (parsed.ids, said_by(parsed.models[0])) == (None, ["positive"])
    assert understood(tmp_path / "a.csv", ",prediction\n2,good\n0,negative\n").ids == ("2", "0")


@pytest.mark.parametrize("name", ["Unnamed: 3", "Unnamed: 1"])
def test_a_column_without_a_name_is_no_index_where_it_repeats(tmp_path, name):
    """Alone it is read as answers, and beside others a note says that it is not."""
    rows = ["a,good,negative", "b,negative,good", "c,good,good"]
    alone = understood(tmp_path / "a.csv", "\n".join([f"id,label,{name}", *rows]))
    assert said_by(alone.models[0]) == ["negative", "positive", "positive"]
    beside = "\n".join([f"id,label,prediction,{name}", *(f"{row},good" for row in rows)])
    parsed = understood(tmp_path / "b.csv", beside)
    assert (len(parsed.models), any(repr(name) in note for note in parsed.notes)) == (1, True)


def test_quotes_in_a_tsv(tmp_path):
    """A text may begin with a quote, as in HANS and PAWS; one of two lines stands in quotes."""
    parsed = understood(tmp_path / "a.tsv", 'text\tprediction\n"No," he said.\tgood\n"Yes"\tnegative\n')
    assert parsed.texts[0] == ('"No," he said.', '"Yes"')
    parsed = understood(tmp_path / "a.tsv", 'text\tprediction\n"one\ntwo"\tgood\nthree\tnegative\n')
    assert parsed.texts[0] == ("one\ntwo", "three")
    with refuses(DataError, value=1, place=f"{tmp_path}/a.tsv, line 2"):
        understood(tmp_path / "a.tsv", "text\tprediction\none\n")


def test_label_numbers_that_a_file_explains(tmp_path):
    """`datasets` writes into Parquet what 0 and 1 stand for."""
    from pyarrow import parquet

    about = b'{"info": {"features": {"prediction": {"names": ["positive", "negative"]}}}}'
    table = pa.table({"id": ["a", "b"], "prediction": [0, 1]}).replace_schema_metadata({"huggingface": about})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert said_by(understood(tmp_path / "a.parquet").models[0]) == ["positive", "negative"]


def test_columns_of_parquet_keep_their_names_and_labels(tmp_path):
    """A dot is a letter of a name, and a label may have another number in each row group."""
    content = {"id": ["a", "b"], "gpt-3": ["good", "good"], "gpt-3.5": ["negative", "negative"]}
    parsed = understood(tmp_path / "a.parquet", content)
    assert {model.name: said_by(model) for model in parsed.models} == {
        "gpt-3": ["positive"] * 2, "gpt-3.5": ["negative"] * 2,
    }  # fmt: skip
    from pyarrow import parquet

    labels = ["positive"] * 4 + ["negative"] * 4 + ["negative", "positive"]
    parquet.write_table(pa.table({"prediction": labels}), tmp_path / "a.parquet", row_group_size=4)
    assert said_by(understood(tmp_path / "a.parquet").models[0]) == labels


def test_cells_of_a_json_column_may_differ_or_lack(tmp_path):
    """Numbers and names in one column are texts, and a key may come first after many rows."""
    lines = '{"id": 1, "prediction": 1}\n{"id": "x", "prediction": "negative"}\n{"id": 2.0, "prediction": true}\n'
    parsed = understood(tmp_path / "a.jsonl", lines)
    assert (parsed.ids, said_by(parsed.models[0])) == (("1", "x", "2"), ["positive", "negative", "positive"])
    lines = '{"id": "a"}\n' + "".join(f'{{"id": "{i}", "prediction": "good"}}\n' for i in range(collect.BLOCK))
    parsed = understood(tmp_path / "a.jsonl", lines)
    assert said_by(parsed.models[0]) == ["no answer", *["positive"] * collect.BLOCK]


def test_an_unknown_ending_is_one_line(tmp_path):
    """Nothing is opened, and a spreadsheet is told to be saved as another kind of file."""
    for name in ("a.xlsx", "a.parquet.gz", "a.npz.gz", "a"):
        with refuses(UsageError, allowed=reader.ENDINGS, place=tmp_path / name):
            reader.read_columns(tmp_path / name)
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with refuses(UsageError, value=".xlsx", place=tmp_path / "a.xlsx"):
        load_suite([tmp_path / "a.xlsx", "org/a"])


def test_many_values_are_kept_as_they_are():
    """Beyond some, a number for each is no saving; few are kept once."""
    many = arrow.compact(pa.array([str(i) for i in range(arrow.MAX_DICTIONARY + 1)]))
    few = arrow.compact(pa.array(["a", "b"] * 5_000))
    assert pa.types.is_string(many.type)
    assert few.indices.type == pa.int8()


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv", "a.txt", "a.jsonl", "a.json"])
@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_a_table_in_another_encoding(tmp_path, name, encoding):
    """By its mark, or as it is said; semicolons and tabs in a .csv as in a .csv of rows."""
    sign = "\t" if name.startswith("a.tsv") else ";"
    text = f"id{sign}prediction\ncaf\xe9{sign}positive\n"
    if name == "a.jsonl":
        text = '{"id": "caf\xe9", "prediction": "positive"}\n'
    if name == "a.json":
        text = '[{"id": "caf\xe9", "prediction": "positive"}]'
    raw = text.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    columns = reader.read_columns(tmp_path / name, "" if encoding == "utf-16" else encoding)
    assert {column: cells.to_pylist() for column, cells in columns.cells.items()} == {
        "id": ["caf\xe9"],
        "prediction": ["positive"],
    }


def test_a_key_that_rows_of_json_leave_out_is_a_row_that_was_not_asked(tmp_path):
    """A null is an answer that was not given, in any block of rows; scores as one list a row are alike."""
    rows = [{"id": str(n), "label": "ab"[n % 2], "m1": "a", "m2": "b"} for n in range(1_200)]
    for n in (0, 1_100):
        del rows[n]["m2"]
    rows[2]["m2"] = None
    file = tmp_path / "wide.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    columns = reader.read_columns(file)
    assert {name: np.flatnonzero(rows).tolist() for name, rows in columns.absent.items()} == {"m2": [0, 1_100]}
    first, second = reading.parse_predictions(columns).models
    assert (first.state == ANSWERED).all()
    states = {n: int(state) for n, state in enumerate(second.state) if state}
    assert states == {0: MISSING, 2: NO_ANSWER, 1_100: MISSING}
    assert "1 cell is empty in 'm2': no answer" in second.notes
    rows = [{"id": str(n), "label": "ny"[n % 2], "m/probs": [0.2, 0.8], "n/probs": [1.0, 0.0]} for n in range(10)]
    del rows[3]["m/probs"]
    file = tmp_path / "wide.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    model, _ = reading.parse_predictions(reader.read_columns(file)).models
    assert model.state.tolist() == [MISSING if n == 3 else ANSWERED for n in range(10)]


def test_lists_of_scores_for_words_of_ones_own_are_asked_about(tmp_path):
    """Nothing says of which label the first score is; the truth beside them is never read as the answers."""
    rows = [{"id": str(n), "label": ("ham", "spam")[n % 2], "m/probs": [0.2, 0.8]} for n in range(10)]
    file = tmp_path / "wide.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    with refuses(DataError, option="label_map", place=file):
        reading.parse_predictions(reader.read_columns(file))
