"""Each figure of README.md and two other pages is that of the page, or of the frozen demo, that it is from."""

import json
import re
from pathlib import Path

import pytest

from ranker.results.choice import LOST, SURE

ROOT = Path(__file__).parents[1]
README, METHODS_PAGE, JOURNEY = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/methods.md", "docs/which-model.md")
)
PROSE = " ".join(re.sub(r"(?ms)^```.*?^```", "", "\n".join((README, METHODS_PAGE, JOURNEY))).split())
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
NUMBER = rf"(?:\d[\d.,]*|\b(?:{'|'.join(NUMBERS)})\b)"
FIGURE = re.compile(
    rf"{NUMBER}(?=(?: (?:and|to) {NUMBER})? points?\b)|\d[\d.,]*(?=(?: (?:and|to) \d[\d.]*)? (?:%|seconds))"
)
DEMO = json.loads((ROOT / "tests" / "frozen" / "demo.json").read_text(encoding="utf-8"))[0]["evaluation"]
METHODS = {method["name"]: method for method in DEMO["methods"]}

MADE_TWICE, FINDINGS = ("tables-mini.md", "Made twice"), ("tables-minilm.md", "What holds of the paper's findings")
PROMPTS = ("llms.md", "Labels that order prompts")
UNRELATED, FAMILY = ("labels.md", "Unrelated models"), ("labels.md", "Suites that share a shortcut")
HELD_OUT = ("labels.md", "Held out: MiniLM checkpoints")
TEXTS, TAGGERS = ("anchors.md", ""), ("tasks.md", "Taggers in other domains")
NAMED_WORDS, HANS_PROMPTS = (
    ("rationales.md", ""),
    ("llms.md", "ACC orders # % (1.6) of the pairs with 10 random labels and 68.4 (1.6) with 50, SURROGATE #"),
)
AT_ONCE = ("labels.md", "One at a time, or all at once")
ASKED, RANDOM, CHOSEN = "SURROGATE, asked for, for the best", "ACC, random rows", "ANCHORS, chosen rows"

SOURCES = {
    "CODA's best model is # points behind the true best, ours # points": [
        (*UNRELATED, "CODA", "K = 1", 2),
        (*UNRELATED, ASKED, "K = 1", 2),
    ],
    "the model named after ten of them is # points behind the best. After ten rows asked for one at a time it is # "
    "points behind, and after five # points": [
        (*AT_ONCE, "at once, for the best, K = 10", "regret"),
        (*AT_ONCE, "one at a time, for the best, K = 10", "regret"),
        (*AT_ONCE, "one at a time, for the best, K = 5", "regret"),
    ],
    "needs # % to be within a point of the best, or at most # points that are expected": [100 * SURE, 100 * LOST],
    "Guessing scores # %": ["RANDOM"],
    "counts correct predictions: # %": ["ACC"],
    "Alone it scores # %. If it only breaks ACC's ties (**ACC+TIES**), the two score # %.": ["INDEX-DIFF", "ACC+TIES"],
    "no attributions, and scores # %": ["CONF-H"],
    "to the same ten labels: # %. **SURROGATE+LABEL** also chooses the ten rows, one at a time, as `rank-models label "
    "--rule order` does: # % here": ["SURROGATE", "SURROGATE+LABEL"],
    "they give its label on # to # % of the examples": [5, 7],
    "INDEX-DIFF was # points ahead of ACC once and # points behind once; ACC+TIES was # and # points": [
        (*MADE_TWICE, "INDEX-DIFF, hans-sub", column) for column in (1, 2, 5, 6)
    ],
    "(HANS-CON # and # %, PAWS # and # %), level with it on HANS-SUB (# and # %, both together # %), and up to # "
    "points behind": [
        (*FINDINGS, "HANS-CON", "designed factor"),
        (*FINDINGS, "HANS-CON", "ACC"),
        (*FINDINGS, "PAWS", "designed factor"),
        (*FINDINGS, "PAWS", "ACC"),
        (*FINDINGS, "HANS-SUB", "designed factor"),
        (*FINDINGS, "HANS-SUB", "ACC"),
        ("hans-sub.md", "How well do methods order them?", "ACC+FACTOR (ours)", "SHAP"),
        (*FINDINGS, "MSGS-VERB", "minus ACC"),
    ],
}
"""Words of the three pages around their figures, each a # -> where each is from: a page's section, row and column, and
which number of the cell in which such row; words of a page and which # of them; a method of the demo, of which it is
the accuracy; a model of it, by rank, of which it is how often it is misled; or a constant of the choice."""

