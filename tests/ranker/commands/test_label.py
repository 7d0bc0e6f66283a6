"""`rank-models label`, in a real pseudo-terminal and without one."""

import contextlib
import csv
import io
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import ranker
from ranker import LabelSettings, load_set, load_suite
from ranker.cli import main
from ranker.commands.label import label

UNSTYLED = re.compile(r"\x1b\[[0-9;]*m")
ROWS = 40
KNOWN = ("bad", "good")


@pytest.fixture(name="folder")
def pool_folder(tmp_path):
    """A pool, and what three models say of it; row 0 has signs that a terminal would obey."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=ROWS)
    texts = [f"Row {n} of the pool." for n in range(ROWS)]
    (tmp_path / "pool.csv").write_text("id,text\n" + "".join(f"r{n},{text}\n" for n, text in enumerate(texts)))
    for name, wrong in (("alpha", 2), ("beta", 4), ("gamma", 2.5)):
        predictions = [KNOWN[int(t if rng.random() > 1 / wrong else 1 - t)] for t in truth]
        lines = "".join(f"r{n},{label}\n" for n, label in enumerate(predictions))
        (tmp_path / f"{name}.csv").write_text(f"id,prediction\n{lines}")
    return tmp_path


def arguments(*flags, pool="pool.csv", models=("alpha.csv", "beta.csv", "gamma.csv"), output="labels.csv"):
    """Build the arguments of the program."""
    command_line = ["label", "--pool", pool, "--models", *models, "-o", output]
    until = () if "--until" in flags else ("--until", "1")
    return [*command_line, "--store", "store", *until, "--annotator", "ann", *flags]


def command(*flags, **options):
    """The program."""
    return [sys.executable, "-m", "ranker", *arguments(*flags, **options)]


ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "TERM": "xterm", "COLUMNS": "100"}


def plain(folder, keys, *flags, **options):
    """A run without a terminal, in this process, which has imported all of it: exit status, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO("".join(f"{key}\n" for key in keys)))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stop:
            main(arguments(*flags, **options))
    return stop.value.code or 0, out.getvalue(), err.getvalue()


def kept(folder, name="labels.csv"):
    """The lines of the file."""
    with (folder / name).open(newline="") as file:
        return list(csv.DictReader(file))


DROPPED = 10.0
"""Seconds without an answer after which a key was dropped: the program drops what is pressed before it waits."""


class Terminal:
    """A pseudo-terminal with the program in it."""

    def __init__(self, folder, *flags, **options):
        self.inside, outside = pty.openpty()
        self.process = subprocess.Popen(
            command(*flags, **options), cwd=folder, stdin=outside, stdout=outside, stderr=outside, env=ENVIRONMENT,
            start_new_session=True, close_fds=True,
        )  # fmt: skip
        os.close(outside)
        self.seen, self.pressed = "", b""

    def until(self, text, seconds=600):
        """Read until something is there; what came before it. A key that a busy machine dropped is pressed again."""
        end, again = time.monotonic() + seconds, time.monotonic() + DROPPED
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            if time.monotonic() > again:
                os.write(self.inside, self.pressed)
                again += DROPPED
            if select.select([self.inside], [], [], 0.2)[0]:
                self.pressed = b""
                try:
                    self.seen += os.read(self.inside, 65536).decode(errors="replace")
                except OSError:
                    break
        before, matched, self.seen = self.seen.partition(text)
        assert matched, before
        return before

    def press(self, key):
        """Press a key once the program waits for one: it drops what was pressed before."""
        time.sleep(0.15)
        self.pressed = key.encode()
        os.write(self.inside, self.pressed)

    def close(self):
        """The exit status, once it has ended."""
        status = self.process.wait(600)
        os.close(self.inside)
        return status


@pytest.fixture(autouse=True)
def _ended(monkeypatch):
    """No program outlives its test."""
    begun = []
    plain_init = Terminal.__init__
    monkeypatch.setattr(Terminal, "__init__", lambda self, *a, **g: begun.append(self) or plain_init(self, *a, **g))
    yield
    for terminal in begun:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.close()


