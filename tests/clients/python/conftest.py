"""Fixtures: the built server on a free port, and a TCP proxy in front of it that can cut connections."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from relevantic_recall import Recall

TOKEN = "a-token-of-the-client-tests-0123456789"


class Proxy:
    """Forwards connections to the server until `cut` ends all of them. `restore` accepts new ones again."""

    def __init__(self) -> None:
        self.target = ("127.0.0.1", 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: set[socket.socket] = set()
        self._is_cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._is_cut = True
        for connection in list(self._open):
            _close(connection)

    def restore(self) -> None:
        self._is_cut = False

    def stop(self) -> None:
        self.cut()
        _close(self._listener)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                front, _ = self._listener.accept()
                if self._is_cut:
                    front.close()
                    continue
                back = socket.create_connection(self.target)
                self._open |= {front, back}
                for source, drain in ((front, back), (back, front)):
                    threading.Thread(target=self._copy, args=(source, drain), daemon=True).start()

    def _copy(self, source: socket.socket, drain: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                drain.sendall(piece)
        for connection in (source, drain):
            self._open.discard(connection)
            _close(connection)


def _close(connection: socket.socket) -> None:
    # A shutdown wakes the thread that reads; closing alone does not.
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextmanager
def run_server(**settings: str) -> Iterator[str]:
    """Starts the server with a new data folder and yields its URL."""
    # Other settings of the tests would be refused as unknown.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("RECALL_")}
    with tempfile.TemporaryDirectory(prefix="recall-client-") as data:
        command = [os.environ["RECALL_BIN"], "serve", "--listen", "127.0.0.1:0", "--data", data]
        with open(os.path.join(data, "log"), "w+") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env={**inherited, **settings})
            try:
                assert process.stdout
                found = re.search(r"listens on (http:\S+)", process.stdout.readline())
                if not found:
                    log.seek(0)
                    raise AssertionError(log.read())
                yield found[1]
            finally:
                process.terminate()
                process.wait()


@pytest.fixture(scope="session")
def proxy() -> Iterator[Proxy]:
    proxy = Proxy()
    yield proxy
    proxy.stop()


@pytest.fixture(scope="session")
def url(proxy: Proxy) -> Iterator[str]:
    # The server must know the proxy's address as its own.
    with run_server(RECALL_TOKEN=TOKEN, RECALL_PUBLIC_URL=proxy.url, RECALL_MESSAGES_PER_MINUTE="0") as url:
        proxy.target = ("127.0.0.1", int(url.rpartition(":")[2]))
        yield url


@pytest.fixture(scope="session")
def open_url() -> Iterator[str]:
    """A server without login, as in the examples."""
    with run_server() as url:
        yield url


@pytest.fixture
def recall(url: str) -> Iterator[Recall]:
    with Recall(url, TOKEN) as recall:
        yield recall


@pytest.fixture
def new_session(recall: Recall) -> Callable[[], str]:
    return lambda: recall.create_session("Test").id
