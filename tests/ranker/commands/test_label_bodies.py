"""Requests to the page of `rank-models label --web` over raw sockets: bodies are bounded before all else."""

import asyncio
import contextlib
import socket
import threading
import tracemalloc
from types import SimpleNamespace

import pytest

from ranker.commands.label_web import MAX_BODY, LabelPage, _serve, bind

PIECE = b"x" * 65_536
MOST_TAKEN = 16 * MAX_BODY
"""Bytes that a client may get rid of before it notices: those of the limit, and what the system's buffers hold."""


@pytest.fixture(scope="module")
def port():
    """The port of a page in this process."""
    page, bound = LabelPage(SimpleNamespace(ending="")), bind(0)
    bound.listen()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(page, bound)))
    thread.start()
    yield bound.getsockname()[1]
    page.stopped = True
    thread.join()


def sent(port, first, pieces):
    """Send a body; return the reply, and the number of bytes that were taken."""
    count = 0
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(first.replace(b"\n", b"\r\n"))
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                client.sendall(piece)
                count += len(piece)
        reply = b""
        with contextlib.suppress(ConnectionError):
            while part := client.recv(65_536):
                reply += part
    return reply, count


def chunks(size):
    """A body in chunks."""
    for _ in range(size // len(PIECE)):
        yield b"%x\r\n%b\r\n" % (len(PIECE), PIECE)
    yield b"0\r\n\r\n"


def opening(port, method, path, *headers):
    """The head of a request by the page itself, but without the token."""
    host = f"127.0.0.1:{port}"
    return "\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", f"Origin: http://{host}", *headers, "\n"]).encode()


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize("path", ["/report", "/change", "/", "/nowhere"])
@pytest.mark.parametrize("stated", ["Transfer-Encoding: chunked", f"Content-Length: {100 * MAX_BODY}"])
def test_a_body_that_is_too_long_is_refused_while_it_arrives(port, method, path, stated):
    """Whatever is asked without the token, and whatever the headers state; nothing of it is kept."""
    body = chunks(100 * MAX_BODY) if "chunked" in stated else iter([PIECE] * (100 * MAX_BODY // len(PIECE)))
    tracemalloc.start()
    reply, count = sent(port, opening(port, method, path, stated), body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count < MOST_TAKEN
    assert peak < 8 * MAX_BODY
    assert reply == b"" or reply.startswith(b"HTTP/1.1 413 ")  # a reset of the connection may overtake the reply


@pytest.mark.parametrize("order", [1, -1])
def test_a_length_that_is_stated_twice_is_refused(port, order):
    """The length of the body beside chunks, in either order: neither is believed, and nothing of the body is read."""
    headers = ["Content-Length: 5", "Transfer-Encoding: chunked"][::order]
    reply, count = sent(port, opening(port, "POST", "/report", *headers), chunks(100 * MAX_BODY))
    assert count < MOST_TAKEN
    assert reply == b"" or reply.startswith(b"HTTP/1.1 400 ")
    reply, _ = sent(port, opening(port, "POST", "/report", *headers), [])
    assert reply.startswith(b"HTTP/1.1 400 ")
    assert b"connection: close" in reply.lower()


def test_a_body_within_the_limit_is_read_however_it_is_sent(port):
    """In chunks, too, without a stated length; then the token decides."""
    for headers, body in (
        (["Transfer-Encoding: chunked", "Connection: close"], [b"7\r\ntoken=x\r\n0\r\n\r\n"]),
        (["Content-Length: 7", "Connection: close"], [b"token=x"]),
    ):
        reply, _ = sent(port, opening(port, "POST", "/report", *headers), body)
        assert reply.startswith(b"HTTP/1.1 403 ")
        assert b"the token is not that of this session" in reply
