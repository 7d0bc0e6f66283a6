"""Questions about ambiguous files, with the first rows as each reading has them."""

import pytest
from tables_made import written

from ranker import SourceOptions, TableOptions, decide, labelled
from ranker.commands.program import MAX_QUESTION_LINES, describe_readings
from ranker.errors import DataError, FileReading, Question, UsageError
from ranker.sources.base import ResourceCache
from ranker.sources.tables.kind import TableModel

BITS = "id,bert,gpt\nr1,1,1\nr2,0,1\nr3,1,0\n"

TURNS = "id,turn,label,m\na,1,x,x\na,2,x,y\nb,1,y,x\nb,2,y,y\n"

ASKED = {
    "labels or outcomes": (BITS, [{"answers": "labels"}, {"answers": "outcomes"}]),
    "which truth": ("id,gold,label\na,x,x\nb,y,x\n", [{"prediction": ("gold",)}, {"prediction": ("label",)}]),
    "which answers": (
        "id,label,m_pred,n\na,x,x,y\nb,y,x,y\n",
        [{"prediction": ("m_pred",)}, {"prediction": ("m_pred", "n")}],
    ),
    "rows or runs": (
        TURNS,
        [{"id_column": ("id", "turn")}, *({"runs": treatment} for treatment in ("newest", "mean", "each"))],
    ),
    "runs or rows": (
        TURNS.replace("turn", "seed"),
        [{"id_column": ("id", "seed")}, *({"runs": treatment} for treatment in ("newest", "mean", "each"))],
    ),
    "a label or two": (
        "id,label,m\na,no,no\nb,yes,no\nc,YES,yes\n",
        [{"label_map": {"YES": "yes"}}, {"label_map": {"yes": "yes", "YES": "YES"}}],
    ),
    "a label or none": ("id,m\na,x\nb,y\nc,N/A\n", [{"empty_words": ("N/A",)}, {"empty_words": ()}]),
}


def question(path, content, **options):
    """Read a file, and return the question that it raises."""
    kinds = [TableOptions(**options)]
    model = TableModel("m", str(written(path, content)), options=SourceOptions(kinds=kinds))
    with pytest.raises(Question) as stop:
        model.reading(ResourceCache())
    assert "\n" not in str(stop.value)
    return model, stop.value


def test_answers_that_no_task_reads_are_shown_as_they_are_written(tmp_path):
    """Which column holds them, and which of several runs; rows of others than a run's are none of its."""
    _, error = question(tmp_path / "a.csv", "id,first,second\na,Oh.,Ah.\nb,Eh.,\n", answers="values")
    assert [(reading.answer, reading.preview) for reading in error.readings] == [
        ("`prediction=first`", ("first: 2 rows, values", "a: Oh.", "b: Eh.")),
        ("`prediction=second`", ("second: 2 rows, values", "a: Ah.", "b: no answer")),
    ]
    runs = "id,seed,output\na,1,Oh.\na,2,Ah.\nb,1,Eh.\n"
    _, error = question(tmp_path / "a.csv", runs, answers="values", runs="mean")
    assert [(reading.answer, reading.preview) for reading in error.readings] == [
        ("`runs=newest`", ("a: 2 rows, values", "a: Ah.", "b: not asked")),
        ("`runs=each`", ("a@1, a@2: 2 rows, values", "a: a@1 Oh., a@2 Ah.", "b: a@1 Eh., a@2 not asked")),
    ]


@pytest.mark.parametrize("case", ASKED)
def test_each_way_to_read_a_file_is_shown_as_it_is_read(tmp_path, case):
    """The options of a reading are those of its answer, and nothing is asked or refused with them."""
    content, ways = ASKED[case]
    model, error = question(tmp_path / "a.csv", content)
    assert [reading.options for reading in error.readings] == ways
    assert len({reading.preview for reading in error.readings}) == len(ways)
    for reading in error.readings:
        (option,) = reading.options
        assert reading.answer.startswith(f"`{option}=")
        models = model.answering(reading.options).reading(ResourceCache()).models
        assert reading.preview[0].startswith(f"{', '.join(model.name for model in models)}: {len(models[0])} rows, ")


