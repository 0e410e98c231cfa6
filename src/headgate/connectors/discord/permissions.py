"""Which rights the bot has in a channel, by Discord's documented rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

VIEW_CHANNEL = 1 << 10
SEND_MESSAGES = 1 << 11
READ_HISTORY = 1 << 16
SEND_IN_THREADS = 1 << 38
ADMINISTRATOR = 1 << 3
ALL = (1 << 64) - 1


@dataclass(frozen=True)
class Overwrite:
    """What a channel allows or denies a role or a member, over what they may elsewhere."""

    holder: int
    allow: int
    deny: int


@dataclass(frozen=True)
class Holder:
    """Who asks: the bot in one guild."""

    user: int
    guild: int
    roles: frozenset[int]
    base: int
    """What its roles allow everywhere in the guild; `ALL` for the owner."""


def rights_in(holder: Holder, overwrites: Iterable[Overwrite]) -> int:
    """Return the rights in a channel with these overwrites: everyone first, then roles, then the member."""
    if holder.base & ADMINISTRATOR or holder.base == ALL:
        return ALL
    by_holder = {one.holder: one for one in overwrites}
    roles = [by_holder[role] for role in holder.roles - {holder.guild} if role in by_holder]
    rights = _apply(holder.base, [one for one in (by_holder.get(holder.guild),) if one])
    rights = _apply(rights, roles)
    return _apply(rights, [one for one in (by_holder.get(holder.user),) if one])


def _apply(rights: int, overwrites: Iterable[Overwrite]) -> int:
    allowed = denied = 0
    for one in overwrites:
        allowed, denied = allowed | one.allow, denied | one.deny
    return rights & ~denied | allowed
