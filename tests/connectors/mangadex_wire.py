"""The wire of the MangaDex on loopback: requests, replies, refusals, and HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid5

from headgate.kernel.clock import Clock

_SPACE = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")

Shape = dict[str, Any]


def key_of(*words: object) -> str:
    """Return the id that stands for a name, the same in every run."""
    return str(uuid5(_SPACE, "/".join(map(str, words))))


def written(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Call:
    """One request as it came."""

    path: str
    params: Mapping[str, list[str]]
    headers: Mapping[str, str]

    def one(self, name: str) -> str:
        return self.params.get(name, [""])[0]

    def check_sender(self) -> None:
        if not self.headers.get("user-agent"):
            raise Refusal(400, "bad_request", "a User-Agent is required")


@dataclass(frozen=True)
class Reply:
    """What is sent back."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, content: Shape, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
        return cls(
            status, json.dumps(content).encode(), {"Content-Type": "application/json", **(headers or {})}
        )


class Refusal(Exception):
    """A request is refused in the API's own words."""

    def __init__(
        self, status: int, title: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        error = {"id": key_of(title), "status": status, "title": title, "detail": detail, "context": None}
        self.reply = Reply.of({"result": "error", "errors": [error]}, status, headers)


def no_token(error: str, description: str, *, status: int = 400) -> Reply:
    return Reply.of({"error": error, "error_description": description}, status)


class Owner(Protocol):
    """Who answers."""

    clock: Clock
    tells_time: bool

    def answer(self, call: Call, *, address: str) -> Reply: ...


class Handler(BaseHTTPRequestHandler):
    """Speaks HTTP for the server."""

    owner: Owner
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle(self) -> None:
        # Somebody who went away without waiting for the answer is no fault of the server.
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        self._answer(address.path, parse_qs(address.query, keep_blank_values=True))

    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        self._answer(self.path, parse_qs(form, keep_blank_values=True))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Keep the tests' output clean: the calls are kept as `calls`."""

    def _answer(self, path: str, params: Mapping[str, list[str]]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.owner.answer(Call(path, params, headers), address=str(self.client_address[0]))
        self.send_response_only(reply.status)
        if self.owner.tells_time:
            self.send_header("Date", format_datetime(self.owner.clock.now().astimezone(UTC), usegmt=True))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)
