"""Links to files, which lapse some time after the platform gave them out."""

from __future__ import annotations

from collections import OrderedDict

_KEPT = 200_000
_NEVER = -1


class FileLinks:
    """Remembers when each account was last given the links of a message."""

    def __init__(self, life_s: float | None) -> None:
        self._life_ms = None if life_s is None else int(1000 * life_s)
        self._given_ms: OrderedDict[tuple[str, str, int], int] = OrderedDict()
        self._ended_ms: dict[str, int] = {}

    def give(self, *, account: str, stream: str, position: int, now_ms: int) -> None:
        """Note that a message was told, and its links with it."""
        if self._life_ms is None and stream not in self._ended_ms:
            return
        self._given_ms[account, stream, position] = now_ms
        self._given_ms.move_to_end((account, stream, position))
        if len(self._given_ms) > _KEPT:
            self._given_ms.popitem(last=False)

    def end_all(self, stream: str, *, now_ms: int) -> None:
        """Let all links into a stream that were given out until now be stale."""
        self._ended_ms[stream] = now_ms
        self._given_ms = OrderedDict((name, at) for name, at in self._given_ms.items() if name[1] != stream)

    def end_one(self, *, account: str, stream: str, position: int) -> None:
        """Let the link of one message be stale until the message is fetched again."""
        self._given_ms[account, stream, position] = _NEVER
        self._ended_ms.setdefault(stream, 0)

    def is_stale(self, *, account: str, stream: str, position: int, sent_ms: int, now_ms: int) -> bool:
        name = (account, stream, position)
        given_ms = self._given_ms.get(name, sent_ms)
        if given_ms == _NEVER or (name not in self._given_ms and sent_ms <= self._ended_ms.get(stream, -1)):
            return True
        return self._life_ms is not None and now_ms - given_ms > self._life_ms