def test_rows_on_which_readings_differ_come_first(tmp_path):
    """The third row alone tells what the question is about; of the others the first is shown, too."""
    _, error = question(tmp_path / "a.csv", ASKED["a label or two"][0])
    assert [reading.preview for reading in error.readings] == [
        ("a: 3 rows, labels no/yes", "a: no (truth no)", "c: yes (truth yes)"),
        ("a: 3 rows, labels no/YES/yes", "a: no (truth no)", "c: yes (truth YES)"),
    ]


def test_answers_of_all_kinds_are_shown_in_words(tmp_path):
    """Probabilities have their label, shares of a row are numbers, and a cell without an answer says so."""
    _, error = question(tmp_path / "a.csv", "id,label,m\na,fake,0.75\nb,real,\n", answers="probabilities")
    assert [reading.preview[1:] for reading in error.readings] == [
        ("a: fake 0.75 (truth fake)", "b: failed (truth real)"),
        ("a: real 0.75 (truth fake)", "b: failed (truth real)"),
    ]
    _, error = question(tmp_path / "a.csv", "id,label,s\na,no,0.75\nb,yes,1\n", prediction=("s",))
    previews = {reading.options["answers"]: reading.preview for reading in error.readings}
    assert previews["outcomes"] == ("s: 2 rows, outcomes", "a: 0.75", "b: right")
    assert previews["labels"] == ("s: 2 rows, labels no/yes", "a: no answer (truth no)", "b: yes (truth yes)")
    assert error.readings[1].preview[0].startswith("s: 2 rows, logits no/yes")


def test_a_way_by_which_a_file_cannot_be_read_says_why(tmp_path):
    """Runs of one row have one truth, so these are other rows."""
    _, error = question(tmp_path / "a.csv", TURNS.replace("a,2,x", "a,2,y"))
    assert error.readings[0].preview[0] == "a: 4 rows, labels x/y"
    assert {reading.preview for reading in error.readings[1:]} == {("refused: the row 'a' has two truths in 'label'",)}


def test_numbers_of_two_labels_are_shown_as_either(tmp_path):
    """Nothing says which of the rows' labels 1 is."""
    rows = written(tmp_path / "rows.csv", "id,label\na,fake\nb,real\n")
    model = str(written(tmp_path / "m.csv", "id,prediction\na,1\nb,0\n"))
    with pytest.raises(Question) as stop:
        decide([model, f"n={model}"], rows)
    assert [(dict(reading.options["label_map"]), reading.preview[1]) for reading in stop.value.readings] == [
        ({"0": "real", "1": "fake"}, "a: fake (truth fake)"),
        ({"0": "fake", "1": "real"}, "a: real (truth fake)"),
    ]


def test_a_way_that_leads_to_another_question_says_so(tmp_path):
    """A score of two labels without an order is of either."""
    _, error = question(tmp_path / "a.csv", "id,label,s\na,fake,0.75\nb,real,0.5\n", prediction=("s",))
    assert error.readings[0].options == {"answers": "probabilities"}
    assert error.readings[0].preview == (
        'asks further: \'s\' is the score of one label, and only you know of which; say `label_map={"s": "fake"}` or '
        '`label_map={"s": "real"}`',
    )


def test_ids_of_rows_are_shown_beside_the_answers_that_each_column_gives(tmp_path):
    """The file numbers the rows by `id` or by `idx`, and the answers go to other rows."""
    rows = written(tmp_path / "rows.csv", "id,idx,label\n1,2,pos\n2,1,neg\n3,4,pos\n4,3,neg\n")
    model = str(written(tmp_path / "a.csv", "idx,prediction\n1,pos\n2,neg\n3,pos\n4,neg\n"))
    with pytest.raises(Question) as stop:
        decide([model, f"b={model}"], rows)
    assert [(reading.answer, reading.preview[1]) for reading in stop.value.readings] == [
        ("`columns id=id`", "1: pos (truth pos)"),
        ("`columns id=idx`", "1: neg (truth pos)"),
    ]


