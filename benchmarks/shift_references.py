"""The distances that `rank-models shift` holds others against: `python -m benchmarks.shift_references`, half a minute.

Every two of the sets that come with the product, and of each set two halves: the mean over ten ways to halve it.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ranker.datasets import sets
from ranker.domains import words
from ranker.domains.references import FILE
from ranker.domains.statistics.shift import mmd
from ranker.domains.words import WordCounts

HALVINGS = 10


def squared(first: WordCounts, second: WordCounts, rng: np.random.Generator) -> float:
    """MMD^2 of the words of two sets, as `ranker.domains.shift` measures it."""
    embedding, drawing = rng.spawn(2)
    value = mmd(*words.vectors(words.align_words(first, second), embedding), drawing).squared.value
    assert value is not None  # two texts have one
    return value


def distances() -> dict[tuple[str, str], float]:
    """Pair of sets -> MMD^2; of a set with itself that of its halves."""
    texts = {name: [" ".join(row.segments) for row in sets.load(name).examples] for name in sorted(sets.cards(()))}
    rows = {}
    for name, set_texts in texts.items():
        rng = np.random.default_rng(0)
        values = []
        for _ in range(HALVINGS):
            first, second = (
                words.count_words([set_texts[n] for n in half])
                for half in np.array_split(rng.permutation(len(set_texts)), 2)
            )
            values.append(squared(first, second, rng))
        rows[name, name] = float(np.mean(values))
    for a, b in combinations(texts, 2):
        rows[a, b] = squared(words.count_words(texts[a]), words.count_words(texts[b]), np.random.default_rng(0))
    return rows


def main() -> None:
    """Write the file anew."""
    lines = [
        f'    {{ a = "{a}", b = "{b}", mmd = {round(value, 4) + 0.0:.4f} }},' for (a, b), value in distances().items()
    ]
    head = "# MMD^2 of the words of sets that come with the product; written by `python -m benchmarks.shift_references`"
    FILE.write_text("\n".join([head, "", "pairs = [", *lines, "]", ""]), encoding="utf-8")
    print(FILE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
