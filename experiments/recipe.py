"""A recipe is one TOML file that says how to make one suite; here it becomes frozen records, and nothing runs.

Suite    what is made: the members, and what they are measured on
Source   rows by name: files, or one of our own generators
Base     what training starts from
Stage    one stretch of training: which rows, how long, how fast
Member   one model of the suite: a base, a stage and a seed
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ranker.errors import UsageError, look_up
from ranker.records import read_toml, record, table


@dataclass(frozen=True)
class Source:
    """Labelled rows by name: out of files below the data directory, or from one of our own generators.

    Attributes:
        files: paths relative to the data directory, read one after the other.
        generator: a name in `experiments.generate.SOURCES`, instead of files.
        where: column -> the value that a row must have to be taken.
        label: the column that holds the label; None takes the usual name.
        rows: the first rows, or [start, stop), of those that ``where`` leaves; None takes all of them.
        balance: rows of the more frequent labels are dropped at random until all labels are equally frequent.

    Raises:
        ValueError: neither or both of files and generator; a generator without a number of rows.
    """

    files: tuple[str, ...] = ()
    generator: str | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    label: str | None = None
    rows: tuple[int, ...] | None = None
    balance: bool = False

    def __post_init__(self) -> None:
        if bool(self.files) == bool(self.generator):
            raise ValueError("either `files` or `generator` is needed")
        if self.rows is not None:
            start, stop = self.rows if len(self.rows) == 2 else (0, *self.rows)
            if not 0 <= start < stop:
                raise ValueError(f"`rows` must be a number or [start, stop] (got {list(self.rows)})")
            object.__setattr__(self, "rows", (start, stop))
        if self.generator and self.rows is None:
            raise ValueError("a generator needs `rows`, the number of examples")


@dataclass(frozen=True)
class Base:
    """What training starts from: a checkpoint, or a small architecture with random weights and its own tokenizer.

    Attributes:
        path: a directory, a hub id, or ``package:NAME/FOLDER`` for weights that an installed Python package brings.
        architecture: a model type of transformers ("bert", "roberta", "electra", ...), instead of a path.
        config: what differs from the architecture's standard configuration.
        vocabulary: size of the WordPiece vocabulary, learnt from the suite's own training rows.
        family: models of one family differ by their training only; None stands for the base's name.

    Raises:
        ValueError: neither or both of path and architecture.
    """

    path: str | None = None
    architecture: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    vocabulary: int = 1000
    family: str | None = None

    def __post_init__(self) -> None:
        if bool(self.path) == bool(self.architecture):
            raise ValueError("either `path` or `architecture` is needed")


@dataclass(frozen=True)
class Stage:
    """One stretch of training with AdamW, a linear warm-up and a linear decay to zero.

    Attributes:
        rows: the number of different rows; None takes every in-domain row.
        mix: source -> its share of the rows, a fraction; in-domain rows make up the rest.
        epochs: how often each row is seen.
        steps: the number of batches, instead of epochs.
        batch_size: rows a batch.
        learning_rate: the highest one.
        warmup: share of the steps in which the rate rises, a fraction.
        weight_decay: of all weights but biases and normalisations.
        max_length: tokens a row; what is longer is cut.

    Raises:
        ValueError: a number out of its range, or shares that sum to more than 1.
    """

    rows: int | None = None
    mix: Mapping[str, float] = field(default_factory=dict)
    epochs: float = 1.0
    steps: int | None = None
    batch_size: int = 32
    learning_rate: float = 5e-5
    warmup: float = 0.06
    weight_decay: float = 0.01
    max_length: int = 128

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "learning_rate", "max_length"):
            if getattr(self, name) <= 0:
                raise ValueError(f"`{name}` must be above 0 (got {getattr(self, name)})")
        for name in ("rows", "steps"):
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"`{name}` must not be negative (got {getattr(self, name)})")
        for name, share in {**self.mix, "warmup": self.warmup}.items():
            if not 0 <= share <= 1:
                raise ValueError(f"`{name}` must be a share between 0 and 1 (got {share})")
        total = sum(self.mix.values())
        if total > 1 + 1e-9:
            raise ValueError(f"the shares in `mix` must sum to at most 1, which is 100 % (got {total:g})")


@dataclass(frozen=True)
class Member:
    """One model of the suite.

    Attributes:
        name: as it stands in tables, and its folder's name.
        base: which of the recipe's bases it starts from.
        stage: its own training, after the shared stage if there is one; with 0 rows or steps there is none.
        seed: of the draw of rows, the order of batches, new weights and dropout.
    """

    name: str
    base: str
    stage: Stage
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.name or "/" in self.name or "\\" in self.name or self.name.startswith("."):
            raise ValueError(f"a member's name is its folder's, without slashes or a leading dot (got {self.name!r})")


@dataclass(frozen=True)
class Recipe:
    """Everything that makes one suite.

    Attributes:
        name: the suite's name.
        task: the task's name in `ranker.ood`; its labels become the models' labels.
        ood: the names of the OOD sets that every member is measured on, all of their rows.
        in_domain: names of the sources that in-domain training rows are drawn from.
        in_domain_test: names of the sources that in-domain accuracy is measured on.
        sources: rows by name.
        bases: what training starts from, by name.
        members: the models, in the order of the tables.
        shared: in-domain training that every member of a base starts from; done once a base. None: there is none.
        seed: of the shared stage, the generators and the balancing.

    Raises:
        ValueError: no members, two of one name, or a name that nothing bears.
    """

    name: str
    task: str
    ood: tuple[str, ...]
    in_domain: tuple[str, ...]
    in_domain_test: tuple[str, ...]
    sources: Mapping[str, Source]
    bases: Mapping[str, Base]
    members: tuple[Member, ...]
    shared: Stage | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        names = [member.name for member in self.members]
        if len(names) < 2 or len(set(names)) < len(names):
            raise ValueError(f"a suite needs at least two `members`, each of its own name (got {names})")
        for name in (*self.in_domain, *self.in_domain_test):
            look_up("source", name, self.sources)
        for stage in (self.shared, *(member.stage for member in self.members)):
            for name in stage.mix if stage else ():
                look_up("source", name, self.sources)
        for member in self.members:
            look_up("base", member.base, self.bases)


def load(reference: str) -> Recipe:
    """Read a recipe, from a file or from those that come with the product.

    Args:
        reference: a path ending in ``.toml``, or the name of a shipped recipe.

    Raises:
        UsageError: there is no such recipe, or it cannot be right; the file and the key are named.
    """
    path = Path(reference) if reference.endswith(".toml") else look_up("recipe", reference, shipped())
    content = read_toml(path, "a recipe")
    try:
        return parse(content)
    except (ValueError, UsageError) as error:
        raise UsageError(f"{path}: {error}") from error


def shipped() -> dict[str, Path]:
    """The recipes that come with the product: name -> file."""
    root = Path(__file__).parent / "recipes"
    return {path.stem: path for path in sorted(root.glob("*.toml"))}


def parse(content: Mapping[str, Any]) -> Recipe:
    """The recipe that a TOML document describes.

    ``[inoculation]`` holds what the members' stages have in common, and each of ``[[members]]`` what is its own. A
    member's base may be left out if there is one only.

    Raises:
        ValueError, UsageError: what cannot be right, with the table's name.
    """
    tables = dict(content)
    common = table(tables.pop("inoculation", {}), "inoculation")
    members = tables.get("members", ())
    if not isinstance(members, list):
        raise ValueError("`members` must be an array of tables: `[[members]]`")
    bases = list(table(tables.get("bases", {}), "bases"))
    tables["members"] = tuple(_member(table(row, "members"), common, bases) for row in members)
    return record(Recipe, tables, whole="the recipe", also=("inoculation",))


def _member(row: Mapping[str, Any], common: Mapping[str, Any], bases: list[str]) -> Member:
    name = f"members.{row.get('name', '?')}"
    own = {"name", "base", "seed"}
    own_keys = {key: value for key, value in row.items() if key in own}
    if len(bases) == 1:
        own_keys.setdefault("base", bases[0])
    keys = {key: value for key, value in row.items() if key not in own}
    stage = record(Stage, {**common, **keys}, name, also=tuple(own))
    return record(Member, {**own_keys, "stage": stage}, name)
