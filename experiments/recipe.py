"""A recipe is one TOML file that says how to make one suite; here it becomes frozen records, and nothing runs.

Suite    what is made: the members, and what they are measured on
Source   rows by name: files, or one of our own generators
Base     what training starts from
Stage    one stretch of training: which rows, how long, how fast; and, where they are wanted, its
         Loss, Augment, Perturb and Tune
Member   one model of the suite: a base, a stage and a seed; and its checkpoints, where they are wanted
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from ranker.datasets.embedded import SUITE
from ranker.errors import UsageError, look_up
from ranker.records import read_toml, record, table


@dataclass(frozen=True)
class RecipeSource:
    """Labelled rows by name: out of files below the data directory, or from one of our own generators.

    Attributes:
        files: paths relative to the data directory, read one after the other.
        generator: a name in `experiments.generate.SOURCES`, instead of files.
        where: column -> the value that a row must have to be taken.
        label: the column that holds the label; None takes the usual name.
        rows: the first rows, or [start, stop), of those that ``where`` leaves; None takes all of them.
        balance: rows of the more frequent labels are dropped at random until all labels are equally frequent.

    Raises:
        ValueError: neither or both of files and generator; a generator without a number of rows, or with what only
            files have.
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
            start, stop = self.rows if len(self.rows) == 2 else (0, *self.rows[:1])
            if len(self.rows) > 2 or not 0 <= start < stop:
                raise ValueError(f"`rows` must be a number or [start, stop] (got {list(self.rows)})")
            object.__setattr__(self, "rows", (start, stop))
        if self.generator and self.rows is None:
            raise ValueError("a generator needs `rows`, the number of examples")
        if self.generator and (self.where or self.label):
            raise ValueError("`where` and `label` are for `files`; a generator has no columns")


@dataclass(frozen=True)
class Base:
    """Start of a training: a checkpoint, or a small architecture with random weights and its own tokenizer.

    Attributes:
        path: a directory, a hub id, or ``package:NAME/FOLDER`` for weights that an installed Python package brings.
        architecture: a model type of transformers ("bert", "roberta", "electra", ...), instead of a path.
        config: what differs from the architecture's standard configuration; a path brings its own.
        vocabulary: size of an architecture's WordPiece vocabulary, learnt from the suite's own training rows.
        family: models of one family differ by their training only; None stands for the base's name.
        labels: the names of a checkpoint's outputs, in their order, where its configuration does not say.

    Raises:
        ValueError: neither or both of path and architecture, what only the other one has, or no vocabulary.
    """

    path: str | None = None
    architecture: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    vocabulary: int = 1000
    family: str | None = None
    labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if bool(self.path) == bool(self.architecture):
            raise ValueError("either `path` or `architecture` is needed")
        if self.path and self.config:
            raise ValueError("`config` is for an `architecture`; a checkpoint brings its own")
        if self.architecture and self.labels:
            raise ValueError("`labels` is for a `path`; an architecture's outputs are the task's labels")
        if self.vocabulary < 1:
            raise ValueError(f"`vocabulary` must be at least 1 (got {self.vocabulary})")


@dataclass(frozen=True)
class Loss:
    """Another loss than cross entropy.

    Attributes:
        name: see `experiments.losses`; "product" is the product of experts with a biased model.
        gamma: of the focal loss.
        smoothing: the share of a label that is spread over all classes.
        bias: what the biased model sees: see `experiments.bias`.

    Raises:
        ValueError: a number out of its range, or one that another way than this reads.
    """

    OF: ClassVar = {"gamma": "focal", "smoothing": "smoothed", "bias": "product"}

    name: Literal["focal", "smoothed", "product"]
    gamma: float = 2.0
    smoothing: float = 0.1
    bias: Literal["hypothesis", "overlap"] = "hypothesis"

    def __post_init__(self) -> None:
        if self.gamma < 0:
            raise ValueError(f"`gamma` must not be negative (got {self.gamma})")
        _check_share("smoothing", self.smoothing)
        _check_used(self, self.name)


@dataclass(frozen=True)
class Augment:
    """Changed copies of the training rows: see `experiments.eda`.

    Attributes:
        copies: of each row, beside the row itself.
        share: of a text's words that an operation changes, a fraction.
        operations: what a copy's operation is drawn from.
        lexicon: word -> words that it may be replaced by, for "replace".

    Raises:
        ValueError: a number out of its range, no operation, or one of "replace" and a lexicon without the other.
    """

    copies: int = 1
    share: float = 0.1
    operations: tuple[Literal["swap", "delete", "insert", "replace"], ...] = ("swap", "delete", "insert")
    lexicon: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.copies < 1 or not self.operations:
            raise ValueError("`copies` must be at least 1, and `operations` must name one")
        _check_share("share", self.share)
        if "replace" in self.operations and not self.lexicon:
            raise ValueError("`replace` needs a `lexicon`: a table of words, each with those that it may become")
        if self.lexicon and "replace" not in self.operations:
            raise ValueError("a `lexicon` is for `replace`, which is not among the `operations`")


