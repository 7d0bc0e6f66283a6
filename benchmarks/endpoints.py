"""One language model behind a server and in this process: the same prompts, rows and words.

    python -m benchmarks.endpoints DATA MODEL http://127.0.0.1:8080/v1

DATA is the folder of the real files (see docs/data.md), MODEL that of a language model. The server has the same model,
which it may have quantised otherwise. Printed are the share of equal predictions, and how far the log-probabilities of
the words are apart.
"""

from __future__ import annotations

import uuid
from pathlib import Path

import click
import numpy as np

from benchmarks.labels import table
from benchmarks.llms import MOOD
from benchmarks.shift_domains import sentiment
from benchmarks.single_texts import shuffled
from factors import Example
from ranker.commands.options import PATH
from ranker.sources.base import Machine, ResourceCache
from ranker.sources.endpoint.client import Server
from ranker.sources.endpoint.kind import EndpointModel
from ranker.sources.endpoint.options import EndpointOptions
from ranker.sources.endpoint.scoring import ServerScorer
from ranker.sources.lm import prompts
from ranker.sources.lm.kind import PromptedModel
from ranker.sources.lm.scoring import LabelScorer

PROMPTS = ("sentiment/review", "sentiment/question", "sentiment/like")
"""Built-in prompts, whose words are single tokens of the models that were measured."""


@click.command(help=__doc__)
@click.argument("data", type=PATH)
@click.argument("model", type=PATH)
@click.argument("url")
@click.option("--rows", default=100)
def main(data: Path, model: Path, url: str, rows: int) -> None:
    """Print the comparison."""
    examples = [
        Example(f"{number}", (str(row["text"]),), MOOD.labels.index(str(row["label"])))
        for number, row in enumerate(shuffled(sentiment(data)["sst2-dev"])[:rows])
    ]
    lines = []
    for name in PROMPTS:
        (prompt,) = prompts.load([name])
        local = PromptedModel(name, str(model), prompt=prompt).open(MOOD, Machine(threads=1), ResourceCache())
        server = Server(url, "", EndpointOptions(concurrency=2), uuid.uuid4().hex)
        remote = EndpointModel(name, server, prompt=prompt).open(MOOD, Machine(), ResourceCache())
        assert isinstance(local, LabelScorer)
        assert isinstance(remote, ServerScorer)
        ours = np.concatenate([block.probabilities() for block in local.predict(examples)])
        theirs = np.concatenate([block.probabilities() for block in remote.predict(examples)])
        of_words = np.array([[remote.ask_row(row.segments)[word] for word in remote.way.words] for row in examples])
        local_scores = np.concatenate(list(local.scores.values()))
        apart = np.abs(of_words - local_scores)
        margin = np.abs(np.diff(np.log(ours), axis=1))[:, 0]
        differ = ours.argmax(axis=1) != theirs.argmax(axis=1)
        truth = np.array([row.target for row in examples])
        accuracies = [(probs.argmax(axis=1) == truth).mean() for probs in (ours, theirs)]
        margins = f"{np.sort(margin[differ]).round(2).tolist()} of {np.median(margin):.2f}"
        cells = [name, f"{1 - differ.mean():.1%}", f"{np.median(apart):.3f}", f"{apart.max():.3f}"]
        lines.append([*cells, *(f"{share:.1%}" for share in accuracies), margins])
    head = ["prompt", "same predictions", "log-probability, median", "maximum", "right here", "right there",
            "log-odds where they differ, and the median"]  # fmt: skip
    print(table(head, lines))


if __name__ == "__main__":
    main()
