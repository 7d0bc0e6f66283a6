"""Scores of texts, against rouge-score, sacrebleu and torchmetrics' SQuAD; references and answers from files."""

import json
import random

import pytest
import sacrebleu
from refusals import refuses
from rouge_score.rouge_scorer import RougeScorer
from torchmetrics.functional.text import squad

from factors import Example
from ranker import decide, report
from ranker.errors import Assumption, DataError, UnknownName, UsageError
from ranker.runs.rows import RowsFile, labelled
from ranker.tasks.text_scores import SCORES, normalise
from ranker.tasks.texts import SpanTask, TextTask

WORDS = """the a An dogs dog running ran Dogs' New York 12 3.5 café not-so well , . ! agreed relational""".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def pairs():
    """(answer, two references) of random words, some of them shared; some answers empty."""
    rng = random.Random(0)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 15))) for _ in range(300)]
    answers = [
        " ".join(rng.sample(text.split(), k=max(1, len(text.split()) - 2)) + rng.choices(WORDS, k=2)) for text in texts
    ]
    second_references = [" ".join(rng.choices(WORDS, k=rng.randint(1, 12))) for _ in texts]
    return list(zip(answers, texts, second_references, strict=True))


@pytest.mark.parametrize("stem", [False, True])
@pytest.mark.parametrize(("name", "theirs"), [("rouge-1", "rouge1"), ("rouge-2", "rouge2"), ("rouge-l", "rougeL")])
def test_rouge_is_that_of_rouge_score(pairs, name, theirs, stem):
    """F1 against the nearest of two references, with stems and without."""
    task = TextTask("text").judged_by(name + (":stem" if stem else ""))
    scorer = RougeScorer([theirs], use_stemmer=stem)
    for answer, first, second in pairs:
        expected = scorer.score_multi([first, second], answer)[theirs].fmeasure
        assert task.outcome(answer, (first, second)) == pytest.approx(expected, abs=1e-12)


def test_chrf_and_bleu_are_those_of_sacrebleu(pairs):
    """Of a row against one reference; and of all rows against two."""
    chrf, bleu = sacrebleu.CHRF(), sacrebleu.BLEU(effective_order=True)
    for answer, first, _ in pairs[:50]:
        assert SCORES["chrf"](answer, first) == pytest.approx(chrf.sentence_score(answer, [first]).score / 100)
        assert SCORES["sentence-bleu"](answer, first) == pytest.approx(bleu.sentence_score(answer, [first]).score / 100)
    answers, first, second = (list(side) for side in zip(*pairs, strict=True))
    metric = TextTask("text").metric_named("bleu")
    rows = metric.statistics(answers, list(zip(first, second, strict=True)))
    expected = sacrebleu.corpus_bleu(answers, [first, second]).score / 100
    assert float(metric.value(rows.mean(axis=0))) == pytest.approx(expected, abs=1e-12)
    assert float(metric.value(metric.statistics(["", None], [("a b",), ("c",)]).mean(axis=0))) == 0.0


def test_f1_and_exact_match_are_those_of_squad(pairs):
    """After its normalisation, against the nearest of two references."""
    for answer, first, second in pairs:
        target = [{"id": "1", "answers": {"text": [first, second], "answer_start": [0, 0]}}]
        expected = squad([{"id": "1", "prediction_text": answer}], target)
        task = SpanTask("spans")
        assert 100 * task.outcome(answer, (first, second)) == pytest.approx(float(expected["f1"]), abs=1e-4)
        outcome = task.judged_by("exact-match").outcome(answer, (first, second))
        assert 100 * outcome == pytest.approx(float(expected["exact_match"]))


MIXED = [("Новый iPad за 300 евро",), ("Apple купила стартап",), ("Рост GDP на 2",)]
CHINESE = [("今天天气很好", "天气不错"), ("我喜欢看书",)]


@pytest.mark.parametrize("name", ["rouge-l", "rouge-1", "rouge-2", "rouge-l:stem", "ROUGE-L"])
def test_rouge_refuses_references_most_of_whose_letters_it_drops(name):
    """Latin names and figures among them would decide alone; each text has some, so that none is refused by itself."""
    with refuses(UsageError, option="metric", value=name.casefold()):
        TextTask("text").judged_by(name).reading_notes(MIXED)
    with refuses(UsageError, option="metric", value="rouge-l"):
        TextTask("text").reading_notes(CHINESE)
    for metric in ("chrf", "equal", "exact-match"):
        assert TextTask("text").judged_by(metric).reading_notes(MIXED + CHINESE) == ()


