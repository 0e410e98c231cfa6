"""How a platform answers, if otherwise than by itself: switches for tests of odd answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from headgate.domain.listings.listings import Listed
from headgate.domain.streams.messages import Message

PlainList = Callable[[Mapping[str, str]], Listed]
"""Lists as the platform does by itself, from a cursor on."""
OnList = Callable[[PlainList, Mapping[str, str]], Listed]
OnMessage = Callable[[Message | None], Message | None]


def list_plainly(plain: PlainList, cursor: Mapping[str, str]) -> Listed:
    return plain(cursor)


def fetch_plainly(message: Message | None) -> Message | None:
    return message


def list_in_parts(parts: int, **said: Any) -> OnList:
    """List in so many answers, and say more of a listing; what is said of all of it comes with the last."""

    def answer(plain: PlainList, cursor: Mapping[str, str]) -> Listed:
        part = int(cursor.get("part", "0"))
        listed, last = plain({}), part == parts - 1
        fields = {name: value for name, value in said.items() if last or name not in {"complete", "bad"}}
        return replace(
            listed,
            entries=listed.entries[part::parts],
            more=not last,
            cursor={} if last else {"part": str(part + 1)},
            **fields,
        )

    return answer