@pytest.mark.more
def test_a_session_in_a_terminal(folder):
    """One key a label, cannot tell, skip, undo several steps back, what the models said once answered, guidelines."""
    (folder / "guide.txt").write_text("Good is \x1b[31mgood.\n")
    terminal = Terminal(folder, "--guidelines", "guide.txt")
    before = terminal.until("q quit")
    before += terminal.until("of the pool.")
    for name in ("alpha", "beta", "gamma"):
        assert name not in before
    terminal.press("g")
    assert "\x1b[31m" not in terminal.until("\\u001b[31mgood.")
    terminal.press("1")
    screen = terminal.until("of the pool.")
    assert "your answer: bad" in screen
    assert "1 answer; P(the leader is within 1 point of the best)" in screen
    assert "% (enough: 100 %)" in screen
    assert "alpha" not in screen
    assert [row["label"] for row in kept(folder)] == ["bad"]
    terminal.press("v")
    screen_before = terminal.until("other keys: on")
    answered, _, screen = screen_before.partition("your answer: bad")
    assert f"the row that you have answered:\r\n    {kept(folder)[0]['text']}" in UNSTYLED.sub("", answered)
    assert "alpha: " in screen
    terminal.press("2")
    assert "your answer now: good" in terminal.until("of the pool.")
    for key, echo in (("0", "no label: the row is not asked again"), ("s", "skipped: "), ("2", "your answer: good")):
        terminal.press(key)
        assert echo in terminal.until("of the pool.")
    assert [row["status"] for row in kept(folder)] == ["changed-after-reveal", "cannot-tell", "skipped", "answered"]
    first = kept(folder)[0]
    assert (first["label"], first["changed_to"], first["annotator"]) == ("bad", "good", "ann")
    assert float(first["seconds"]) > 0
    assert first["when"].endswith("Z")
    for left in (3, 2, 1):
        terminal.press("u")
        terminal.until("of the pool.")
        assert len(kept(folder)) == left
    terminal.press("u")
    terminal.until("an answer is final once you saw what the models say of its row, and there is no other")
    terminal.press("n")
    terminal.until("P(best)")
    terminal.press("q")
    terminal.until("saved in labels.csv")
    assert terminal.close() == 0
    assert sorted(path.name for path in folder.glob(".labels*")) == []


