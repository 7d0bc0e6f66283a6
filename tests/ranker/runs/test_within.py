import csv
import json
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

from ranker import TextSource, decide, decide_within
from ranker.errors import DataError, UsageError


class Word(TextSource):
    """A model that says yes where its own word stands."""

    def labels(self):
        """Two."""
        return ("no", "yes")

    def content(self):
        """The model's word."""
        return self.name

    def probabilities(self, texts):
        """Sure of itself."""
        return np.array([[0.1, 0.9] if self.name in text.split() else [0.9, 0.1] for (text,) in texts])


def rows(part, word, size):
    """Texts of a part in which one word means yes; the other word stands in every other of them."""
    other_word = {"alpha": "beta", "beta": "alpha"}[word]
    return [
        {
            "text": f"{part} {n} {word if n % 2 else ''} {other_word if n % 3 else ''}",
            "label": "yes" if n % 2 else "no",
            "source": part,
        }
        for n in range(size)
    ]


def write(path, lines):
    """A JSON lines file."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


MODELS = [Word("alpha"), Word("beta")]


def test_the_best_model_differs(tmp_path):
    """One model is always right in one part, and the other in the other."""
    file = write(tmp_path / "rows.jsonl", rows("mail", "alpha", 40) + rows("web", "beta", 40))
    parts = decide_within(MODELS, file, "source")
    assert [part.name for part in parts.tasks] == ["mail", "web"]
    values = {(part.name, mean.model): mean.value for part in parts.tasks for mean in part.means}
    assert (values["mail", "alpha"], values["web", "beta"]) == (1.0, 1.0)
    assert values["mail", "beta"] < 0.7
    assert parts.notes[-1] == (
        "The best model differs: alpha is better than beta in mail, and beta is better than alpha in web. "
        "First are alpha in mail, beta in web."
    )


def test_each_part_is_a_decision_of_its_own(tmp_path):
    """With the numbers that its rows alone give."""
    mail = rows("mail", "alpha", 30)
    file = write(tmp_path / "rows.jsonl", mail + rows("web", "beta", 30))
    decision = decide_within(MODELS, file, "source").rankings["mail"].decision
    alone = decide(MODELS, mail).decision
    assert [(model.name, model.outcome, model.p_best) for model in decision.models] == [
        (model.name, model.outcome, model.p_best) for model in alone.models
    ]


@pytest.mark.more
def test_the_same_model_is_best_everywhere(tmp_path):
    """And where two parts have other firsts, but too few rows, nothing is claimed."""
    same = write(tmp_path / "same.jsonl", rows("mail", "alpha", 30) + rows("web", "alpha", 30))
    assert decide_within(MODELS, same, "source").notes[-1] == (
        "The best model does not differ: alpha is first in every part."
    )
    few = write(tmp_path / "few.jsonl", rows("mail", "alpha", 30) + rows("web", "beta", 3))
    assert decide_within(MODELS, few, "source").notes[-1].startswith("It is uncertain whether the best model differs")


@pytest.mark.parametrize(
    ("column", "error_type", "fields"),
    [("source", UsageError, {"option": "within", "value": 1}), ("where", DataError, {"place": "rows.jsonl, line 1"})],
)
def test_what_is_no_split_is_refused(tmp_path, monkeypatch, column, error_type, fields):
    """One value, or no such column."""
    monkeypatch.chdir(tmp_path)
    file = write(Path("rows.jsonl"), rows("mail", "alpha", 30))
    with refuses(error_type, **fields):
        decide_within(MODELS, file, column)


def test_the_command_line_says_it(tmp_path, monkeypatch, rank_models):
    """By a table of predictions; other options of one decision are refused."""
    monkeypatch.chdir(tmp_path)
    lines = rows("mail", "alpha", 40) + rows("web", "beta", 40)
    write(tmp_path / "rows.jsonl", lines)
    with open("answers.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["text", "alpha", "beta"])
        for row in lines:
            words = row["text"].split()
            table.writerow([row["text"], *("yes" if name in words else "no" for name in ("alpha", "beta"))])
    arguments = ["--data", "rows.jsonl", "--within", "source", "--models", "answers.csv", "--quiet"]
    status, out, _ = rank_models(*arguments)
    assert not status
    assert " ".join(out.split()).count("The best model differs: alpha is better than beta in mail") == 1
    for wrong, expected in (
        ([*arguments, "--not-worse-than", "alpha"], "`--not-worse-than` is for one decision, without `--within`"),
        (["--within", "source", *arguments[4:]], "`--within` is for `--data`"),
    ):
        status, _, err = rank_models(*wrong)
        assert status == 2
        assert expected in err
