"""Our own data: labelled rows from templates, for training the embedded suites and for the embedded OOD samples."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np

from experiments.generate import nli, paraphrase, sentences
from factors import Example
from ranker.errors import look_up

Generator = Callable[[np.random.Generator, int], list[Example]]
"""Draws that many different rows; an id is the row's kind and a number."""

SOURCES: Mapping[str, Generator] = MappingProxyType(
    {
        "nli": nli.in_domain,
        "hans-sub": partial(nli.hans_like, heuristic="subsequence"),
        "hans-con": partial(nli.hans_like, heuristic="constituent"),
        "hans-lex": partial(nli.hans_like, heuristic="lexical_overlap"),
        "paraphrase": paraphrase.in_domain,
        "paws": paraphrase.paws_like,
        **{f"msgs-{feature}": partial(sentences.disambiguated, feature=feature) for feature in sentences.FEATURES},
        **{f"{feature}-ambiguous": partial(sentences.ambiguous, feature=feature) for feature in sentences.FEATURES},
        **{f"{feature}-by-surface": partial(sentences.by_surface, feature=feature) for feature in sentences.FEATURES},
    }
)
"""Name -> generator. A name of an OOD set is the generator of that set's embedded sample."""


def sample(name: str, n: int, labels: Sequence[str], seed: int = 0) -> bytes:
    """Return an embedded sample as a compressed file of JSON lines; the same arguments give the same lines.

    Args:
        name: of a generator.
        n: how many rows.
        labels: (C,) the names of the classes.
        seed: of the draw.

    Raises:
        UsageError: no such generator.

    Example:
        >>> line = json.loads(gzip.decompress(sample("hans-sub", 1, ["non-entailment", "entailment"])))
        >>> line["id"], line["label"], line["subcase"]
        ('sn_NP/S-0', 'non-entailment', 'sn_NP/S')
    """
    lines = [
        {
            "id": row.id,
            "segments": row.segments,
            "label": labels[row.target],
            "subcase": row.id.rpartition("-")[0],
        }
        for row in look_up("generator", name, SOURCES)(np.random.default_rng(seed), n)
    ]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)