@pytest.mark.more
def test_w_shows_what_the_models_looked_at_once_they_were_shown(folder):
    """By SHAP, each model's words, and no factor; not before the answer, and an answer given after it is marked."""
    suite = load_suite(["hans-sub-mini"])
    models = [suite.models[index].source.path for index in (0, -1)]
    rows = [row.segments for row in load_set("hans-sub", limit=20).examples]
    with (folder / "pairs.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("premise", "hypothesis"), *rows])
    terminal = Terminal(folder, "--budget", "2", "--no-isolate", pool="pairs.csv", models=models)
    terminal.until("q quit")
    assert "premise: " in terminal.until("hypothesis: ")
    terminal.until(".\x1b[0m\r\n")
    terminal.press("w")  # no key of a row: the keys are shown
    assert "speaks for" not in terminal.until("q quit")
    terminal.press("1")
    terminal.until("1 answer;")
    terminal.until(".\x1b[0m\r\n")
    terminal.press("v")
    assert "speaks for" not in terminal.until("other keys: on")
    terminal.press("w")
    screen = terminal.until("Log-odds of entailment with every word hidden")
    assert "factor" not in screen
    assert "how much a word speaks for (+) or against (-) 'entailment'" in screen
    for name in ("untouched", "inoc-4000"):
        assert f"{name}: " in screen
    terminal.press("2")
    terminal.until("\x1b[1m")  # the row that was asked before stands there again
    assert [(row["label"], row["changed_to"]) for row in kept(folder)] == [("non-entailment", "entailment")]
    terminal.press("2")
    terminal.until("saved in labels.csv")
    assert terminal.close() == 0


@pytest.mark.parametrize(("flags", "picked"), [((), "best"), (("--rule", "order"), "order")])
def test_rows_are_asked_for_the_best_model_unless_something_else_is_said(flags, picked, folder):
    """The file says of each row what it was picked for."""
    status, _, err = plain(folder, "12q", *flags)
    assert (status, err) == (0, "")
    assert [row["picked"] for row in kept(folder)] == [picked] * 2


@pytest.mark.parametrize(("flags", "same"), [((), True), (("--rule", "best"), True), (("--rule", "order"), False)])
def test_a_batch_is_picked_for_the_best_model_unless_something_else_is_said(flags, same, folder):
    """Rows are those of the library's call for the best model, in their order."""
    assert plain(folder, "", "--batch", "6", *flags, "--force", output="batch.csv")[0] == 0
    with contextlib.chdir(folder):
        session = ranker.label(["alpha.csv", "beta.csv", "gamma.csv"], "pool.csv", settings=LabelSettings("best"))
    picked = [row.segments[0] for row in session.next_batch(6)]
    assert ([row["text"] for row in kept(folder, "batch.csv")] == picked) is same


def test_w_is_not_offered_where_answers_lie_in_files(folder):
    """Nobody can be asked what they looked at: the key is as good as any other, and the session goes on."""
    status, out, err = plain(folder, "1vwx2q")
    assert (status, err) == (0, "")
    assert "a label: your answer now" in out
    assert "looked at" not in out
    assert "`" not in out
    assert [row["label"] for row in kept(folder)] == ["bad", "good"]


@pytest.mark.more
@pytest.mark.parametrize("labelled", [False, True])
def test_ctrl_c_in_the_middle_is_one_line(folder, labelled):
    """Before an answer, or while predictions are shown: status 130, all that was said is kept, and it goes on."""
    terminal = Terminal(folder)
    terminal.until("of the pool.")
    terminal.press("1")
    terminal.until("1 answer;")
    pending = re.findall(r"Row \d+", terminal.until("of the pool."))
    if labelled:
        terminal.press("v")
        terminal.until("other keys: on")
    terminal.press("\x03")
    assert terminal.until("resumes\r\n").splitlines()[-1].startswith("rank-models: stopped; results so far are cached")
    assert terminal.close() == 130
    assert terminal.seen in ("", "\x1b[?25h")  # the cursor is shown, for whoever had it hidden
    assert [(row["label"], row["changed_to"]) for row in kept(folder)] == [("bad", "bad" if labelled else "")]
    assert sorted(path.name for path in folder.glob(".labels*")) == []
    again = Terminal(folder)
    again.until("q quit")
    assert re.findall(r"Row \d+", again.until("of the pool.")) == pending
    again.press("q")
    again.until("1 answer")
    assert again.close() == 0


@pytest.mark.more
def test_what_was_pressed_before_a_row_or_together_is_no_answer(folder):
    """An arrow, or something pasted, is none."""
    terminal = Terminal(folder)
    terminal.until("of the pool.")
    terminal.press("\x1b[A")
    terminal.until("q quit")
    terminal.press("1111")
    terminal.until("q quit")
    assert kept(folder) == []
    terminal.press("\x04")
    assert terminal.close() == 0


@pytest.mark.more
def test_texts_are_inert(folder):
    """Signs that a terminal would obey are shown; line ends stay."""
    pool = folder / "pool.csv"
    text = "\x1b[2Jred\u202e\nsecond [bold]line"
    pool.write_text("id,text\n" + "".join(f'r{n},"{text} {n} of the pool."\n' for n in range(ROWS)))
    terminal = Terminal(folder)
    terminal.until("q quit")
    row = terminal.until("of the pool.")
    assert "\\u001b[2Jred\\u202e" in row
    assert "second [bold]line" in row.split("\n", 1)[1]
    assert "\x1b[2J" not in row
    terminal.press("q")
    terminal.close()


@pytest.mark.more
def test_a_second_process_is_refused(folder):
    """In one line; it can go on once the first has ended."""
    terminal = Terminal(folder)
    terminal.until("of the pool.")
    status, _, err = plain(folder, "q")
    assert (status, len(err.splitlines())) == (2, 1)
    assert "another process is labelling into labels.csv" in err
    terminal.press("q")
    terminal.close()
    assert plain(folder, "q")[0] == 0


def test_a_session_goes_on_where_it_stopped(folder):
    """In two parts it asks what it asks in one, and the file is the same but for times; `--data` reads it."""
    plain(folder, "1212", output="once.csv")
    plain(folder, "12q", output="twice.csv")
    plain(folder, "12q", output="twice.csv")
    once, twice = ([{k: v for k, v in row.items() if k not in ("when", "seconds")} for row in kept(folder, name)]
                   for name in ("once.csv", "twice.csv"))  # fmt: skip
    assert once == twice
    assert len(once) == 4


@pytest.mark.more
@pytest.mark.parametrize("kills", [3, pytest.param(200, marks=pytest.mark.soak)])
def test_killed_after_any_answer_nothing_is_lost(folder, kills):
    """Whenever the line after an answer is there, the answer is on the disk; killed then, the same command goes on."""
    answers = 0
    for number in range(kills):
        if answers >= ROWS - 4:
            (folder / "labels.csv").unlink()
            answers = 0
        terminal = Terminal(folder)
        terminal.until("of the pool.")
        terminal.press("12"[number % 2])
        terminal.until(f"{answers + 1} answer")  # the line after it
        os.kill(terminal.process.pid, signal.SIGKILL)
        terminal.close()
        answers += 1
        assert [row["status"] for row in kept(folder)] == ["answered"] * answers
        assert not list(folder.glob("*.tmp"))


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ("one model", 2, "at least two models"),
        ("two equal models", 0, "all models predict the same on every row of the pool: no label would tell them apart"),
        ("labels of another task", 2, "some rows have one text and some two"),
        ("a file of another task", 2, "line 2: a row that pool.csv does not have (its text is not there)"),
        (
            "a label that no model knows",
            2,
            "line 3: a label must be one of bad (0), good (1) or an alias (got 'fruit')",
        ),
        ("labels that no model knows", 2, "'fruit' is of no known task (own labels: bad, good;"),
        ("one of several labels", 2, "others.csv: no model knows the label 'fruit'; theirs are bad, good"),
        ("a task beside a set of another", 2, "`--task` nli is not that of paws, which is paraphrase"),
        ("a label in the pool", 2, "pool.csv, line 2: a label must be one of non-entailment (0), entailment (1) or an"),
        ("another pool", 2, "the pool has changed since"),
        ("all labelled", 0, "no row is left"),
        ("one row", 0, "no row is left"),
    ],
)
def test_what_cannot_be_labelled_is_one_clear_line(folder, change, status, says):
    """Without a traceback, with the exit status of its kind."""
    options = {}
    labels, other_labels = folder / "labels.csv", folder / "others.csv"
    if change == "one model":
        options["models"] = ("alpha.csv",)
    elif change == "two equal models":
        (folder / "beta.csv").write_text((folder / "alpha.csv").read_text())
        options["models"] = ("alpha.csv", "beta.csv")
    elif change == "labels of another task":
        other_labels.write_text("premise,hypothesis,label\nIt ran.,It moved.,good\n")
    elif change == "a file of another task":
        labels.write_text("premise,hypothesis,label\nIt ran.,It moved.,entailment\n")
    elif change == "a label that no model knows":
        labels.write_text("id,text,label\nr0,Row 0 of the pool.,bad\nr1,Row 1 of the pool.,fruit\n")
    elif change == "labels that no model knows":
        other_labels.write_text("text,label\nRow 0 of the pool.,fruit\n")
    elif change == "one of several labels":
        other_labels.write_text("text,label\nRow 0 of the pool.,good\nRow 1 of the pool.,fruit\n")
    elif change == "a label in the pool":
        (folder / "pool.csv").write_text("id,text,label\nr0,Row 0 of the pool.,fruit\n")
    elif change == "another pool":
        labels.write_text("id,text,label\nr0,Row 0 as it was.,good\n")
    elif change == "all labelled":
        labels.write_text("text,label\n" + "".join(f"Row {n} of the pool.,good\n" for n in range(ROWS)))
    else:
        (folder / "pool.csv").write_text("id,text\nr0,Row 0 of the pool.\n")
        for name in ("alpha", "beta", "gamma"):
            (folder / f"{name}.csv").write_text(f"id,prediction\nr0,{KNOWN[name == 'beta']}\nr1,bad\nr2,good\n")
    flags = ("--labelled", "others.csv") if other_labels.exists() else ()
    flags += ("--task", "nli") if change in ("a task beside a set of another", "a label in the pool") else ()
    flags += ("--ood", "paws") if change == "a task beside a set of another" else ()
    code, out, err = plain(folder, "1q", *flags, **options)
    assert code == status, err
    assert says in out + err
    assert "Traceback" not in err
    if status:
        assert len(err.splitlines()) == 1, err
    else:
        assert re.search("^saved in labels.csv$", out, re.MULTILINE)  # no command goes on