def test_labels_of_rows_are_shown_as_each_answer_names_them(tmp_path):
    """By each task that counts them, and with a word for nothing as a label or as none."""
    rows = [{"premise": "It rang.", "hypothesis": "It did.", "label": label} for label in ("1", "0")]
    with pytest.raises(Question) as stop:
        labelled(rows)
    first = {reading.answer: reading.preview[1] for reading in stop.value.readings}
    assert first["`task=nli`"] == "row 1: entailment"
    assert first["`task=paraphrase`"] == "row 1: paraphrase"
    model = str(written(tmp_path / "m.csv", "id,prediction\n1,x\n2,y\n3,x\n"))
    with pytest.raises(Question) as stop:
        decide([model, f"n={model}"], written(tmp_path / "rows.csv", "id,label\n1,x\n2,y\n3,N/A\n"))
    assert [reading.preview[::2] for reading in stop.value.readings] == [
        ("3 rows, labels x/y", f"{tmp_path}/rows.csv, line 4: no label"),
        ("3 rows, labels x/y/N/A", f"{tmp_path}/rows.csv, line 4: N/A"),
    ]


def test_an_error_that_quotes_a_question_shows_its_readings(tmp_path):
    """A file of one model, alone and beside another, and an error with another one as its cause."""
    clear = str(written(tmp_path / "one.csv", BITS.replace(",gpt", "").replace("1,1\n", "1\n")))
    two = str(written(tmp_path / "two.csv", BITS))
    for models in ([two], [two, clear]):
        with pytest.raises(UsageError) as stop:
            decide(models)
        assert [reading.options["answers"] for reading in stop.value.readings] == ["labels", "outcomes"]
    for error in (DataError.at("a.csv", stop.value), UsageError.like(stop.value)):
        assert error.readings == stop.value.readings


def test_an_unclear_file_is_asked_about_and_not_left_out(tmp_path):
    """Its model would be missing, although an option reads it."""
    rows = written(tmp_path / "rows.csv", "id,label\nr1,pos\nr2,neg\nr3,pos\n")
    clear = written(tmp_path / "clear.csv", "id,m\nr1,pos\nr2,pos\nr3,neg\n")
    unclear = written(tmp_path / "unclear.csv", "id,n\nr1,1\nr2,0\nr3,1\n")
    with pytest.raises(Question) as stop:
        decide([str(clear), str(unclear)], rows)
    assert [reading.preview[1] for reading in stop.value.readings] == ["r1: pos (truth pos)", "r1: right"]


def test_questions_are_rendered_below_their_line(tmp_path, monkeypatch, rank_models):
    """What to type heads each block."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    written(tmp_path / "bits.csv", BITS)
    assert rank_models("run", "--models", "bits.csv") == (
        2,
        "",
        """\
rank-models: bits.csv: 'bert' and 'gpt' hold 0 and 1, which may be labels, or say whether an answer is right; \
`--answers` says which: labels, outcomes
  --answers labels  →  bert, gpt: 3 rows, labels 0/1
    r1: bert 1, gpt 1
    r2: bert 0, gpt 1
  --answers outcomes  →  bert, gpt: 3 rows, outcomes
    r1: bert right, gpt right
    r2: bert wrong, gpt right
""",
    )
    written(tmp_path / "turns.csv", TURNS)
    assert rank_models("run", "--models", "turns.csv") == (
        2,
        "",
        """\
rank-models: turns.csv, rows 1 and 2: two answers are given to the row 'a', and to 1 more, which 'turn' tells apart; \
`--id-column id` `--id-column turn` if these are other rows, `--runs` (newest, mean, each) if they are runs of one
  --id-column id --id-column turn  →  turns: 4 rows, labels x/y
  --runs newest  →  turns: 2 rows, labels x/y
  --runs mean  →  turns: 2 rows, outcomes
  --runs each  →  turns@1, turns@2: 2 rows, labels x/y
""",
    )


def test_readings_have_as_many_lines_as_there_are_and_the_width_of_the_terminal(monkeypatch):
    """More readings have fewer rows each, and those without a preview none: what to type is in the question."""
    monkeypatch.setenv("COLUMNS", "30")
    rows = ("m: 9 rows, labels no/yes", *(f"r{n}: yes" for n in range(9)))
    for count, lines in ((2, 6), (3, 6), (4, 4), (7, 7), (9, 7)):
        readings = [FileReading.by("prediction", f"column {n}")._replace(preview=rows) for n in range(count)]
        lines_shown = describe_readings(readings)
        assert len(lines_shown) == lines <= MAX_QUESTION_LINES
        assert max(map(len, lines_shown)) == 30
        assert lines_shown[0] == "  prediction=column 0  →  m..."
    assert describe_readings([FileReading.by("answers", "labels"), FileReading.by("answers", "outcomes")]) == []
