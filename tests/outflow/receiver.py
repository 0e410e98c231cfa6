"""A service that can be pushed to: a real HTTP server that keeps what it took."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOST = -1
"""Takes the message, and ends the connection without an answer."""


class Receiver:
    """What was taken, and how the next requests are answered; 200 when nothing else is said."""

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []
        self.answers: list[int] = []
        self.location = ""
        """Where answers point to, if they redirect."""
        self.calls = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"json://somebody:secret-word@127.0.0.1:{self.port}/token-4711?rto=5"

    @property
    def texts(self) -> list[str]:
        return [f"{one['title']}\n{one['message']}" for one in self.taken]

    def answer(self, message: dict[str, Any]) -> int:
        self.calls += 1
        status = self.answers.pop(0) if self.answers else 200
        if status in {200, LOST}:
            self.taken.append(message)
        return status


@contextmanager
def receiving() -> Generator[Receiver, None, None]:
    """Run a receiver on loopback."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["content-length"])
            status = receiver.answer(json.loads(self.rfile.read(size)))
            if status == LOST:
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("content-length", "0")
            if receiver.location:
                self.send_header("location", receiver.location)
            self.end_headers()

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