@pytest.mark.parametrize("rows", [9, 10])
def test_answers_of_several_people_are_compared(folder, rows):
    """`--labelled` twice: rows whose answers differ are listed, and from ten on it is said how often two agree."""
    texts = [f"Row {n} of the pool." for n in range(rows)]
    for name, changed in (("ann", ()), ("bob", (1, 4))):
        lines = [f"{text},{KNOWN[n in changed]}\n" for n, text in enumerate(texts)]
        (folder / f"{name}.csv").write_text("text,label\n" + "".join(lines))
    two_people = ("--labelled", "ann.csv", "--labelled", "bob.csv")
    status, out, err = plain(folder, "q", *two_people)
    assert status == 0
    listed = "2 rows have answers that differ: Row 1 of the pool.; Row 4 of the pool."
    agree = "two answers to one row agree in 80.0 % of 10 rows"
    assert err.splitlines() == ([listed, agree] if rows == 10 else [listed])
    assert f"{2 * rows} answers" in out  # each is a reading of its row's label


@pytest.mark.more
@pytest.mark.parametrize("place", ["file", "pool"])
def test_a_report_says_which_answers_it_lacks_and_a_budget_counts_those_of_the_file(folder, place):
    """Others' answers, in a file or the pool's own column, spend no budget; `run` says that a pool's are not read."""
    lines = [f"r{n},Row {n} of the pool.,{KNOWN[n % 2] if n < 8 else ''}\n" for n in range(ROWS)]
    if place == "pool":
        (folder / "pool.csv").write_text("id,text,label\n" + "".join(lines))
    else:
        (folder / "ann.csv").write_text("id,text,label\n" + "".join(lines[:8]))
    text = "pool.csv" if place == "pool" else "ann.csv"
    flags = ("--labelled", "ann.csv") if place == "file" else ()
    lacks = f"a report reads one file, without the 8 answers of others in {text}"
    _, out, _ = plain(folder, "q", *flags)
    assert out.splitlines()[-2:] == ["no report yet: labels.csv holds no answer", lacks]
    _, out, _ = plain(folder, "1212", "--budget", "3", "--until", "1", *flags)
    assert "the budget of 3 answers is spent" in out
    assert len(kept(folder)) == 3
    *_, report, last = out.splitlines()
    assert last == lacks
    with contextlib.chdir(folder), pytest.raises(SystemExit) as stop:
        main([*shlex.split(report.removeprefix("report: "))[1:], "-o", "report.md"])
    assert not stop.value.code
    unread = "8 rows of the pool have a label"
    assert (unread in (folder / "report.md").read_text()) == (place == "pool")


