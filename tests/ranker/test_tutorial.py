"""docs/tutorial.md: its commands are run in order, and print what it shows."""

import io
import os
import re
import runpy
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from ranker.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCKS = re.findall(r"(?ms)^```(\w+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"))
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
SHOW = "RANK_MODELS_SHOW_TUTORIAL"
"""Set it to a file that gets everything that is printed, to paste from."""


def steps(script):
    """The commands of a block: (the command's words, the file that its output goes to, the lines it is given)."""
    lines = iter(script.splitlines())
    for line in lines:
        words = shlex.split(line)
        input_lines = []
        if "<<" in line:
            end = words[-1].removeprefix("<<")
            input_lines = list(iter(lambda: next(lines), end))
            words = words[:-1]
        file = words[words.index(">") + 1] if ">" in words else None
        yield words[: words.index(">")] if ">" in words else words, file, input_lines


def do(words, file, lines):
    """Run one command; what it prints."""
    if words[0] == "cat":
        content = "\n".join([*lines, ""]) if lines else "".join(Path(name).read_text() for name in words[1:])
        Path(file).write_text(content)
    elif words[0] == "python":
        runpy.run_path(words[1])
    elif words[0] == "rank-models":
        return printed(words[1:])
    else:
        assert words == ["pip", "install", ".[models]"]
    return ""


def printed(arguments):
    """Return what the program writes to stdout; it must end well."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with redirect_stdout(out), pytest.raises(SystemExit) as stop:
        main(arguments)
    assert not stop.value.code, arguments
    return out.buffer.getvalue().decode()


def alike(page_output, real):
    """Tell whether two words are the same, but for numbers that differ by no more than 2 % or 0.3."""
    if NUMBER.sub("#", page_output) != NUMBER.sub("#", real):
        return False
    pairs = zip(NUMBER.findall(page_output), NUMBER.findall(real), strict=True)
    numbers = [[float(number.replace(",", "")) for number in pair] for pair in pairs]
    return all(abs(a - b) <= max(0.3, 0.02 * abs(a)) for a, b in numbers)


def agrees(page_output, real):
    """Tell whether an output has the words that are shown, however its lines are folded; "..." stands for any."""
    words = real.split()
    parts = [part.split() for part in re.split(r"(?m)^\.\.\.$", page_output)]
    position = 0
    for number, part in enumerate(parts):
        last = len(words) - len(part)
        places = range(position, last + 1) if number else range(position, position + 1)
        if number and number == len(parts) - 1 and part:
            places = range(max(position, last), last + 1)
        elif len(parts) == 1 and len(words) != len(part):
            return False
        positions = (p for p in places if len(words) >= p + len(part) and all(map(alike, part, words[p:])))
        position = next(positions, -1)
        if position < 0:
            return False
        position += len(part)
    return True


@pytest.mark.more
def test_the_tutorial(tmp_path, monkeypatch):
    """Each command does its work, and what it prints is what is shown below it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    out = ""
    for kind, content in BLOCKS:
        if kind == "sh":
            out = "".join(do(*step) for step in steps(content))
            if os.environ.get(SHOW):
                with open(os.environ[SHOW], "a", encoding="utf-8") as file:
                    file.write(f"{content}--->\n{out}\n")
        elif not os.environ.get(SHOW):
            assert kind == "text"
            assert agrees(content, out), f"it prints now:\n{out}"
    assert Path("report.html").read_text(encoding="utf-8").lstrip().startswith("<!doctype html>")
    assert r"\toprule" in Path("table.tex").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page_output", "real", "same"),
    [
        ("a  1.0", "a\n1.2", True), ("a 1.0", "a 1.4", False), ("a 1,000", "a 1,015", True),
        ("a 1,000", "a 1,025", False), ("a(+1.0)", "b(+1.0)", False), ("a\n...\nd", "a b c d", True),
        ("a\n...\nd", "a b c", False), ("a\n...\nd", "a b d c", False), ("a\n...\n", "a b c", True),
        ("...\nc\n...\nd\n", "a b c d", True), ("...\nd\n...\nc\n", "a b c d", False), ("a", "a b", False),
        ("a b", "a", False),
    ],
)  # fmt: skip
def test_what_counts_as_shown(page_output, real, same):
    """Words and their order are exact; numbers may differ a little; only "..." leaves words out."""
    assert agrees(page_output, real) == same


def test_every_command_of_the_page_is_known():
    """No block is left out for its language."""
    assert {kind for kind, _ in BLOCKS} == {"sh", "text"}
