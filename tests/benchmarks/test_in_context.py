"""Prompts and tables of the comparison of trained and prompted models, and of summarisers."""

import json
import tomllib
from types import SimpleNamespace

import numpy as np
from click.testing import CliRunner

from benchmarks import domainsum, in_context
from benchmarks.in_context import SHOTS, cells, outcomes_of, prompts_of
from factors import BUILTIN
from ranker.datasets import sets
from ranker.results.table import ScoreTable
from ranker.statistics.paired import estimate_difference


def table_of(models, values, examples):
    """A table of one column of outcomes."""
    return ScoreTable(models, (BUILTIN["ACC"],), examples, np.array(values, float)[:, None, :])


def test_rows_are_shown_from_both_domains_where_there_are_some(tmp_path):
    """In its own domain, and without rows beside those that are ranked on, a set has no prompt of a new domain."""
    rows, none = tmp_path / "home.jsonl", tmp_path / "none.jsonl"
    target = tmp_path / "other.jsonl"
    for file, text in ((rows, "{}"), (target, "{}"), (none, "")):
        file.write_text(text)
    prompts = {name: tomllib.loads(text) for name, text in prompts_of("template = '{text}'", rows, target).items()}
    assert {name: prompt["shots"] for name, prompt in prompts.items()} == {
        "zero-shot": 0, "in-domain": SHOTS, "new-domain": SHOTS,
    }  # fmt: skip
    assert (prompts["in-domain"]["demonstrations"], prompts["new-domain"]["demonstrations"]) == (str(rows), str(target))
    assert list(prompts_of("", rows, rows)) == list(prompts_of("", rows, none)) == ["zero-shot", "in-domain"]


def test_trained_models_are_averaged_row_by_row():
    """Two seeds are one line, on the first rows of the test set; the others are compared with it on the same rows."""
    held = table_of(("lm/in-domain/8-shot", "lm/zero-shot"), [[1, 1, 1, 1], [0, 0, 1, 0]], ("a", "b", "c", "d"))
    trained = np.array([[1, 0, 1, 0, 1], [1, 1, 0, 0, 1]], float)
    outcomes = outcomes_of(held, trained)
    assert list(outcomes) == ["trained", "prompt alone", "in-domain rows shown"]
    assert outcomes["trained"].tolist() == [1, 0.5, 0.5, 0]
    gain = estimate_difference(np.array([[0, 0, 1, 0], [1, 0.5, 0.5, 0]]))
    assert cells(outcomes)["prompt alone"] == f"25.0, -25.0 [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]"
    assert cells(outcomes)["trained"].startswith("50.0 [")


def test_short_rows_are_a_set(tmp_path, monkeypatch):
    """The folder is one for `--ood`, of rows with four to ten words."""
    texts = ["too short it", "a fine film", "one two three four", "not a good film at all", "word " * 11]
    rows = [{"text": text.strip(), "label": ("negative", "positive")[n % 2]} for n, text in enumerate(texts)]
    monkeypatch.setattr(in_context, "sentiment", lambda folder: {"sst2-test": rows})
    folder = tmp_path / "short"
    CliRunner().invoke(in_context.short, ["data", str(folder)], catch_exceptions=False)
    held = sets.load("short", include=[tmp_path])
    assert {example.segments[0]: example.target for example in held.examples} == {texts[2]: 0, texts[3]: 1}


def test_runs_of_metrics_are_read_together(tmp_path, monkeypatch):
    """Models are in the order of their names, without that of the set; r over rows is that within sets."""
    examples = ("0", "1")
    values = {"rouge-1": [[0.1, 0.2], [0.3, 0.4]], "rouge-2": [[0, 0], [0, 0.2]], "rouge-l": [[0.1, 0.1], [0.2, 0.3]]}
    lines = [{"id": n, "document": f"the dog ran {n}", "reference": "the dog"} for n in examples]
    (tmp_path / "cnn.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    values |= {"bertscore": [[0.5, 0.6], [0.7, 0.8]]}
    saved = {f"cnn-{metric}.run": table_of(("cnn-lead-3", "d"), values[metric], examples) for metric in values}
    saved["cnn-rouge-2.run"] = table_of(("d", "cnn-lead-3"), values["rouge-2"][::-1], examples)
    monkeypatch.setattr(domainsum.Ranking, "load", lambda file: SimpleNamespace(table=saved[file.name]))
    runs = domainsum.runs_of(tmp_path, "cnn")
    assert runs.models == ("d", "lead-3")
    assert runs.outcomes[:, 0].tolist() == [[0.3, 0.4], [0, 0.2], [0.2, 0.3], [0.7, 0.8]]
    assert runs.measures.shape == (2, 8)
    assert domainsum.centred(np.array([[1.0], [3.0]])).tolist() == [[-1.0], [1.0]]