def test_answers_given_before_are_compared_with_those_of_others(folder):
    """One row, in one line whatever signs its text has."""
    text = "\x1b[2JFine\nor not?"
    (folder / "pool.csv").write_text(f'id,text\nr0,"{text}"\n' + "".join(f"r{n},Row {n}\n" for n in range(1, ROWS)))
    (folder / "labels.csv").write_text(f'id,text,label\nr0,"{text}",good\n')
    (folder / "ann.csv").write_text(f'id,text,label\nr0,"{text}",bad\n')
    status, _, err = plain(folder, "q", "--labelled", "ann.csv")
    assert (status, err) == (0, "1 row has answers that differ: \\u001b[2JFine or not?\n")


@pytest.mark.more
def test_it_ends_when_little_is_lost_by_any_of_the_best(folder):
    """After five answers at least: what may be taken, and what is lost by it."""
    status, out, err = plain(folder, "1" * ROWS, "--shortfall", "100", "--until", "1")
    assert status == 0, err
    assert len(kept(folder)) == 5
    assert re.search(r"enough: [\d.]+ points are expected to be lost by taking the leader", out)
    *_, line, _, _, saved, _ = out.splitlines()
    assert line == "All 5 labels are bad: only the recall of bad is measured. Take alpha"
    assert saved == "saved in labels.csv; to go on, lower --shortfall in the same command"
    status, out, _ = plain(folder, "1" * ROWS, "--shortfall", "0", "--until", "1")
    assert "expected to be lost" not in out
    assert len(kept(folder)) > 5