@dataclass(frozen=True)
class Perturb:
    """Adversarial training in the embeddings: see `experiments.freelb`.

    Attributes:
        steps: ascents a batch; 0 is plain training.
        step_size: length of one ascent, of each row's perturbation.
        radius: the longest perturbation of a row; 0 for no limit.
        start: the most length of the random perturbation of a row that the ascent starts from.

    Raises:
        ValueError: a negative number.
    """

    steps: int = 3
    step_size: float = 0.1
    radius: float = 0.0
    start: float = 0.05

    def __post_init__(self) -> None:
        if min(self.steps, self.step_size, self.radius, self.start) < 0:
            raise ValueError(f"`steps`, `step_size`, `radius` and `start` must not be negative (got {self})")


@dataclass(frozen=True)
class Tune:
    """Weights that are trained, where not all of them are: see `experiments.tuning`.

    Attributes:
        weights: "head": the classifier alone (linear probing); "head-then-all": first the head, then everything;
            "lora": the head and low-rank updates of every linear layer, merged into the weights at the end.
        head_share: of "head-then-all", the share of the steps for the head alone.
        rank, alpha: of the low-rank updates.

    Raises:
        ValueError: a number out of its range, or one that another way than this reads.
    """

    OF: ClassVar = {"head_share": "head-then-all", "rank": "lora", "alpha": "lora"}

    weights: Literal["head", "head-then-all", "lora"]
    head_share: float = 0.5
    rank: int = 8
    alpha: int = 16

    def __post_init__(self) -> None:
        _check_share("head_share", self.head_share)
        if self.rank < 1:
            raise ValueError(f"`rank` must be at least 1 (got {self.rank})")
        _check_used(self, self.weights)


