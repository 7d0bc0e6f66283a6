import pytest
from refusals import refuses

from experiments import recipe
from experiments.recipe import Augment, Loss, Perturb, Stage, Tune
from ranker.errors import DataError, UnknownName, UsageError

SMALL = """
name = "small"
task = "nli"
ood = "hans-sub"
in_domain = "pairs"
in_domain_test = "held-out"

[bases.mini]
architecture = "bert"
config = { hidden_size = 8 }

[sources.pairs]
files = "pairs.jsonl"
rows = 100

[sources.held-out]
generator = "nli"
rows = [100, 150]

[sources.new]
files = ["a.jsonl", "b.jsonl.gz"]
where = { heuristic = "subsequence" }

[inoculation]
rows = 40
learning_rate = 1

[[members]]
name = "a"
rows = 0

[[members]]
name = "b"
seed = 3
epochs = 2
mix = { new = 0.25 }
"""


@pytest.fixture
def load(tmp_path):
    """Writes a recipe and reads it."""

    def write_and_load(text):
        path = tmp_path / "small.toml"
        path.write_text(text, encoding="utf-8")
        return recipe.load(str(path))

    return write_and_load


def test_a_recipe_becomes_records(load):
    """Each table becomes its record; a lone value stands for a list of one, and a whole number for a fraction."""
    small = load(SMALL)
    assert small.ood == ("hans-sub",)
    assert small.in_domain == ("pairs",)
    assert small.sources["pairs"].rows == (0, 100)
    assert small.sources["held-out"].rows == (100, 150)
    assert small.sources["new"].files == ("a.jsonl", "b.jsonl.gz")
    assert small.shared is None
    assert [member.base for member in small.members] == ["mini", "mini"]


def test_a_member_takes_what_it_leaves_out_from_inoculation(load):
    """`[inoculation]` holds what the members' stages have in common; a member's own keys win."""
    first, second = load(SMALL).members
    assert first.stage == Stage(rows=0, learning_rate=1.0)
    assert second.stage == Stage(rows=40, learning_rate=1.0, epochs=2.0, mix={"new": 0.25})
    assert second.seed == 3


def test_a_members_own_epochs_go_before_common_steps(load):
    """Steps that it takes over would go before them, and the epochs would be read by nobody."""
    first, second = load(SMALL.replace("rows = 40\n", "rows = 40\nsteps = 3\n")).members
    assert (first.stage.steps, second.stage.steps, second.stage.epochs) == (3, None, 2.0)


def test_what_is_no_stages_may_be_common_too(load):
    """Seeds and checkpoints, for instance."""
    common = "rows = 40\ncheckpoints = [1]\nseed = 5\n"
    first, second = load(SMALL.replace("rows = 40\n", common).replace("seed = 3\n", "checkpoints = []\n")).members
    assert (first.seed, second.seed, first.checkpoints, second.checkpoints) == (5, 5, (1,), ())


def test_ways_to_differ_are_tables_of_a_stage(load):
    """Each is left out unless it is named, and then has its own record."""
    ways = """
shots = 16
augment = { copies = 2, operations = "swap" }
loss = { name = "product", bias = "overlap" }
perturb = { steps = 2 }
tune = { weights = "lora", rank = 4 }
"""
    first, second = load(SMALL.replace("epochs = 2\n", "epochs = 2" + ways)).members
    assert first.stage.loss is first.stage.tune is first.stage.shots is None
    assert second.stage.shots == 16
    assert second.stage.augment == Augment(copies=2, operations=("swap",))
    assert second.stage.loss == Loss("product", bias="overlap")
    assert second.stage.perturb == Perturb(steps=2)
    assert second.stage.tune == Tune("lora", rank=4)


