"""Each figure of README.md is that of the page, or of the frozen demo, that it is from."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROSE = " ".join(re.sub(r"(?ms)^```.*?^```", "", README).split())
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
NUMBER = rf"(?:\d[\d.,]*|\b(?:{'|'.join(NUMBERS)})\b)"
FIGURE = re.compile(
    rf"{NUMBER}(?=(?: (?:and|to) {NUMBER})? points?\b)|\d[\d.,]*(?=(?: (?:and|to) \d[\d.]*)? (?:%|seconds))"
)
DEMO = json.loads((ROOT / "tests" / "frozen" / "demo.json").read_text(encoding="utf-8"))[0]["evaluation"]
METHODS = {method["name"]: method for method in DEMO["methods"]}

MADE_TWICE, FINDINGS = ("tables-mini.md", "Made twice"), ("tables-minilm.md", "What holds of the paper's findings")
BOTH_PROMPTS = ("llms.md", "Labels that order prompts")
UNRELATED, FAMILY = ("labels.md", "Unrelated models"), ("labels.md", "Suites that share a shortcut")
AT_ONCE = ("labels.md", "One at a time, or all at once")
ASKED, RANDOM = "SURROGATE, asked for, for the best", "ACC, random rows"

SOURCES = {
    "it put # % of the pairs of unrelated models in the right order, and # % of models of one family.": [
        (*UNRELATED, ASKED, "K = 10"),
        (*FAMILY, ASKED, "K = 10"),
    ],
    "Accuracy on ten random labels put # and # % in order": [
        (*UNRELATED, RANDOM, "K = 10"),
        (*FAMILY, RANDOM, "K = 10"),
    ],
    "put # % of the pairs of prompts on two small models in order, and accuracy on ten labels # %": [
        (*BOTH_PROMPTS, "SURROGATE, random rows", "K = 10"),
        (*BOTH_PROMPTS, RANDOM, "K = 10"),
    ],
    "the model named after ten of them is # points behind the best. After ten rows asked for one at a time it is # "
    "points behind, and after five # points": [
        (*AT_ONCE, "at once, for the best, K = 10", "regret"),
        (*AT_ONCE, "one at a time, for the best, K = 10", "regret"),
        (*AT_ONCE, "one at a time, for the best, K = 5", "regret"),
    ],
    "Guessing scores # %": ["RANDOM"],
    "counts correct predictions: # %": ["ACC"],
    "Alone it scores # %. If it only breaks ACC's ties (**ACC+TIES**), the two score # %.": ["INDEX-DIFF", "ACC+TIES"],
    "no attributions, and scores # %": ["CONF-H"],
    "to the same ten labels: # %. **SURROGATE+LABEL** also chooses the ten rows, one at a time, as `rank-models label "
    "--rule order` does: # % here": ["SURROGATE", "SURROGATE+LABEL"],
    "they give its label on # to # % of the examples": [5, 7],
    "INDEX-DIFF was # points ahead of ACC once and # points behind once; ACC+TIES was # and # points": [
        (*MADE_TWICE, "INDEX-DIFF, hans-sub", column) for column in (1, 2, 7, 8)
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
"""Words of README around its figures, each a # -> where each is from: a page's section, row and column; a method of the
demo, of which it is the accuracy; or a model of it, by rank, of which it is how often it is misled."""


def pattern(words):
    """Match some words of README, a group for each figure."""
    return re.compile(re.escape(words).replace(r"\#", f"({NUMBER})"))


def cell_number(page, section, row, column):
    """Return the first number of a table's cell that is no part of a name, without its sign."""
    text = (ROOT / "docs" / "results" / page).read_text(encoding="utf-8")
    (part,) = re.findall(rf"(?ms)^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text)
    table = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in part.splitlines() if line.startswith("|")]
    heads = [index for index, cells in enumerate(table) if set("".join(cells)) <= set("-: ")]
    for index, cells in reversed(list(enumerate(table))):
        if cells[0] == row:
            head = table[max(place for place in heads if place < index) - 1]
            cell = cells[column if isinstance(column, int) else head.index(column)]
            return float(re.search(r"(?<![\w-])[+-]?(\d[\d.]*)", cell.replace("*", ""))[1])
    raise AssertionError(f"{page} has no row {row!r} below {section!r}")


def source_number(source):
    """Return a number in the unit of README."""
    if isinstance(source, str):
        return 100 * METHODS[source]["pairwise_accuracy"]
    if isinstance(source, int):
        return 100 * DEMO["models"][source]["misled"]
    return cell_number(*source)


@pytest.mark.parametrize("words", SOURCES)
def test_a_figure_is_that_of_its_page(words):
    """It differs from the page's by rounding only."""
    (found,) = pattern(words).finditer(PROSE)
    for figure, source in zip(found.groups(), SOURCES[words], strict=True):
        digits = len(figure.partition(".")[2])
        number = float(NUMBERS.get(figure, figure))
        assert abs(number - source_number(source)) <= 0.5 * 10**-digits + 1e-9, (figure, source, source_number(source))


def test_every_figure_has_a_source():
    """A share, points or seconds that no row above is about would be compared with nothing."""
    sourced = {found.span(group) for words in SOURCES for found in pattern(words).finditer(PROSE)
               for group in range(1, words.count("#") + 1)}  # fmt: skip
    figures = {found.span() for found in FIGURE.finditer(PROSE)}
    assert len(figures) > 20
    assert [PROSE[low - 60 : high + 20] for low, high in sorted(figures - sourced)] == []


def test_the_table_of_methods_is_that_of_the_demo():
    """Each line of README's table has the accuracy and the difference of the frozen demo, with their intervals."""
    lines = re.findall(
        r"(?m)^([A-Z][A-Z+-]*(?: \*)?)  +[a-z-]+ +([\d.]+) +([\d.]+) to ([\d.]+) +(\S+) +(\S+) to (\S+)$", README
    )
    assert len(lines) == 17
    for name, *numbers in lines:
        method = METHODS[name.removesuffix(" *")]
        keys = ("pairwise_accuracy", "ci_low", "ci_high", "difference", "difference_low", "difference_high")
        assert [float(number) for number in numbers] == [round(100 * method[key], 1) for key in keys], name