def test_rouge_tells_of_references_a_part_of_whose_letters_it_drops():
    """Many accents, or a few texts in other letters; some accents are nothing to tell."""
    (note,) = TextTask("text").reading_notes([("Příliš žluťoučký kůň úpěl",), None, ("ódy",)])
    assert isinstance(note, Assumption)
    assert "48 % of the references' letters are others, and most of them in 0 of 2 texts" in note
    (note,) = TextTask("text").reading_notes([("A long story of a dog and of a cat",)] * 9 + [("кот and",), ("псы и",)])
    assert "most of them in 1 of 3 texts" in note
    assert TextTask("text").reading_notes([("The café was closed all day long.",), ("12:30",), ()]) == ()


@pytest.mark.parametrize(
    ("task", "metric"),
    [
        (SpanTask("questions"), ""),
        (TextTask("text").judged_by("sentence-bleu"), ""),
        (TextTask("text").judged_by("chrf"), "bleu"),
    ],
)
def test_a_metric_of_words_tells_of_scripts_without_blanks(task, metric):
    """There a text is one word: what is right in part counts as wrong."""
    (note,) = task.reading_notes(CHINESE, metric)
    assert "100 % of the references' letters are of scripts without blanks" in note
    assert task.reading_notes([("สวัสดี ครับ",)], metric)
    assert task.reading_notes(MIXED, metric) == ()
    assert SpanTask("questions").judged_by("exact-match").reading_notes(CHINESE) == ()


def test_a_text_of_other_letters_has_no_rouge():
    """ROUGE would be 0 for every answer, and nobody would know why."""
    with refuses(UsageError, option="metric", value="собака"):
        TextTask("text").outcome("собака", ("собака сидела",))
    assert TextTask("text").judged_by("chrf").outcome("собака", ("собака",)) == pytest.approx(1.0)
    assert TextTask("text").outcome("!?", ("!?",)) == 0.0


def test_an_empty_answer_is_right_where_there_is_none():
    """A reference of articles and signs alone is dropped, as in SQuAD's official script."""
    assert TextTask("text").judged_by("chrf").outcome(" ", ("a",)) == 0.0
    task = SpanTask("spans")
    rows = [Example("1", ("Who?", "A dog ran."), ()), Example("2", ("Who?", "A dog ran."), ("dog",))]
    assert task.outcomes(task.predictions([None, None]), rows).tolist() == [1.0, 0.0]
    assert task.outcomes(task.predictions(["dog", ""]), rows).tolist() == [0.0, 0.0]
    assert normalise("") == ""
    task = SpanTask("spans")
    passage, empty = ("Which?", "A dog ran, the ..."), ("the", "...")
    rows = [Example("1", passage, empty), Example("2", passage, empty), Example("3", passage, ("dog", "..."))]
    for score in ("token-f1", "exact-match"):
        judged = task.judged_by(score)
        assert judged.outcomes(judged.predictions([None, "dog", "dog"]), rows).tolist() == [1.0, 0.0, 1.0]
        assert judged.outcomes(judged.predictions(["The", "a", "..."]), rows).tolist() == [1.0, 1.0, 0.0]
    assert SCORES["token-f1"]("the", "a") == 1.0


@pytest.mark.parametrize(("cell", "references"), [
    ("A dog.", ("A dog.",)), (["A dog.", "Dogs.", "A dog."], ("A dog.", "Dogs.")),
    ('["A dog.", "Dogs."]', ("A dog.", "Dogs.")), ({"text": ["dog"], "answer_start": [2]}, ("dog",)),
    ([{"text": "dog", "answer_start": 2}], ("dog",)), ("[sic] dogs", ("[sic] dogs",)), (12, ("12",)),
])  # fmt: skip
def test_references_are_read_from_cells_of_many_kinds(cell, references):
    """A text, lists, JSON, and SQuAD's objects."""
    assert TextTask("text").target_of(cell) == references


@pytest.mark.parametrize("cell", [[], ["", " "], [["a"]], {"texts": 1}])
def test_cells_without_a_reference_are_refused(cell):
    """No reference is none, and no list of lists is one."""
    with pytest.raises(ValueError, match="reference"):
        TextTask("text").target_of(cell)


