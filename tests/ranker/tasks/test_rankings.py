"""Rankings of documents: files of retrieval, metrics equal to trec_eval's, queries and documents that nobody judged."""

import gzip
import json
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factors import Example
from ranker import UsageError
from ranker.errors import DataError, UnknownName
from ranker.files.reader import read_columns
from ranker.limits import Limits
from ranker.tasks.rankings import RankingTask

METRICS = {
    "ndcg@10": "nDCG@10", "ndcg": "nDCG", "mrr@10": "RR", "map": "AP", "map(rel=2)": "AP(rel=2)",
    "recall@5": "R@5", "precision(rel=2)@3": "P(rel=2)@3", "hit@1": "Success@1", "judged@10": "Judged@10",
    "bpref": "Bpref",
}  # fmt: skip


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_metrics_are_those_of_trec_eval(seed):
    """With equal scores, unjudged documents, negative grades, and queries without a ranking, which count 0."""
    # RR has no cutoff, but is that of the first ten: with one, ir-measures orders equal scores otherwise
    rng = np.random.default_rng(seed)
    names, levels = [f"d{n}" for n in range(15)], [0.5, 1.0, 1.0 + 1e-9]
    qrels = {f"q{n}": {doc: int(rng.integers(-1, 4)) for doc in rng.choice(names, 8, replace=False)} for n in range(4)}
    run = {
        query: {doc: float(rng.choice([*levels, rng.random()])) for doc in rng.choice(names, 9, replace=False)}
        for query in qrels
    }
    rows = [Example(query, ("",), RankingTask("s").target_of(json.dumps(grades))) for query, grades in qrels.items()]
    for metric, measure in METRICS.items():
        task = RankingTask("s").judged_by(metric)
        answers = [task.answer_of(json.dumps(run[query])) if query != "q3" else None for query in qrels]
        outcomes = task.outcomes(task.predictions(answers), rows)
        given_run = {query: scores for query, scores in run.items() if query != "q3"}
        results = ir_measures.iter_calc([ir_measures.parse_measure(measure)], qrels, given_run)
        expected = {value.query_id: value.value for value in results}
        by_query = [*(expected[query] for query in ("q0", "q1", "q2")), 0.0]
        assert outcomes.tolist() == pytest.approx(by_query, abs=1e-9), metric


def test_lists_of_judged_documents_leave_the_others_out():
    """A new retriever is not punished for documents that nobody judged."""
    task = RankingTask("s").judged_by("ndcg@2:judged")
    rows = [Example("q", ("",), task.target_of({"a": 1, "b": 0}))]
    answers = task.predictions([task.answer_of(["new", "newer", "a"])])
    assert task.outcomes(answers, rows).tolist() == [1.0]
    assert RankingTask("s").judged_by("ndcg@2").outcomes(answers, rows).tolist() == [0.0]


@pytest.mark.parametrize("metric", ["ndcg@2:judged", "bpref", "judged@2"])
def test_rankings_are_alike_by_what_both_found(metric):
    """A metric that leaves out unjudged documents would find all rankings alike, since others' documents are all."""
    task = RankingTask("s").judged_by(metric)
    rankings = [task.predictions([task.answer_of(documents)]) for documents in (["a", "b"], ["b", "c"], ["c", "d"])]
    alike = [[float(task.similarity(first, second)[0]) for second in rankings] for first in rankings]
    plain = RankingTask("s").judged_by("ndcg@2" if "ndcg" in metric else "ndcg@10")
    assert alike == [[float(plain.similarity(first, second)[0]) for second in rankings] for first in rankings]
    assert alike[0][0] == 1 > alike[0][1] > alike[0][2] == 0