def test_it_ends_when_it_is_enough_or_the_budget_is_spent(folder):
    """The end says why, which option goes on, and which command reports; a session that was left goes on as it is."""
    _, out, _ = plain(folder, "1111111", "--budget", "3", "--empty-words", "none,nil")
    assert "the budget of 3 answers is spent" in out
    assert len(kept(folder)) == 3
    *_, saved, report = out.splitlines()
    assert saved == "saved in labels.csv; to go on, raise --budget in the same command"
    words = shlex.split(report.removeprefix("report: "))
    models = ["--models", "alpha.csv", "beta.csv", "gamma.csv", "--store", "store"]
    assert words == ["rank-models", "--data", "labels.csv", "--pool", "pool.csv", "--empty-words", "none,nil", *models]
    with contextlib.chdir(folder), pytest.raises(SystemExit) as stop:
        main([*words[1:], "-o", "report.md"])
    assert not stop.value.code
    assert "SURROGATE puts" in (folder / "report.md").read_text()
    _, out, _ = plain(folder, "1111111", "--until", "0.2", output="other.csv")
    assert "enough: P(the leader is within 1 point of the best) has reached 0.2" in out
    assert "saved in other.csv; to go on, raise --until in the same command" in out
    _, out, _ = plain(folder, "1q", output="left.csv")
    assert "saved in left.csv; the same command resumes" in out


@pytest.mark.more
def test_where_the_pool_has_all_labels_nothing_is_asked(folder):
    """The end says so, with a command that runs; no limit is to be raised, since no row is left."""
    lines = [f"r{n},Row {n} of the pool.,{KNOWN[n % 2]}\n" for n in range(ROWS)]
    (folder / "pool.csv").write_text("id,text,label\n" + "".join(lines))
    for until in ("0.965", "0.1"):
        _, out, _ = plain(folder, "", "--until", until)
        *_, nothing, report = out.splitlines()
        assert nothing == f"nothing was asked beside the {ROWS} answers of others in pool.csv"
        assert report.startswith("report: rank-models --data pool.csv --")
        assert "--pool" not in report
        assert "raise --" not in out
    with contextlib.chdir(folder), pytest.raises(SystemExit) as stop:
        main([*shlex.split(report)[2:], "-o", "report.md"])
    assert not stop.value.code
    (folder / "labels.csv").write_text("id,text,label\n" + "".join(lines))
    (folder / "pool.csv").write_text("id,text\n" + "".join(f"r{n},Row {n} of the pool.\n" for n in range(ROWS)))
    _, out, _ = plain(folder, "", "--until", "0.1")
    assert re.search("^saved in labels.csv$", out, re.MULTILINE)