def test_records_are_frozen(load):
    """Neither a recipe nor the tables in it can be changed after they are read."""
    small = load(SMALL)
    with pytest.raises(AttributeError):
        small.name = "other"
    with pytest.raises(TypeError):
        small.sources["pairs"] = small.sources["new"]
    with pytest.raises(TypeError):
        small.members[1].stage.mix["new"] = 1.0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('ood = "hans-sub"', 'odd = "hans-sub"', "there is no key of the recipe 'odd'; did you mean ood?"),
        ("epochs = 2", "epoch = 2", "there is no key of `[members.b]` 'epoch'; did you mean epochs?"),
        ("seed = 3", "sed = 3", "there is no key of `[members.b]` 'sed'; did you mean seed?"),
        ("learning_rate = 1", "lerning_rate = 1", "'lerning_rate'; did you mean learning_rate?"),
        ("where = {", "were = {", "there is no key of `[sources.new]` 'were'; did you mean where?"),
        ("[inoculation]", "[innoculation]", "there is no key of the recipe 'innoculation'; did you mean inoculation?"),
        ('task = "nli"', "", "the recipe needs the key `task`"),
        ("seed = 3", 'seed = "3"', "`[members.b]`: `seed` must be a whole number (got '3')"),
        ("rows = 40", "rows = true", "`rows` must be a whole number (got True)"),
        ("epochs = 2", "epochs = 0", "`[members.b]`: `epochs` must be above 0 (got 0.0)"),
        ("new = 0.25", "new = 1.5", "`[members.b]`: `new` must be a share between 0 and 1 (got 1.5)"),
        (
            "new = 0.25",
            "new = 0.6, pairs = 0.5",
            "`[members.b]`: the shares in `mix` must sum to at most 1, which is 100 % (got 1.1)",
        ),
        ("new = 0.25", 'new = "much"', "`[members.b]`: `new` in `mix` must be a number (got 'much')"),
        ("mix = { new = 0.25 }", "mix = 0.25", "`mix` must be a table: `[mix]` (got 0.25)"),
        ("new = 0.25", "now = 0.25", "there is no source 'now'; did you mean new?"),
        ('in_domain = "pairs"', 'in_domain = "pair"', "there is no source 'pair'; did you mean pairs?"),
        ("seed = 3", 'base = "mni"', "there is no base 'mni'; did you mean mini?"),
        ('architecture = "bert"', "", "`[bases.mini]`: either `path` or `architecture` is needed"),
        ("rows = [100, 150]", "", "`[sources.held-out]`: a generator needs `rows`, the number of examples"),
        ("rows = [100, 150]", "rows = [5, 1]", "`rows` must be a number or [start, stop] (got [5, 1])"),
        ('files = "pairs.jsonl"', "", "`[sources.pairs]`: either `files` or `generator` is needed"),
        ("epochs = 2", 'loss = { name = "focl" }', "`name` must be one of focal, smoothed, product (got 'focl')"),
        ("epochs = 2", 'tune = { weigths = "head" }', "'weigths'; did you mean weights?"),
        ("epochs = 2", "shots = 0", "`[members.b]`: `shots` must be at least 1 (got 0)"),
        ("epochs = 2", 'augment = { operations = "replace" }', "`replace` needs a `lexicon`"),
        ("epochs = 2", 'augment = { lexicon = { dog = "cat" } }', "a `lexicon` is for `replace`, which is not among"),
        ("epochs = 2", 'loss = { name = "smoothed", gamma = 1.0 }', "`gamma` is for 'focal' (got it for 'smoothed')"),
        ("epochs = 2", 'tune = { weights = "head", rank = 4 }', "`rank` is for 'lora' (got it for 'head')"),
        ("rows = [100, 150]", "rows = [1, 2, 3]", "`rows` must be a number or [start, stop] (got [1, 2, 3])"),
        ("rows = [100, 150]", 'rows = 50\nlabel = "gold"', "`where` and `label` are for `files`"),
        ('architecture = "bert"', 'path = "somewhere"', "`config` is for an `architecture`"),
        ("[bases.mini]", "[bases.mini]\nvocabulary = 0", "`[bases.mini]`: `vocabulary` must be at least 1 (got 0)"),
        ('architecture = "bert"', 'architecture = "bert"\nlabels = ["no", "yes"]', "`labels` is for a `path`"),
        ("epochs = 2", "weight_decay = -1.0", "`[members.b]`: `weight_decay` must not be negative (got -1.0)"),
        ("[bases.mini]", '[bases."../mini"]', "a base's name is its folder's, without slashes or a leading dot"),
        ('name = "b"', 'name = "suite.json"', "a member's name is its folder's, without slashes or a leading dot"),
        ("seed = 3", "seed = -1", "`seed` must be between 0 and 2^63 - 1 (got -1)"),
        ('in_domain_test = "held-out"', "in_domain_test = []", "`in_domain` and `in_domain_test` must name a source"),
        ('name = "b"', 'name = "a"', "a suite needs at least two models, each of its own name (got ['a', 'a'])"),
        (
            'name = "b"',
            'name = "../b"',
            "a member's name is its folder's, without slashes or a leading dot (got '../b')",
        ),
    ],
)
def test_what_cannot_be_right_is_said_with_its_key(load, tmp_path, old, new, message):
    """The error names the file, the table and the key, and offers the near key."""
    assert old in SMALL
    with refuses(UsageError, place=tmp_path / "small.toml") as stop:
        load(SMALL.replace(old, new, 1))
    assert message in str(stop.value)


def test_a_file_that_is_no_toml_is_said_so(load):
    """A syntax error comes with its place."""
    with pytest.raises(DataError) as stop:
        load("seed = 1\nname = \n")
    assert stop.value.place.endswith("small.toml")
    assert "line 2" in str(stop.value.__cause__)


def test_a_recipe_that_is_not_there_is_said_so():
    """A name without .toml is one of the shipped recipes, and is offered a near one."""
    with refuses(DataError, place="nowhere/small.toml"):
        recipe.load("nowhere/small.toml")
    with refuses(UnknownName, value="hans-minilm2"):
        recipe.load("hans-minilm2")


@pytest.mark.parametrize("name", recipe.shipped())
def test_shipped_recipes_can_be_read(name):
    """Every recipe that comes with the product is a valid one, of the name of its file."""
    assert recipe.load(name).name == name