@dataclass(frozen=True)
class Stage:
    """One stretch of training with AdamW, a linear warm-up and a linear decay to zero.

    The last five fields are ways to make models differ beside their rows; None leaves each of them out.

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
        shots: so many rows of each label, drawn from the rows of the stage.
        augment: changed copies of the rows are trained on, too.
        loss: another loss than cross entropy.
        perturb: embeddings are perturbed against the model.
        tune: which weights are trained, where not all.

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
    shots: int | None = None
    augment: Augment | None = None
    loss: Loss | None = None
    perturb: Perturb | None = None
    tune: Tune | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "learning_rate", "max_length"):
            if getattr(self, name) <= 0:
                raise ValueError(f"`{name}` must be above 0 (got {getattr(self, name)})")
        for name in ("rows", "steps", "weight_decay"):
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"`{name}` must not be negative (got {getattr(self, name)})")
        if self.shots is not None and self.shots < 1:
            raise ValueError(f"`shots` must be at least 1 (got {self.shots})")
        for name, share in {**self.mix, "warmup": self.warmup}.items():
            _check_share(name, share)
        total = sum(self.mix.values())
        if total > 1 + 1e-9:
            raise ValueError(f"the shares in `mix` must sum to at most 1, which is 100 % (got {total:g})")


def _check_used(options: Loss | Tune, way: str) -> None:
    """Refuse a field that is not as it is left, and is read by another way than the one that is chosen."""
    for name, reader in options.OF.items():
        if reader != way and getattr(options, name) != getattr(type(options), name):
            raise ValueError(f"`{name}` is for {reader!r} (got it for {way!r})")


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 1 << 63:
        raise ValueError(f"`seed` must be between 0 and 2^63 - 1 (got {seed})")


def _check_folder(kind: str, name: str) -> None:
    """Refuse a name that is no folder's of its own in the suite's."""
    if not name or "/" in name or "\\" in name or name.startswith(".") or name == SUITE:
        raise ValueError(f"a {kind}'s name is its folder's, without slashes or a leading dot (got {name!r})")


def _check_share(name: str, share: float) -> None:
    if not 0 <= share <= 1:
        raise ValueError(f"`{name}` must be a share between 0 and 1 (got {share})")


@dataclass(frozen=True)
class Member:
    """One model of the suite.

    Attributes:
        name: as it stands in tables, and its folder's name.
        base: which of the recipe's bases it starts from.
        stage: its own training, after the shared stage if there is one; with 0 rows or steps there is none.
        seed: of the draw of rows, the order of batches, new weights and dropout.
        checkpoints: steps of its own training after which it is kept as it then is, too, each time as a model of its
            own: see `at_step`.

    Raises:
        ValueError: a name that is no folder's, a seed out of its range, or checkpoints that cannot be kept.
    """

    name: str
    base: str
    stage: Stage
    seed: int = 0
    checkpoints: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _check_folder("member", self.name)
        _check_seed(self.seed)
        if list(self.checkpoints) != sorted({step for step in self.checkpoints if step > 0}):
            steps = list(self.checkpoints)
            raise ValueError(f"`checkpoints` must be steps from 1, each once and in rising order (got {steps})")
        if self.checkpoints and self.stage.tune and self.stage.tune.weights == "lora":
            raise ValueError('`checkpoints` cannot be kept of `weights = "lora"`, whose updates are merged at the end')


def at_step(name: str, step: int) -> str:
    """Return the name of a member after a step of its training, which is also that of its folder.

    Example:
        >>> at_step("inoc-100", 250)
        'inoc-100-step-250'
    """
    return f"{name}-step-{step}"


@dataclass(frozen=True)
class Recipe:
    """Everything that makes one suite.

    Attributes:
        name: the suite's name.
        task: the task's name in `ranker.datasets.sets`; its labels become the models' labels.
        ood: the names of the OOD sets that every member is measured on, all of their rows.
        in_domain: names of the sources that in-domain training rows are drawn from.
        in_domain_test: names of the sources that in-domain accuracy is measured on.
        sources: rows by name.
        bases: what training starts from, by name.
        members: the models, in the order of the tables; a member's checkpoints stand before it.
        shared: in-domain training that every member of a base starts from; done once a base. None: there is none.
        seed: of the shared stage, the generators and the balancing.

    Raises:
        ValueError: fewer than two models, two of one name, a name that nothing bears or that is no folder's, or no
            in-domain rows.
    """

    name: str
    task: str
    ood: tuple[str, ...]
    in_domain: tuple[str, ...]
    in_domain_test: tuple[str, ...]
    sources: Mapping[str, RecipeSource]
    bases: Mapping[str, Base]
    members: tuple[Member, ...]
    shared: Stage | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        names = self.names
        if len(names) < 2 or len(set(names)) < len(names):
            raise ValueError(f"a suite needs at least two models, each of its own name (got {names})")
        for name in self.bases:
            _check_folder("base", name)
        _check_seed(self.seed)
        if not (self.in_domain and self.in_domain_test):
            raise ValueError("`in_domain` and `in_domain_test` must name a source each")
        for name in (*self.in_domain, *self.in_domain_test):
            look_up("source", name, self.sources)
        for stage in (self.shared, *(member.stage for member in self.members)):
            for name in stage.mix if stage else ():
                look_up("source", name, self.sources)
        for member in self.members:
            look_up("base", member.base, self.bases)

    @property
    def names(self) -> list[str]:
        """Of the suite's models, in its order."""
        return [
            name
            for member in self.members
            for name in (*(at_step(member.name, n) for n in member.checkpoints), member.name)
        ]

    def training(self, number: int) -> Recipe:
        """Return the recipe of another training, from 1: its seeds, and so its rows, weights and batches, are others.

        Example:
            >>> recipe = load("hans-con-mini")
            >>> recipe.training(1) == recipe, recipe.training(3).seed
            (True, 2000)
        """
        moved = 1_000 * (number - 1)
        members = tuple(replace(member, seed=member.seed + moved) for member in self.members)
        return replace(self, seed=self.seed + moved, members=members)

    @property
    def reads_files(self) -> bool:
        """A data directory is needed."""
        return any(source.files for source in self.sources.values())


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
        raise UsageError.at(path, error) from error


def shipped() -> dict[str, Path]:
    """Return the built-in recipes: name -> file."""
    root = Path(__file__).parent / "recipes"
    return {path.stem: path for path in sorted(root.glob("*.toml"))}


def parse(content: Mapping[str, Any]) -> Recipe:
    """Return the recipe that a TOML document describes.

    ``[inoculation]`` holds what the members have in common, and each of ``[[members]]`` what is its own. A member's
    base may be left out if there is one only.

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
    return record(Recipe, tables, label="the recipe", also=("inoculation",))


def _member(row: Mapping[str, Any], common: Mapping[str, Any], bases: list[str]) -> Member:
    name = f"members.{row.get('name', '?')}"
    own_keys = ("name", "base", "seed", "checkpoints")
    if "epochs" in row and "steps" not in row:
        common = {key: value for key, value in common.items() if key != "steps"}  # which would go before them
    keys = {**({"base": bases[0]} if len(bases) == 1 else {}), **common, **row}
    stage = record(Stage, {key: value for key, value in keys.items() if key not in own_keys}, name, also=own_keys)
    return record(Member, {**{key: keys[key] for key in own_keys if key in keys}, "stage": stage}, name)
