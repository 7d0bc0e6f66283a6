"""Numbers printed in the paper, and our suites beside them: `published.toml` as frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ranker.errors import UsageError, look_up
from ranker.records import read_toml, record

PAPER = "Singhal, Forristal, Ye and Durrett (2022)"

Models = Literal["inoculated", "all", "across"]
"""Those of one architecture, all of a suite, or suites of several architectures, of which only pairs across count."""


@dataclass(frozen=True)
class PublishedRow:
    """One row of an exhibit.

    Attributes:
        name: a ranking method, "designed" for the factor designed for each set, or a model.
        attribution: the backend that it reads; None for the exhibit's own.
        published: column -> percent. Columns are OOD sets; of the kind "pairs" they are the published pairs, and of
            the kind "pooled" there is one, "pooled". Empty where the row is ours.
    """

    name: str
    attribution: str | None = None
    published: Mapping[str, float] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Label of the row in a table."""
        return f"{self.name}, {self.attribution}" if self.attribution else self.name


@dataclass(frozen=True)
class Exhibit:
    """A table or a figure of the paper.

    Attributes:
        title: what it shows.
        section: where it stands in the paper; letters are appendices.
        kind: what a cell is: a method's pairwise accuracy on a set ("methods") or on all sets ("pooled"), its pairwise
            accuracy on a pair of models ("pairs"), a model's OOD accuracy ("accuracies"), or a number of rows
            ("sizes").
        sets: the OOD sets, in the order of the columns.
        rows: the methods or models.
        models: which models of the suites it is about.
        attribution: the backend that factors read.
        pairs: published pair -> its models in the recipe of the tier paper; kind "pairs" only.
        draw: a figure's form; None for a table.
        notes: what a reader has to know, a sentence or two each.

    Raises:
        UnknownName: a row has a number for a column that there is not.
    """

    title: str
    section: str
    kind: Literal["methods", "pooled", "pairs", "accuracies", "sizes"]
    sets: tuple[str, ...]
    rows: tuple[PublishedRow, ...]
    models: Models = "inoculated"
    attribution: str = "shap"
    pairs: Mapping[str, str] = field(default_factory=dict)
    draw: Literal["scatter", "distribution"] | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        columns = {"pooled": ("pooled",), "pairs": tuple(self.pairs)}.get(self.kind, self.sets)
        for row in self.rows:
            for column in row.published:
                look_up(f"column of {row.name}", column, dict.fromkeys(columns))

    @property
    def attributions(self) -> tuple[str, ...]:
        """The backends that its rows read, the exhibit's own first."""
        return tuple(dict.fromkeys((self.attribution, *(row.attribution or self.attribution for row in self.rows))))


@dataclass(frozen=True)
class Tier:
    """Suites of one size.

    Attributes:
        suites: OOD set -> the name of its suite and recipe.
        across: the same for suites of several architectures, where they are others.
        embedded: the rows are the embedded samples, the suites come with the product.
        saved: folder in the repository with rankings of the suites, SET-ATTRIBUTION.json, so that exhibits need no
            model; empty where there is none.
    """

    suites: Mapping[str, str]
    across: Mapping[str, str] = field(default_factory=dict)
    embedded: bool = False
    saved: str = ""

    def of(self, models: Models) -> Mapping[str, str]:
        """OOD set -> suite, for exhibits about those models."""
        return self.across or self.suites if models == "across" else self.suites


@dataclass(frozen=True)
class Published:
    """Everything in the file.

    Attributes:
        tables, figures: the paper's number -> the exhibit.
        tiers: name -> the suites.
    """

    tables: Mapping[str, Exhibit]
    figures: Mapping[str, Exhibit]
    tiers: Mapping[str, Tier]


def load() -> Published:
    """Read `published.toml`.

    Raises:
        UsageError: it cannot be right.

    Example:
        >>> load().tables["3"].rows[0]
        PublishedRow(name='ACC', attribution=None, published=Frozen({'pooled': 61.0}))
    """
    path = Path(__file__).with_name("published.toml")
    try:
        return record(Published, read_toml(path, "published numbers"))
    except ValueError as error:
        raise UsageError.at(path, error) from error
