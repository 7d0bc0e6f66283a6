"""Against a real server on this machine: what it sends is kept whole and right, or not at all."""

import hashlib
import http.server
import threading

import pytest
from refusals import refuses

from ranker.datasets import fetch as fetching
from ranker.datasets import sets
from ranker.datasets.fetch import fetch
from ranker.errors import FetchError, UsageError
from ranker.limits import Limits

CONTENT = b"gold_label\tsentence1\tsentence2\tpairID\theuristic\n" * 3000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
OTHER = b"another file"


class FileHandler(http.server.BaseHTTPRequestHandler):
    """The paths that the tests ask for."""

    def do_GET(self):
        """Serve the file, a part of it, another one, a detour, or an error."""
        self.server.asked.append(self.path)
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/file.txt")
            self.end_headers()
        elif self.path == "/nothing":
            self.send_error(404)
        else:
            content = OTHER if self.path == "/other" else CONTENT
            self.send_response(200)
            if self.path != "/unsized":
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[:70_000] if self.path == "/part" else content)

    def log_message(self, *arguments):
        """Say nothing."""


@pytest.fixture
def server(monkeypatch):
    """A server on a free port, its address in `.url`, and in `.asked` what was asked of it."""
    monkeypatch.setenv("no_proxy", "*")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), FileHandler) as running:
        running.asked = []
        running.url = f"http://127.0.0.1:{running.server_address[1]}"
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def include(tmp_path, server):
    """A set of a user's own whose official file is on the server."""
    card = tmp_path / "sets" / "toy" / "card.toml"
    card.parent.mkdir(parents=True)
    card.write_text(
        f"""
        description = "A toy."
        source = "the server"
        licence = "MIT"
        files = ["official.txt"]
        url = "{server.url}/file.txt"
        sha256 = "{SHA256}"
        task = {{ name = "nli", labels = ["non-entailment", "entailment"] }}
        """,
        encoding="utf-8",
    )
    return [card.parent]


def test_the_file_arrives_whole_under_its_official_name(tmp_path, server, include):
    """Folders are made, the bytes are the server's, and nothing else lies beside the file."""
    got = fetch("toy", tmp_path / "new" / "data", include=include)
    assert got == tmp_path / "new" / "data" / "official.txt"
    assert got.read_bytes() == CONTENT
    assert list(got.parent.iterdir()) == [got]
    card = include[0] / "card.toml"
    card.write_text(card.read_text(encoding="utf-8").replace("official.txt", "raw/official.txt"), encoding="utf-8")
    got = fetch("toy", tmp_path / "data", include=include)
    assert got == tmp_path / "data" / "raw" / "official.txt"
    assert got.read_bytes() == CONTENT


def test_a_file_that_is_there_is_neither_asked_for_nor_overwritten(tmp_path, server, include):
    """A second call sends no request, and another file of the name is refused."""
    fetch("toy", tmp_path / "data", include=include)
    fetch("toy", tmp_path / "data", include=include)
    assert server.asked == ["/file.txt"]
    (tmp_path / "official.txt").write_text("mine", encoding="utf-8")
    with refuses(UsageError, place=tmp_path / "official.txt"):
        fetch("toy", tmp_path, include=include)
    assert (tmp_path / "official.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("path", ["/moved", "/unsized"])
def test_another_address_serves_as_well(tmp_path, server, include, path):
    """`url` is followed wherever it leads, also if the server does not say how much will come."""
    assert fetch("toy", tmp_path / "data", server.url + path, include).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("path", "value"), [("/nothing", 404), ("/part", 70_000), ("/other", hashlib.sha256(OTHER).hexdigest())]
)
def test_what_goes_wrong_on_the_way_leaves_nothing_behind(tmp_path, server, include, path, value):
    """One line names the address and the reason, and the folder stays empty."""
    with refuses(FetchError, value=value, place=server.url + path):
        fetch("toy", tmp_path / "data", server.url + path, include)
    assert list((tmp_path / "data").iterdir()) == []


def test_a_server_that_is_not_there_is_said_so(tmp_path, server, include):
    """No network, no name or no server: the system's own words."""
    closed = server.url.rpartition(":")[0] + ":9"
    with refuses(FetchError, place=closed):
        fetch("toy", tmp_path, closed, include)


def test_a_server_that_falls_silent_is_given_up(tmp_path, server, include, monkeypatch):
    """A connection without an answer ends after the time limit."""
    monkeypatch.setattr(fetching, "TIMEOUT", 0.05)
    monkeypatch.setattr(FileHandler, "do_GET", lambda self: threading.Event().wait(0.5))
    with refuses(FetchError, place=f"{server.url}/file.txt"):
        fetch("toy", tmp_path, include=include)


