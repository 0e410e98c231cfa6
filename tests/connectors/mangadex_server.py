"""A MangaDex on loopback: the published shapes, limits and refusals; tests add and change its chapters."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter, deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import ThreadingHTTPServer
from typing import Any, Self, cast

from mangadex_wire import Call, Handler, Refusal, Reply, Shape, key_of, no_token, written

from headgate.kernel.clock import Clock

WINDOW = 10_000
USUAL_RATINGS = ("safe", "suggestive", "erotica")
_TIME = re.compile(r"\d{4}-[0-1]\d-([0-2]\d|3[0-1])T([0-1]\d|2[0-3]):[0-5]\d:[0-5]\d")


@dataclass
class Person:
    """Somebody with an account and a personal client."""

    name: str
    password: str
    client_id: str
    client_secret: str
    follows: list[str] = field(default_factory=list[str])


class MangaDexServer:
    """The server with its hands: what it knows, what it was asked, and how it fails."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.calls: list[Call] = []
        self.manga: dict[str, Shape] = {}
        self.chapters: dict[str, Shape] = {}
        self.people: dict[str, Person] = {}
        self.per_second: int | None = None
        """Requests a second from one address before the others are refused; None: any number."""
        self.guests_may_ask = True
        self.tells_time = True
        self.token_life_s = 900
        self._sessions: dict[str, str] = {}
        self._tokens: dict[str, str] = {}
        self._given = Counter[str]()
        self._asked = Counter[tuple[str, int]]()
        self._faults: deque[tuple[str, Reply]] = deque()
        self._lock = threading.RLock()
        self._http: ThreadingHTTPServer | None = None

    def start(self) -> Self:
        handler = type("Handler", (Handler,), {"owner": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def stop(self) -> None:
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http = None

    @property
    def api(self) -> str:
        assert self._http is not None, "the server is not started"
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def auth(self) -> str:
        return f"{self.api}/realms/mangadex/protocol/openid-connect"

    # What there is.

    def add_manga(
        self,
        title: str | Mapping[str, str] = "A series",
        *,
        alternatives: Iterable[Mapping[str, str]] = (),
        language: str = "ja",
        rating: str = "safe",
        numbers_reset: bool = False,
    ) -> str:
        with self._lock:
            key = key_of("manga", len(self.manga))
            at = written(self.clock.now())
            self.manga[key] = {
                "id": key,
                "type": "manga",
                "attributes": {
                    "title": {"en": title} if isinstance(title, str) else dict(title),
                    "altTitles": [dict(one) for one in alternatives],
                    "description": {"en": "About people who read. " * 40},
                    "isLocked": False,
                    "originalLanguage": language,
                    "lastVolume": "",
                    "lastChapter": "",
                    "status": "ongoing",
                    "year": 2026,
                    "contentRating": rating,
                    "tags": [],
                    "state": "published",
                    "chapterNumbersResetOnNewVolume": numbers_reset,
                    "createdAt": at,
                    "updatedAt": at,
                    "version": 1,
                },
                "relationships": [],
            }
            return key

    def add_chapter(
        self,
        manga: str,
        number: str | None = "1",
        *,
        groups: Sequence[str] = ("Scans of One",),
        at: datetime | None = None,
        **attributes: Any,
    ) -> str:
        """Publish a chapter now, or as of another time; attributes are named as the API names them."""
        with self._lock:
            key = key_of("chapter", manga, len(self.chapters))
            now = written(at or self.clock.now())
            usual: Shape = {
                "volume": None,
                "chapter": number,
                "title": f"What happens in {number}",
                "translatedLanguage": "en",
                "externalUrl": None,
                "isUnavailable": False,
                "publishAt": now,
                "readableAt": now,
                "createdAt": now,
                "updatedAt": now,
                "pages": 20,
                "version": 1,
            }
            relations = [
                {"id": key_of("group", name), "type": "scanlation_group", "name": name} for name in groups
            ]
            self.chapters[key] = {
                "id": key,
                "type": "chapter",
                "attributes": usual | attributes,
                "relationships": [
                    *relations,
                    {"id": manga, "type": "manga"},
                    {"id": key_of("u"), "type": "user"},
                ],
            }
            return key

    def update_chapter(self, key: str, **attributes: Any) -> None:
        with self._lock:
            told = self.chapters[key]["attributes"]
            told |= {"updatedAt": written(self.clock.now()), "version": told["version"] + 1, **attributes}

    def remove_chapter(self, key: str) -> None:
        with self._lock:
            del self.chapters[key]

    def remove_manga(self, key: str) -> None:
        with self._lock:
            del self.manga[key]
            self.chapters = {k: row for k, row in self.chapters.items() if _manga_id(row) != key}

    def add_person(self, name: str = "reader", *, follows: Iterable[str] = ()) -> Person:
        person = Person(
            name, f"password of {name}", f"personal-client-{name}", f"secret of {name}", list(follows)
        )
        self.people[person.client_id] = person
        return person

    # How it fails.

    def fail_with(
        self,
        status: int,
        *,
        body: bytes | Shape | None = None,
        headers: Mapping[str, str] | None = None,
        times: int = 1,
        path: str = "",
    ) -> None:
        """Answer the next requests (of a path) so, instead of with what was asked for."""
        with self._lock:
            if isinstance(body, bytes):
                reply = Reply(status, body, {"Content-Type": "text/html", **(headers or {})})
            elif body is not None:
                reply = Reply.of(body, status, headers)
            else:
                reply = Refusal(status, f"error_{status}", f"refused with {status}", headers).reply
            self._faults.extend([(path, reply)] * times)

    @contextmanager
    def held(self) -> Generator[None, None, None]:
        """Answer nothing until this is over."""
        with self._lock:
            yield

    def end_tokens(self) -> None:
        """Let all access tokens lapse; the sessions go on."""
        self._tokens.clear()

    def end_sessions(self) -> None:
        self._sessions.clear()
        self._tokens.clear()

    def paths(self) -> list[str]:
        """Return the paths that were asked for, in order."""
        return [call.path for call in self.calls]

    # How it answers.

    def answer(self, call: Call, *, address: str) -> Reply:
        with self._lock:
            self.calls.append(call)
            try:
                self._count(address)
                call.check_sender()
                fault = next((one for one in self._faults if one[0] in ("", call.path)), None)
                if fault is not None:
                    self._faults.remove(fault)
                    return fault[1]
                if call.path.startswith("/realms/"):
                    return self._sign(call)
                return self._tell(call, self._person(call))
            except Refusal as refusal:
                return refusal.reply

    def _count(self, address: str) -> None:
        second = int(self.clock.now().timestamp())
        self._asked[address, second] += 1
        if self.per_second is not None and self._asked[address, second] > self.per_second:
            limits = {"X-RateLimit-Limit": str(self.per_second), "X-RateLimit-Remaining": "0"}
            again = {"X-RateLimit-Retry-After": str(second + 1), "Retry-After": "1"}
            raise Refusal(429, "too_many_requests", "slow down", {**limits, **again})

    def _person(self, call: Call) -> Person | None:
        token = call.headers.get("authorization", "").removeprefix("Bearer ")
        if token:
            if token not in self._tokens:
                raise Refusal(401, "unauthorized_http_exception", "the token has expired")
            return self.people[self._tokens[token]]
        if not self.guests_may_ask:
            raise Refusal(403, "access_denied_http_exception", "guests may not ask this")
        return None

    def _tell(self, call: Call, person: Person | None) -> Reply:
        match call.path.strip("/").split("/"):
            case ["chapter"]:
                return self._page(call, self._matching(call), most=100)
            case ["chapter", key]:
                return self._entity(call, self.chapters, key)
            case ["manga"]:
                return self._page(call, self._search(call), most=100)
            case ["manga", key]:
                return self._entity(call, self.manga, key)
            case ["manga", key, "feed"]:
                if key not in self.manga:
                    raise Refusal(404, "resource_not_found_exception", "no such manga")
                rows = [row for row in self._matching(call) if _manga_id(row) == key]
                return self._page(call, rows, most=500)
            case ["user", "follows", "manga"]:
                if person is None:
                    raise Refusal(401, "unauthorized_http_exception", "sign in first")
                return self._page(call, [self.manga[key] for key in person.follows], most=100)
            case _:
                raise Refusal(404, "not_found_http_exception", f"no route {call.path}")

    def _entity(self, call: Call, rows: Mapping[str, Shape], key: str) -> Reply:
        if key not in rows:
            raise Refusal(404, "resource_not_found_exception", "no such thing")
        return Reply.of({"result": "ok", "response": "entity", "data": self._expand(call, rows[key])})

    def _matching(self, call: Call) -> list[Shape]:
        """Return the chapters that a request lets through, in its order."""
        ratings = call.params.get("contentRating[]", USUAL_RATINGS)
        ids, since = call.params.get("ids[]"), call.one("updatedAtSince")
        if ids is not None and len(ids) > 100:
            raise Refusal(400, "validation_exception", "ids: at most 100")
        if since and not _TIME.fullmatch(since):
            raise Refusal(400, "validation_exception", f"updatedAtSince: {since} does not match the pattern")
        rows = [
            row
            for row in self.chapters.values()
            if self.manga[_manga_id(row)]["attributes"]["contentRating"] in ratings
            and (ids is None or row["id"] in ids)
            and (not since or row["attributes"]["updatedAt"] >= f"{since}+00:00")
        ]
        rows.sort(key=lambda row: cast("str", row["id"]))
        order = call.one("order[updatedAt]") or "asc"
        if order not in ("asc", "desc"):
            raise Refusal(400, "validation_exception", "order: asc or desc")
        return sorted(rows, key=lambda row: str(row["attributes"]["updatedAt"]), reverse=order == "desc")

    def _search(self, call: Call) -> list[Shape]:
        wanted = call.one("title").casefold()
        ratings = call.params.get("contentRating[]", USUAL_RATINGS)
        return [
            row
            for row in self.manga.values()
            if row["attributes"]["contentRating"] in ratings
            and wanted in json.dumps([row["attributes"]["title"], row["attributes"]["altTitles"]]).casefold()
        ]

    def _page(self, call: Call, rows: Sequence[Shape], *, most: int) -> Reply:
        limit, offset = int(call.one("limit") or 10), int(call.one("offset") or 0)
        if not 0 <= limit <= most:
            raise Refusal(400, "validation_exception", f"limit: at most {most}")
        if offset < 0 or offset + limit > WINDOW:
            raise Refusal(400, "validation_exception", f"offset and limit: at most {WINDOW} together")
        told = [self._expand(call, row) for row in rows[offset : offset + limit]]
        frame = {"limit": limit, "offset": offset, "total": len(rows)}
        return Reply.of({"result": "ok", "response": "collection", "data": told, **frame})

    def _expand(self, call: Call, row: Shape) -> Shape:
        """Return a row with the relations in full that the request includes, and by id alone else."""
        includes = call.params.get("includes[]", [])
        return {**row, "relationships": [self._relation(one, includes) for one in row["relationships"]]}

    def _relation(self, relation: Shape, includes: Sequence[str]) -> Shape:
        told: Shape = {"id": relation["id"], "type": relation["type"]}
        if relation["type"] not in includes:
            return told
        if relation["type"] == "manga":
            return told | {"attributes": self.manga[relation["id"]]["attributes"]}
        return told | {"attributes": {"name": relation.get("name"), "altNames": [], "official": False}}

    # Who may sign in.

    def _sign(self, call: Call) -> Reply:
        person = self.people.get(call.one("client_id"))
        if person is None or person.client_secret != call.one("client_secret"):
            return no_token("invalid_client", "Invalid client or Invalid client credentials", status=401)
        session = call.one("refresh_token")
        if call.path.endswith("/logout"):
            known = self._sessions.pop(session, None)
            self._tokens = {token: who for token, who in self._tokens.items() if who != known}
            return Reply(204, b"") if known else no_token("invalid_grant", "Invalid refresh token")
        if call.one("grant_type") == "refresh_token":
            return (
                self._grant(session)
                if session in self._sessions
                else no_token("invalid_grant", "Token is not active")
            )
        if (call.one("username"), call.one("password")) != (person.name, person.password):
            return no_token("invalid_grant", "Invalid user credentials", status=401)
        self._given["session"] += 1
        session = f"refresh-{self._given['session']}"
        self._sessions[session] = person.client_id
        return self._grant(session)

    def _grant(self, session: str) -> Reply:
        self._given["token"] += 1
        token = f"access-{self._given['token']}"
        self._tokens[token] = self._sessions[session]
        times = {"expires_in": self.token_life_s, "refresh_expires_in": 2_592_000}
        return Reply.of({"access_token": token, "refresh_token": session, "token_type": "Bearer", **times})


def _manga_id(row: Shape) -> str:
    return next((one["id"] for one in row["relationships"] if one["type"] == "manga"), "")