def test_a_session_with_one_label_says_so_near_its_end_and_first_of_all_at_its_end(folder):
    """From five answers on, in the line after each; before the models at the end, and not where labels differ."""
    only = "all {} labels are bad: only the recall of bad is measured"
    _, out, _ = plain(folder, "111111", "--budget", "6")
    *lines, end = (block.splitlines() for block in out.split("your answer: bad\n"))
    assert [only.format(count) in block[0] for count, block in enumerate([*lines[1:], end], 1)] == [False] * 4 + [
        True
    ] * 2
    assert end[1] == "the budget of 6 answers is spent"
    assert end[2].startswith(f"A{only.format(6)[1:]}. Cannot say yet: ")
    assert end[3].count("P(best)") == 3
    _, out, _ = plain(folder, "112121", "--budget", "6", output="both.csv")
    assert "recall" not in out


@pytest.mark.more
def test_torch_is_not_imported(folder):
    """Predictions in files need no torch."""
    code = (
        "import sys; from ranker.cli import main\ntry: main()\nexcept SystemExit: pass\nprint('torch' in sys.modules)"
    )
    calls = command("--plain")
    done = subprocess.run(
        [calls[0], "-c", code, *calls[3:]], cwd=folder, input="1\nq\n", capture_output=True, text=True, env=ENVIRONMENT,
        check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "False"


def test_the_defaults_of_options_are_those_of_the_settings():
    """Options state them, so that no help has to import the statistics."""
    defaults = {option.name: option.default for option in label.params}
    settings = LabelSettings()
    for name in ("until", "seed"):
        assert defaults[name] == getattr(settings, name)


def changed(folder, edit, name="labels.csv", renamed=False):
    """Change the file as other programs do: read it, edit its lines, write it, or another one that gets its name."""
    lines = kept(folder, name)
    names = list(lines[0])
    lines = edit(lines)
    target = folder / f"{name}.new" if renamed else folder / name
    with target.open("w", newline="") as file:
        out = csv.DictWriter(file, names, restval="")
        out.writeheader()
        out.writerows(lines)
    target.rename(folder / name)


def answer(terminal, key="1"):
    """Answer the row that stands there, and wait for the next one."""
    terminal.press(key)
    return terminal.until("of the pool.")


@pytest.mark.more
def test_what_another_program_wrote_is_taken_in(folder):
    """A label that was changed, a row that was added, and one that was taken away: the session goes on."""
    terminal = Terminal(folder)
    terminal.until("of the pool.")
    for _ in range(3):
        answer(terminal)
    first, second, third = (row["id"] for row in kept(folder))
    added = next(f"r{n}" for n in range(ROWS) if f"r{n}" not in (first, second, third))

    def edit(lines):
        extra = {**lines[0], "id": added, "text": f"Row {added[1:]} of the pool.", "label": "good", "annotator": "bob"}
        return [{**lines[0], "label": "good"}, lines[2], {**extra, "order": "7"}]

    changed(folder, edit)
    assert "another program has changed it; taken in: 2 rows" in answer(terminal, "2")
    terminal.press("q")
    terminal.until("saved in labels.csv")
    assert terminal.close() == 0
    now = kept(folder)
    labels = {row["id"]: row["label"] for row in now}
    last = now[-1]["id"]
    if last != added:
        assert labels[last] == "good"
    assert {name: labels.get(name) for name in (first, second, third, added)} == {
        first: "good", second: "bad", third: "bad", added: "good"
    }  # fmt: skip
    assert {row["annotator"] for row in now} == {"ann", "bob"}


@pytest.mark.more
def test_what_contradicts_is_kept_twice(folder):
    """Another program has answered the very row that stands there, otherwise: both versions are on the disk."""
    terminal = Terminal(folder)
    terminal.until("of the pool.")
    terminal.press("1")
    row = re.search(r"Row (\d+) ", terminal.until("of the pool.") + " of the pool.")[0]
    changed(folder, lambda lines: [*lines, {**lines[0], "id": f"r{row.split()[1]}", "text": f"{row}of the pool.",
                                            "label": "good", "order": "1"}])  # fmt: skip
    theirs = (folder / "labels.csv").read_bytes()
    terminal.press("1")
    screen = terminal.until("labels-session-1.csv")
    assert "another program has changed labels.csv otherwise" in " ".join(screen.split())
    assert terminal.close() == 2
    assert (folder / "labels.csv").read_bytes() == theirs
    assert [line["label"] for line in kept(folder, "labels-session-1.csv")] == ["bad", "bad"]


@pytest.mark.more
@pytest.mark.parametrize(("key", "left"), [("1", 2), ("u", 0)])
def test_what_cannot_be_read_is_left_as_it_is(folder, key, left):
    """Half a file of another program is not written over, nor is what was answered, or taken back, lost."""
    terminal = Terminal(folder)
    terminal.until("of the pool.")
    answer(terminal)
    (folder / "labels.csv").write_text('id,text,label\nr1,"Row 1 of')
    terminal.press(key)
    terminal.until("labels-session-1.csv")
    assert terminal.close() == 2
    assert (folder / "labels.csv").read_text() == 'id,text,label\nr1,"Row 1 of'
    assert len(kept(folder, "labels-session-1.csv")) == left


@pytest.mark.more
def test_a_file_that_was_removed_is_written_again(folder):
    """With all that was answered."""
    terminal = Terminal(folder)
    terminal.until("of the pool.")
    answer(terminal)
    (folder / "labels.csv").unlink()
    assert "labels.csv was removed meanwhile" in answer(terminal)
    assert len(kept(folder)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_lost_whenever_another_program_writes(folder, seed):
    """At a random moment of a session another program adds an answer: it is there at the end, and so are all others."""
    rng = np.random.default_rng(seed)
    terminal, given_labels = Terminal(folder), {}
    text = terminal.until("of the pool.")
    moment, early = int(rng.integers(1, 7)), float(rng.uniform(0, 0.3))
    for step in range(8):
        row = re.findall(r"Row (\d+) ", text + "of the pool.")[-1]
        given_labels[f"r{row}"] = "bad"
        terminal.press("1")
        if step == moment:
            time.sleep(early)
            free = next(f"r{n}" for n in rng.permutation(ROWS) if f"r{n}" not in given_labels)
            changed(folder, lambda lines, free=free: [*lines, {**lines[0], "id": free, "label": "good", "order": "99",
                                                      "text": f"Row {free[1:]} of the pool."}],
                    renamed=seed % 2 == 0)  # fmt: skip
        text = terminal.until("of the pool.")
    terminal.press("q")
    terminal.until("saved in labels.csv")
    assert terminal.close() == 0
    labels = {row["id"]: row["label"] for row in kept(folder)}
    assert labels[free] == "good"
    given_labels.pop(free, None)
    assert {name: labels.get(name) for name in given_labels} == given_labels


def test_columns_of_the_pool_that_a_session_has_are_kept_under_other_names(folder):
    """The new names are said, and a session goes on with what `--batch` wrote."""
    rows = [f"r{n},Row {n} of the pool.,draft,{n},me" for n in range(ROWS)]
    (folder / "pool.csv").write_text("\n".join(["id,text,status,order,annotator", *rows]) + "\n")
    status, _, stderr = plain(folder, "", "--batch", "5", output="b.csv")
    assert status == 0, stderr
    assert "the column 'status' of the pool is kept as 'pool_status'" in stderr
    assert {row["pool_status"] for row in kept(folder, "b.csv")} == {"draft"}
    status, _, stderr = plain(folder, "11q", output="b.csv")
    assert status == 0, stderr
    lines = kept(folder, "b.csv")
    assert [row["status"] for row in lines[:2]] == ["answered"] * 2
    assert all(row["pool_order"] == row["id"][1:] and row["pool_annotator"] == "me" for row in lines)