def test_more_than_can_be_read_is_not_kept(tmp_path, server, include):
    """A server cannot fill the disk."""
    with refuses(FetchError, option="limits.file", place=f"{server.url}/unsized"):
        fetch("toy", tmp_path / "data", f"{server.url}/unsized", include, Limits(file=1000))
    assert list((tmp_path / "data").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_said_so(tmp_path, server, include):
    """A file stands where the folder should be made."""
    (tmp_path / "file").touch()
    with refuses(FetchError, place=f"{tmp_path}/file/data/official.txt"):
        fetch("toy", tmp_path / "file" / "data", include=include)


@pytest.mark.parametrize("address", ["file:///etc/hostname", "ftp://127.0.0.1/a", "hans.txt"])
def test_only_the_web_is_asked(tmp_path, server, include, address):
    """An address that is not of HTTP is refused before anything is opened."""
    with refuses(UsageError, option="url", value=address):
        fetch("toy", tmp_path, address, include)


def test_a_set_that_cannot_be_fetched_says_what_to_do(tmp_path):
    """PAWS-QQP is not distributed as text; another set has a form, whose address is named."""
    with refuses(UsageError, place="paws"):
        fetch("paws", tmp_path)
    with refuses(UsageError, place="boss/td/implicit_hate") as stop:
        fetch("boss/td/implicit_hate", tmp_path)
    assert "fill in the authors' form, https://forms.gle/" in str(stop.value)


def test_the_command_fetches_for_a_set_of_ones_own(tmp_path, server, include, rank_models):
    """The card is in the folder of `--include`."""
    status, out, _ = rank_models("fetch", "toy", "--data-dir", str(tmp_path / "data"), "--include", str(include[0]))
    assert (status, out) == (0, f"{tmp_path / 'data' / 'official.txt'}\n")
    assert (tmp_path / "data" / "official.txt").read_bytes() == CONTENT


def test_the_command_prints_one_line_for_an_error(tmp_path, server, rank_models):
    """From the command line: exit status 1, the reason on stderr, and nothing on stdout."""
    status, out, err = rank_models(
        "fetch", "hans-sub", "--data-dir", str(tmp_path / "data"), "--url", f"{server.url}/other"
    )
    assert (status, out) == (1, "")
    assert err.startswith(f"rank-models: {server.url}/other is not the official file: its sha256 is ")
    assert err.count("\n") == 1


def test_a_file_without_a_known_checksum_is_kept_and_the_checksum_is_told(tmp_path, include, caplog):
    """Nothing can be compared, and the log says so."""
    card = include[0] / "card.toml"
    card.write_text("".join(line for line in card.read_text().splitlines(True) if "sha256" not in line))
    assert fetch("toy", tmp_path, include=include).read_bytes() == CONTENT
    assert f"no sha256 of the official file is known; that of this one is {SHA256}" in caplog.text


@pytest.fixture
def hub(monkeypatch):
    """The hub's library, which returns two rows; what it was asked for, call by call."""
    datasets = pytest.importorskip("datasets")
    calls = []

    def load(*place, **options):
        calls.append((place, options))
        if options["split"] == "none":
            raise ValueError("Unknown split\nsee the manual")
        return datasets.Dataset.from_list([{"sentence": "Fine.", "label": 0.9}, {"sentence": "So.", "label": 0.3}])

    monkeypatch.setattr(datasets, "load_dataset", load)
    return calls


def test_rows_of_the_hub_are_fetched_as_parquet(tmp_path, hub):
    """The address names the data set, its configuration and split; the set is then read from the file."""
    got = fetch("boss/sa/sst", tmp_path, "hf://owner/sst?name=default&split=test")
    assert hub == [(("owner/sst",), {"name": "default", "split": "test"})]
    assert [path.name for path in tmp_path.iterdir()] == [got.name] == ["sst-test.parquet"]
    (row,) = sets.load("boss/sa/sst", tmp_path).examples
    assert (row.segments, row.target) == (("Fine.",), 2)


def test_rows_that_the_hub_does_not_give_are_no_file(tmp_path, hub):
    """Whatever its library raises is one line."""
    with refuses(FetchError, place="hf://sst?split=none") as stop:
        fetch("boss/sa/sst", tmp_path, "hf://sst?split=none")
    assert "\n" not in str(stop.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        ("hf://owner/sst?trust_remote_code=True", {"value": "trust_remote_code"}),
        ("hf://owner/sst?split=test", {"place": "owner/sst"}),
    ],
)
def test_no_code_of_the_hub_and_no_folder_in_its_place_is_taken(tmp_path, hub, monkeypatch, address, fields):
    """Other options than those of rows are refused, and a folder that bears the data set's name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "owner" / "sst").mkdir(parents=True)
    with pytest.raises(UsageError) as stop:
        fetch("boss/sa/sst", tmp_path / "data", address)
    assert {name: getattr(stop.value, name) for name in fields} == fields
    assert not hub
