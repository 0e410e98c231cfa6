"""The other side of a homeserver: people who make rooms, post, edit and delete."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx


@dataclass
class Person:
    """A user of the homeserver with a client of their own."""

    url: str
    token: str
    name: str
    client: httpx.AsyncClient = field(default_factory=lambda: httpx.AsyncClient(timeout=30))
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def user_id(self) -> str:
        return f"@{self.name}:localhost"

    async def make_room(self, *members: Person, name: str = "", **options: Any) -> str:
        """Make a room that the members are in."""
        invited = [member.user_id for member in members]
        answer = await self.ask("POST", "createRoom", {"name": name, "invite": invited, **options})
        for member in members:
            await member.ask("POST", f"join/{quote(answer['room_id'])}", {})
        return answer["room_id"]

    async def deactivate(self) -> None:
        """End this account, as an administrator can; everybody here is one."""
        await self._administer("POST", f"deactivate/{quote(self.user_id)}", {"erase": False})

    async def suspend(self, other: Person) -> None:
        await self._administer("PUT", f"suspend/{quote(other.user_id)}", {"suspend": True})

    async def lift_limits(self) -> None:
        """Let this person post and join at any pace, whatever the server's limits are."""
        limits = {"messages_per_second": 0, "burst_count": 0}
        await self._administer("POST", f"users/{quote(self.user_id)}/override_ratelimit", limits)

    async def restore_limits(self) -> None:
        await self._administer("DELETE", f"users/{quote(self.user_id)}/override_ratelimit")

    async def _administer(self, method: str, path: str, body: dict[str, Any] | None = None) -> None:
        answer = await self.client.request(
            method,
            f"{self.url}/_synapse/admin/v1/{path}",
            json=body,
            headers={"Authorization": f"Bearer {self.token}"},
        )
        answer.raise_for_status()

    async def make_space(self, *members: Person, name: str, rooms: list[str]) -> str:
        space = await self.make_room(*members, name=name, creation_content={"type": "m.space"})
        for room in rooms:
            await self.set_state(space, "m.space.child", {"via": ["localhost"]}, key=room)
        return space

    async def set_state(self, room: str, kind: str, content: dict[str, Any], *, key: str = "") -> None:
        await self.ask("PUT", f"rooms/{quote(room)}/state/{kind}/{quote(key)}", content)

    async def encrypt(self, room: str) -> None:
        await self.set_state(room, "m.room.encryption", {"algorithm": "m.megolm.v1.aes-sha2"})

    async def post(self, room: str, text: str, **content: Any) -> str:
        return await self.send(room, {"msgtype": "m.text", "body": text, **content})

    async def send(
        self,
        room: str,
        content: dict[str, Any],
        *,
        kind: str = "m.room.message",
        at_ms: int | None = None,
        transaction: str = "",
    ) -> str:
        """Send an event, once a transaction; only a bridge can say when it was sent."""
        transaction = transaction or f"{self.name}-{next(self._numbers)}"
        path = f"rooms/{quote(room)}/send/{kind}/{transaction}"
        answer = await self.ask("PUT", path, content, params=None if at_ms is None else {"ts": at_ms})
        return answer["event_id"]

    async def post_file(self, room: str, name: str, content: bytes, *, mime_type: str, **more: Any) -> str:
        address = await self.upload(name, content, mime_type=mime_type)
        info = {"size": len(content), "mimetype": mime_type}
        return await self.send(
            room, {"msgtype": "m.file", "body": name, "filename": name, "url": address, "info": info, **more}
        )

    async def upload(self, name: str, content: bytes, *, mime_type: str) -> str:
        answer = await self.client.post(
            f"{self.url}/_matrix/media/v3/upload",
            params={"filename": name},
            content=content,
            headers={"Content-Type": mime_type, "Authorization": f"Bearer {self.token}"},
        )
        answer.raise_for_status()
        return answer.json()["content_uri"]

    async def edit(self, room: str, key: str, text: str, **content: Any) -> str:
        changed = {"msgtype": "m.text", "body": text, **content}
        relation = {"rel_type": "m.replace", "event_id": key}
        replaced = {**changed, "body": f"* {text}", "m.new_content": changed}
        return await self.send(room, {**replaced, "m.relates_to": relation})

    async def redact(self, room: str, key: str) -> None:
        number = next(self._numbers)
        await self.ask("PUT", f"rooms/{quote(room)}/redact/{quote(key)}/{self.name}-{number}", {})

    async def history(self, room: str) -> list[dict[str, Any]]:
        """Return the messages of a room that were not redacted, older ones first."""
        found: list[dict[str, Any]] = []
        start = ""
        while True:
            asked = {"dir": "b", "limit": "100", **({"from": start} if start else {})}
            page = await self.ask("GET", f"rooms/{quote(room)}/messages", params=asked)
            found += [e for e in page["chunk"] if e["type"] == "m.room.message" and e["content"]]
            if not (start := page.get("end", "")):
                return found[::-1]

    async def ask(self, method: str, path: str, body: Any = None, params: Any = None) -> Any:
        answer = await self.client.request(
            method,
            f"{self.url}/_matrix/client/v3/{path}",
            json=body,
            params=params,
            headers={"Authorization": f"Bearer {self.token}"},
        )
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()
