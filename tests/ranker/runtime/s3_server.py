"""A server that speaks S3 on this machine, and a way to it that can be paused and cut off."""

import socket
import threading
import time
from contextlib import contextmanager, suppress
from urllib.request import Request, urlopen

import pytest

PAUSE = 20.0
"""Seconds of the pause before a server is gone."""


@contextmanager
def s3_server(patch, folder):
    """Start a server with the bucket `team`, and set what clients need; gives its host and port."""
    server_class = pytest.importorskip("moto.server").ThreadedMotoServer
    s3fs = pytest.importorskip("s3fs")
    server = server_class(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_EC2_METADATA_DISABLED": "true",
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }.items():
        patch.setenv(name, value)
    urlopen(Request(f"http://{host}:{port}/moto-api/reset", method="POST")).close()  # its state outlives a server
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir("team")
    try:
        yield host, port
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()


class Proxy:
    """A way to a server, which is paused and cut off after so many requests; None for never."""

    def __init__(self, target, after=None):
        self._target, self._lock, self._open = target, threading.Lock(), set()
        self.port = 0
        self.restore(after)

    def restore(self, after=None):
        """Listen, again at the same port, and count requests anew."""
        self.after, self.requests, self.gone = after, 0, False
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def close(self):
        """Listen no more, and cut off whoever is connected."""
        self.gone = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
        for end in tuple(self._open):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener):
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(self._target)
                self._open = {*self._open, client, server}  # a new set, since another thread may go through the old one
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=(*pair, pair[0] is client), daemon=True).start()

    def _pass_on(self, source, target, counts):
        with suppress(OSError):
            while content := source.recv(1 << 16):
                if counts and content.split(b" ", 1)[0] in (b"GET", b"PUT", b"HEAD", b"DELETE", b"POST"):
                    self._count()
                target.sendall(content)
        for end in (source, target):
            end.close()

    def _count(self):
        with self._lock:
            self.requests += 1
            if self.requests == self.after:
                time.sleep(PAUSE)  # with the lock: all requests wait
                self.close()
            if self.gone:
                raise OSError("gone")