@pytest.mark.parametrize(
    ("metric", "error", "text"),
    [
        ("recall", UsageError, "recall needs a cutoff, such as recall@10"),
        ("ndcg(rel=2)@10", UsageError, "ndcg reads all grades, and has no level"),
        ("err@10", UnknownName, "there is no metric of rankings 'err@10'"),
        ("ndcg@0", UnknownName, "there is no metric of rankings 'ndcg@0'"),
    ],
)
def test_a_metric_that_does_not_exist_is_named(metric, error, text):
    """Or one that lacks its cutoff."""
    with pytest.raises(error, match=text.replace("(", r"\(").replace(")", r"\)")):
        RankingTask("s").judged_by(metric)


FORMS = {
    "run.run": "q1 Q0 d1 1 2.5 bm25\nq2 Q0 d7 1 1.0 bm25\nq1 Q0 d2 2 0.5 bm25\n",
    "run.txt": "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 0.5 bm25\nq2 Q0 d7 1 1.0 bm25\n",
    "run.json": '{"q1": {"d2": 0.5, "d1": 2.5}, "q2": {"d7": 1.0}}',
    "run.csv": "query_id,doc_id,score\nq1,d2,0.5\nq1,d1,2.5\nq2,d7,1.0\n",
    "ranks.tsv": "id\tdocument\trank\nq1\td2\t2\nq1\td1\t1\nq2\td7\t1\n",
    "lists.jsonl": '{"id": "q1", "prediction": ["d1", "d2"]}\n{"id": "q2", "prediction": ["d7"]}\n',
    "chain.jsonl": '{"id": "q1", "prediction": [{"page_content": "x", "metadata": {"id": "d1"}}, {"id": "d2"}]}\n'
    '{"id": "q2", "prediction": [{"id": "d7"}]}\n',
}
JUDGED = {
    "people.qrels": "q1 0 d1 2\nq1 0 d2 0\nq2 0 d7 1\n",
    "people.json": '{"q1": {"d1": 2, "d2": 0}, "q2": {"d7": 1}}',
    "people.csv": "query-id,corpus-id,relevance\nq1,d1,2\nq1,d2,0\nq2,d7,1\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with runs and judgements in each form, one of them gzipped."""
    monkeypatch.chdir(tmp_path)
    for name, content in (FORMS | JUDGED).items():
        Path(name).write_text(content)
    with gzip.open("packed.run.gz", "wt") as file:
        file.write(FORMS["run.run"])
    return tmp_path


def test_files_of_retrieval_are_read(folder):
    """Runs and judgements of TREC, BEIR and ranx, tables by documents, and lists as retrievers return them."""
    task = RankingTask("s")
    for name in (*FORMS, "packed.run.gz"):
        columns = read_columns(Path(name), nested=("prediction",))
        cells = columns.values("prediction")
        assert [task.answer_of(cell) for cell in cells] == [("d1", "d2"), ("d7",)], name
    for name in JUDGED:
        cells = read_columns(Path(name)).values("reference")
        assert [task.target_of(cell) for cell in cells] == [(("d1", 2), ("d2", 0)), (("d7", 1),)], name


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("q1 Q0 d1 1 2.0 t\nq1 Q0 d1 2 1.0 t\n", "line 2: the document 'd1' stands twice for the query 'q1'"),
        ("q1 Q0 d1 1 2.0 t\nq1 Q0 d2\n", "line 2: a line needs query, Q0, document, rank, score and tag"),
        ("q1 Q0 d1 1 1e999 t\n", "line 1: a score must be a number"),
    ],
)
def test_a_bad_line_is_named(folder, content, text):
    """A document twice, a line that ends early, and a score that is no number."""
    Path("bad.run").write_text(content)
    with pytest.raises(DataError, match=text):
        read_columns(Path("bad.run"))


def test_more_lines_than_the_limit_are_refused(folder):
    """In one line that names the limit."""
    with pytest.raises(DataError, match="more than 2 cells"):
        read_columns(Path("run.run"), limits=Limits(values=2))


def test_a_query_without_grades_is_counted(folder, rank_models):
    """Queries of the runs that nobody judged are only in the files, and said."""
    write_search()
    out = rank_models("--data", "people.qrels", "--models", "good.run", "poor.run")[1]
    assert "20 rows are only in the file" in " ".join(out.split())