TABLE = {
    "unrelated classifiers": [(*UNRELATED, name, "K = 10") for name in (RANDOM, "CODA", ASKED)],
    "one family": [(*FAMILY, RANDOM, "K = 10"), None, (*FAMILY, ASKED, "K = 10")],
    "held out: toxicity": [(*HELD_OUT, RANDOM, 2), None, (*HELD_OUT, "SURROGATE, for the best", 2)],
    "held out: entailment": [(*HELD_OUT, RANDOM, 4), None, (*HELD_OUT, "SURROGATE, for the best", 4)],
    "two small models": [(*PROMPTS, RANDOM, "K = 10"), None, (*PROMPTS, "SURROGATE, asked for", "K = 10")],
    "nine sets": [(*TEXTS, name, "K = 10", 0, 0) for name in ("metric, random rows", "Select-LLM", CHOSEN)],
    "the same prompts on HANS-SUB": [(*HANS_PROMPTS, 0), None, (*HANS_PROMPTS, 1)],
    "of one encoder": [(*TAGGERS, name, "K = 10", 0, 0) for name in ("metric, random rows", "Select-LLM", CHOSEN)],
    "the factor designed for HANS-SUB": ["ACC", "NLL", "INDEX-DIFF"],
    "words that people named": [(*NAMED_WORDS, name, "phrases") for name in ("ACC", "NLL", "RATIONALE-F1")],
}
"""Words of a line of README's table of what is good and what is not -> where its three figures are from."""


def pattern(words):
    """Match some words of README, a group for each figure."""
    return re.compile(re.escape(words).replace(r"\#", f"({NUMBER})"))


def cell_number(page, section, row, column, place=0, match=-1):
    """Return number `place` of a cell on a page of docs/results, of its `match`-th row with that first cell."""
    text = (ROOT / "docs" / "results" / page).read_text(encoding="utf-8")
    (part,) = (
        re.findall(rf"(?ms)^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text) if section else [text.split("\n## ")[0]]
    )
    table = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in part.splitlines() if line.startswith("|")]
    heads = [index for index, cells in enumerate(table) if set("".join(cells)) <= set("-: ")]
    index = [index for index, cells in enumerate(table) if cells[0] == row][match]
    head = table[max(place for place in heads if place < index) - 1]
    cell = table[index][column if isinstance(column, int) else head.index(column)]
    return float(re.findall(r"(?<![\w-])[+-]?(\d[\d.]*)", cell.replace("*", ""))[place])


def source_number(source):
    """Return a number in the unit of README."""
    if isinstance(source, str):
        return 100 * METHODS[source]["pairwise_accuracy"]
    if isinstance(source, float):
        return source
    if isinstance(source, int):
        return 100 * DEMO["models"][source]["misled"]
    if len(source) == 3:
        page, words, place = source
        text = " ".join((ROOT / "docs" / "results" / page).read_text(encoding="utf-8").split())
        return float(pattern(words).search(text)[place + 1])
    return cell_number(*source)


@pytest.mark.parametrize("words", SOURCES)
def test_a_figure_is_that_of_its_page(words):
    """The figure differs from the page's by rounding only."""
    (match,) = pattern(words).finditer(PROSE)
    for figure, source in zip(match.groups(), SOURCES[words], strict=True):
        digits = len(figure.partition(".")[2])
        number = float(NUMBERS.get(figure, figure))
        assert abs(number - source_number(source)) <= 0.5 * 10**-digits + 1e-9, (figure, source, source_number(source))


def test_the_table_is_that_of_its_pages():
    """Each figure of each line differs from its page's by rounding only, and the best of a line is in bold."""
    section = README.split("## How good is it?")[1].split("\n## ")[0]
    baselines = [method for method in METHODS.values() if method["kind"] == "baseline"]
    assert max(baselines, key=lambda method: method["pairwise_accuracy"])["name"] == "NLL"  # the best rival there
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("| ")]
    assert len(lines) == len(TABLE) + 1
    for (name, *cells), (words, sources) in zip(lines[1:], TABLE.items(), strict=True):
        assert words in re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", name)
        figures = [re.search(r"\d+\.\d|$", cell)[0] for cell in cells]
        assert figures == [source and f"{source_number(source):.1f}" or "" for source in sources], name
        assert ["**" in cell for cell in cells] == [figure == max(figures) for figure in figures], name


def test_every_figure_has_a_source():
    """A share, points or seconds that no row above is about would be compared with nothing."""
    sourced = {match.span(group) for words in SOURCES for match in pattern(words).finditer(PROSE)
               for group in range(1, words.count("#") + 1)}  # fmt: skip
    figures = {match.span() for match in FIGURE.finditer(PROSE)}
    assert len(figures) > 20
    assert [PROSE[low - 60 : high + 20] for low, high in sorted(figures - sourced)] == []


def test_the_table_of_methods_is_that_of_the_demo():
    """Each line of the page's table has the accuracy and the difference of the frozen demo, with their intervals."""
    row = r"(?m)^([A-Z][A-Z+-]*(?: \*)?)  +[a-z-]+ +([\d.]+) +([\d.]+) to ([\d.]+) +(\S+) +(\S+) to (\S+)$"
    lines = re.findall(row, METHODS_PAGE)
    assert len(lines) == 17
    for name, *numbers in lines:
        method = METHODS[name.removesuffix(" *")]
        keys = ("pairwise_accuracy", "ci_low", "ci_high", "difference", "difference_low", "difference_high")
        assert [float(number) for number in numbers] == [round(100 * method[key], 1) for key in keys], name