def test_an_answer_outside_its_passage_is_refused():
    """Such a set is not extractive; an empty list says that there is no answer."""
    with pytest.raises(ValueError, match="an answer must be a part of its passage"):
        SpanTask("spans").target_of(["cat"], ("Who?", "A dog ran."))
    assert SpanTask("spans").target_of([], ("Who?", "A dog ran.")) == ()


def test_metrics_are_named_and_unknown_ones_refused():
    """Metrics of all rows together stand apart from means of rows."""
    assert TextTask("text").metric_named("BLEU").name == "bleu"
    assert TextTask("text").judged_by("ROUGE-2").metric == "ROUGE-2"
    assert TextTask("text").metric_named("rouge-2") is None
    for task, name in ((TextTask("text"), "rouge-3"), (SpanTask("spans"), "bleu"), (SpanTask("spans"), "chrf")):
        with pytest.raises(UnknownName) as stop:
            task.metric_named(name)
        assert stop.value.value == name


SQUAD = {
    "version": "v2.0",
    "data": [{"title": "t", "paragraphs": [{"context": "A dog ran to New York.", "qas": [
        {"id": "q1", "question": "Who ran?", "answers": [{"text": "A dog"}, {"text": "dog", "answer_start": 2}]},
        {"id": "q2", "question": "Where to?", "answers": [{"text": "New York"}], "is_impossible": False},
        {"id": "q3", "question": "Why?", "answers": [], "is_impossible": True},
    ]}]}],
}  # fmt: skip


@pytest.mark.more
def test_squad_files_are_rows_and_their_predictions_answers(tmp_path):
    """The official JSON, and a file of {id: text} from each model; "" where there is no answer."""
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(SQUAD))
    for name, answers in (("good", ["the dog", "New York", ""]), ("poor", ["dog ran", "York", "rain"])):
        (tmp_path / f"{name}.json").write_text(json.dumps(dict(zip(("q1", "q2", "q3"), answers, strict=True))))
    rows = labelled(path, SpanTask("spans"))
    assert [row.target for row in rows.examples] == [("A dog", "dog"), ("New York",), ()]
    assert rows.examples[0].segments == ("Who ran?", "A dog ran to New York.")
    models = [str(tmp_path / "good.json"), str(tmp_path / "poor.json")]
    ranking = decide(models, RowsFile(path, "spans"))
    decision = ranking.decision
    assert {model.name: round(model.outcome, 4) for model in decision.models} == {"good": 1.0, "poor": 0.4444}
    assert not [note for note in ranking.header.notes if "counts as wrong" in note]
    assert (decision.rows[2].label, decision.rows[2].predicted["poor"]) == ("no answer", "rain")
    exact = decide(models, RowsFile(path, "spans"), metric="exact-match")
    assert exact.header.metric == "EXACT-MATCH"
    assert [model.outcome for model in exact.decision.models] == [1.0, 0.0]


def test_a_question_of_squad_needs_its_parts(tmp_path):
    """Without answers it is left out and counted; another part that lacks is named in one line."""
    questions = [*SQUAD["data"][0]["paragraphs"][0]["qas"], {"id": "q4", "question": "When?"}]
    file = tmp_path / "dev.json"
    file.write_text(json.dumps({"data": [{"paragraphs": [{"context": "A dog ran to New York.", "qas": questions}]}]}))
    rows = labelled(file, SpanTask("spans"))
    assert [row.id for row in rows.examples] == ["q1", "q2", "q3"]
    assert "1 row has no label yet, and counts only in a pool (`pool`)." in rows.notes
    file.write_text(json.dumps({"data": [{"paragraphs": [{"context": "A dog ran.", "qas": questions[3:]}]}]}))
    with refuses(DataError, option="answers", place=file):
        labelled(file, SpanTask("spans"))
    path = tmp_path / "dev.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [{"context": "A dog ran.", "qas": [{"id": "1"}]}]}]}))
    with refuses(DataError, place=f"{path}, article 1"):
        labelled(path, SpanTask("spans"))