def test_records_and_texts_with_a_score_stay_rows(folder):
    """Objects with the same keys, and texts with a score, are rows with these columns."""
    for second in ('{"score": 0.7, "loss": 0.5}', '{"score": 0.7}'):
        Path("records.json").write_text(f'{{"r1": {{"score": 0.5, "loss": 1.0}}, "r2": {second}}}')
        assert {*read_columns(Path("records.json")).cells} == {"id", "score", "loss"}
    for rows in ("1,A dog ran.,0.5\n2,A cat sat.,0.7\n2,A hen sat.,0.2\n", "1,Lovely,0.5\n2,Dull,0.7\n"):
        Path("texts.csv").write_text(f"id,document,score\n{rows}")
        assert {*read_columns(Path("texts.csv")).cells} == {"id", "document", "score"}


def write_search(rows=30):
    """A run of three systems, graded by people for ten queries, and by a judge for all."""
    rng = np.random.default_rng(0)
    documents = [f"d{n}" for n in range(40)]
    relevant = {f"q{n}": [*rng.choice(documents, 6, replace=False)] for n in range(rows)}
    for system, noise in (("good", 0.4), ("fair", 0.9), ("poor", 1.6)):
        lines = []
        for query, right in relevant.items():
            scores = {name: (name in right) + rng.normal(0, noise) for name in documents}
            ordered = sorted(documents, key=lambda name: -scores[name])[:12]
            lines += [f"{query} Q0 {name} {n + 1} {scores[name]} {system}\n" for n, name in enumerate(ordered)]
        Path(f"{system}.run").write_text("".join(lines))
    graded = {"people": [f"q{n}" for n in range(10)], "gpt": [*relevant]}
    for grader, queries in graded.items():
        lines = [f"{query} 0 {name} {int(name in relevant[query])}\n" for query in queries for name in documents[:35]]
        Path(f"{grader}.qrels").write_text("".join(lines))
    Path("pool.csv").write_text("id\n" + "".join(f"{query}\n" for query in relevant))


@pytest.mark.more
def test_systems_are_ranked_by_ten_judged_queries(folder, rank_models):
    """Without a task's name; with a pool of queries, a judge's grades, another metric, and documents nobody judged."""
    write_search()
    models = ("--models", "good.run", "fair.run", "poor.run")
    out = rank_models("--data", "people.qrels", *models)[1]
    assert "models on people: 3 models, K = 10" in out
    assert "Nobody judged these of the first 10 documents: " in " ".join(out.split())
    assert "NDCG@10 puts good first" in out
    assert "MAP(REL=1) puts good first" in rank_models("--data", "people.qrels", *models, "--metric", "map(rel=1)")[1]
    assert "ANCHORS puts good first" in rank_models("--data", "people.qrels", *models, "--pool", "pool.csv")[1]
    status, out, _ = rank_models("--data", "people.qrels", *models, "--judge", "gpt.qrels")
    assert (status, "ANCHORS puts good first" in out) == (0, True)
    content = json.loads(rank_models("--data", "people.qrels", *models, "--format", "json")[1])
    assert [model["name"] for model in content["decision"]["models"]] == ["good", "fair", "poor"]


def test_a_query_missing_from_a_run_counts_0(folder, rank_models):
    """As `trec_eval -c` counts it, and it is said."""
    write_search()
    lines = [line for line in Path("good.run").read_text().splitlines() if line.split()[0] not in ("q0", "q1", "q2")]
    Path("good.run").write_text("\n".join(lines) + "\n")
    command = ("--data", "people.qrels", "--models", "good.run", "poor.run")
    assert json.loads(rank_models(*command, "--format", "json")[1])["decision"]["rows"] is not None
    out = rank_models(*command)[1]
    assert "K = 10" in out
    assert "good: 3 rows have no answer" in out
