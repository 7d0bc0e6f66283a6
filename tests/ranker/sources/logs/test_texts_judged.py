"""Texts in logs, judged again by a metric that the log does not record."""

import pytest
from logmaking import eval_log, lm_log, sample, written_row
from rouge_score.rouge_scorer import RougeScorer

from ranker import decide
from ranker.runs.inspected import inspect_references
from ranker.sources.base import SourceOptions
from ranker.sources.logs.options import LogOptions

QUESTIONS = ["What ran?", "What sat?", "What fell?", "Where to?"]
TARGETS = ["The big dog", "The old cat", "A tree", "New York"]
WRITTEN = {"good": ["The big dog", "An old cat", "A tree fell", ""], "poor": ["dog", "no idea", "A house", "York"]}


def options(**values):
    """The options of a run for its logs."""
    return SourceOptions(kinds=[LogOptions(**values)])


def lm_logs(folder, **metrics):
    """A log of each model; by default without a metric, as with --predict_only."""
    paths = []
    for name, texts in WRITTEN.items():
        rows = [
            written_row(n, {"q": question}, target, text, text, **metrics)
            for n, (question, target, text) in enumerate(zip(QUESTIONS, TARGETS, texts, strict=True))
        ]
        paths.append(str(lm_log(folder / name, rows)))
    return paths


def rouge(texts):
    """Mean ROUGE-L of texts, by rouge-score."""
    scorer = RougeScorer(["rougeL"])
    return sum(scorer.score(true, text)["rougeL"].fmeasure for true, text in zip(TARGETS, texts, strict=True)) / 4


@pytest.mark.parametrize("metrics", [{}, {"exact_match": 0.0}, {"exact_match": 0.0, "other": 1.0}])
def test_logs_of_lm_eval_are_judged_by_a_metric_of_texts(tmp_path, metrics):
    """Whatever they record; an empty answer is 0, and what was done is said."""
    models = inspect_references(lm_logs(tmp_path, **metrics), options(metric="rouge-l"))
    ranking = decide(models)
    assert ranking.header.metric == "ROUGE-L"
    outcomes = {model.name: model.outcome for model in ranking.decision.models}
    assert outcomes == pytest.approx({name: rouge(texts) for name, texts in WRITTEN.items()})
    assert any("The log records no rouge-l; its texts are judged by it." in note for note in ranking.notes)
    assert (ranking.decision.rows[0].label, ranking.decision.rows[0].predicted["poor"]) == ("The big dog", "dog")


def test_a_recorded_metric_goes_first_and_one_of_all_rows_will_do(tmp_path):
    """Users quote the log's own number; BLEU of the corpus is no mean."""
    ranking = decide(inspect_references(lm_logs(tmp_path, chrf=0.5), options(metric="chrf")))
    assert [model.outcome for model in ranking.decision.models] == [0.5, 0.5]
    ranking = decide(inspect_references(lm_logs(tmp_path), options(metric="bleu")))
    assert ranking.decision.metric == "bleu"


def test_logs_of_inspect_are_judged_by_a_metric_of_texts(tmp_path):
    """The answer that was scored, else the whole completion; of epochs the first, which is said."""
    paths = []
    for name, texts in WRITTEN.items():
        samples = []
        for n, (question, target, text) in enumerate(zip(QUESTIONS, TARGETS, texts, strict=True), 1):
            for epoch in (1, 2):
                wrote = text if epoch == 1 else "something else"
                content = {"input": question, "target": [target], "output": {"completion": wrote}}
                samples.append(sample(n, "C", epoch=epoch, answer="" if n > 2 else wrote, **content))
        paths.append(str(eval_log(tmp_path / f"{name}.eval", samples)))
    ranking = decide(inspect_references(paths, options(metric="rouge-l")))
    outcomes = {model.name: model.outcome for model in ranking.decision.models}
    assert outcomes == pytest.approx({name: rouge(texts) for name, texts in WRITTEN.items()})
    assert any("Of 2 epochs the text of the first is judged." in note for note in ranking.notes)


def test_logs_without_texts_or_references_say_so(tmp_path):
    """A log of nothing but empty answers, and rows whose right answer is not logged."""
    rows = [written_row(n, {"q": question}, None, "a text", "a text") for n, question in enumerate(QUESTIONS)]
    paths = [str(lm_log(tmp_path / name, rows)) for name in ("one", "two")]
    infos = inspect_references(paths, options(metric="rouge-l")).infos
    assert any("4 of 4 rows have no reference, and are left out." in note for note in infos[0].notes)
    silent = [written_row(n, {"q": question}, "x", "", "") for n, question in enumerate(QUESTIONS)]
    (info,) = inspect_references([str(lm_log(tmp_path / "silent", silent))], options(metric="rouge-l")).infos
    assert "no metric 'rouge-l'" in info.trouble