def test_references_that_are_empty_are_none(tmp_path):
    """Several columns are several references, a row without any is left out, and a file of such is refused."""
    rows = [
        {"id": "a", "dialogue": "A: Hi.", "summary1": "They meet.", "summary2": "A greets."},
        {"id": "b", "dialogue": "B: Bye.", "summary1": "", "summary2": "B leaves."},
        {"id": "c", "dialogue": "C: Oh.", "summary1": "", "summary2": ""},
    ]
    read_rows = labelled(rows, TextTask("text"), columns={"label": ["summary1", "summary2"]})
    assert [row.target for row in read_rows.examples] == [("They meet.", "A greets."), ("B leaves.",)]
    assert any("1 row" in note for note in read_rows.notes)
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a", "references": ["b"]}\n{"text": "c", "references": []}\n')
    rows = labelled(path, TextTask("text"))
    assert [row.target for row in rows.examples] == [("b",)]
    assert any("1 row" in note for note in rows.notes)
    path.write_text('{"text": "a", "references": []}\n')
    with refuses(DataError, option="references", place=path):
        labelled(path, TextTask("text"))


def test_words_for_nothing_are_texts_here(tmp_path):
    """A reference "None" is a text, and so is an answer."""
    cells = [{"text": "Who?", "reference": "None"}, {"text": "Who else?", "reference": "Ann"}]
    rows = labelled(cells, TextTask("text"))
    assert [row.target for row in rows.examples] == [("None",), ("Ann",)]


def test_an_answer_that_copies_a_whole_text_stays_an_answer(tmp_path):
    """A summary equal to its document does not make the column of answers one of texts."""
    rows = tmp_path / "rows.csv"
    rows.write_text("id,document,reference\n1,The dog sat.,A dog.\n2,A cat ran. It rained.,A cat.\n3,x y z,x\n")
    for name in ("lead", "other"):
        (tmp_path / f"{name}.csv").write_text(f"id,answer\n1,The dog sat.\n2,{name}\n3,b\n")
    files = [str(tmp_path / f"{name}.csv") for name in ("lead", "other")]
    assert decide(files, RowsFile(rows, "text"), metric="token-f1").table.models == ("lead", "other")


def test_a_report_has_the_reference_and_each_answer_with_its_outcome(tmp_path):
    """Texts that are good in part are not called wrong, and no table has a column for each reference."""
    rows, long = tmp_path / "rows.csv", "word " * 100
    rows.write_text(f"id,text,reference\n1,a,The dog sat.\n2,b,A cat ran.\n3,c,{long}\n")
    for name, answers in (("one", ("The dog ran.", "A cat ran.", long)), ("two", ("", "A cow ran.", "Rain."))):
        lines = [f"{n},{answer}" for n, answer in enumerate(answers, 1)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,prediction", *lines]))
    ranking = decide([str(tmp_path / "one.csv"), str(tmp_path / "two.csv")], RowsFile(rows, "text"), metric="token-f1")
    text = report.render(ranking, "markdown")
    assert "| 1 | a | The dog sat. | The dog ran. (0.5) | no answer (0) |" in text
    assert "| 2 | b | A cat ran. | A cat ran. (1) | A cow ran. (0.5) |" in text
    assert f"| 3 | c | {long[:200]}… | {long[:200]}… (1) | Rain. (0) |" in text
    assert "by true label" not in text


@pytest.mark.more
def test_a_run_by_rouge_is_refused_off_latin(tmp_path, rank_models):
    """Models with all names right are not called equal where nothing else is read; chrF tells them apart."""
    (tmp_path / "rows.csv").write_text("id,reference\n" + "\n".join(f"{n},{text}" for n, (text,) in enumerate(MIXED)))
    answers = {"a": [text for (text,) in MIXED], "b": ["iPad 300 даром", "Apple разорилась", "GDP упал на 2"]}
    for name, texts in answers.items():
        cells = "\n".join(f"{n},{text}" for n, text in enumerate(texts))
        (tmp_path / f"{name}.csv").write_text(f"id,prediction\n{cells}")
    command = ["--data", tmp_path / "rows.csv", "--task", "text", "--models", tmp_path / "a.csv", tmp_path / "b.csv"]
    status, out, err = rank_models(*command)
    assert (status, out) == (2, "")
    assert "`--metric chrf` reads any" in err
    status, out, _ = rank_models(*command, "--metric", "chrf")
    assert (status, "1     a" in out) == (0, True)
