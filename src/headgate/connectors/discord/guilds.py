"""Guilds and channels as Discord tells them, and what is known of them right now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from headgate.connectors.discord.permissions import ALL, Holder, Overwrite, rights_in
from headgate.connectors.discord.shapes import (
    Shape,
    as_ids,
    as_shapes,
    bits_in,
    flag_in,
    id_in,
    number_in,
    optional_id,
    shape_in,
    text_in,
)

TEXT, CATEGORY, ANNOUNCEMENT, FORUM, MEDIA = 0, 4, 5, 15, 16
THREADS = frozenset({10, 11, 12})
STREAMS = frozenset({TEXT, ANNOUNCEMENT}) | THREADS
HOLDS_THREADS = frozenset({TEXT, ANNOUNCEMENT, FORUM, MEDIA})


@dataclass(frozen=True)
class Channel:
    """A channel, category, forum or thread of a guild."""

    id: int
    guild: int
    kind: int
    name: str
    parent: int | None
    last_message: int | None
    overwrites: tuple[Overwrite, ...] = ()
    archived: bool = False

    @property
    def is_thread(self) -> bool:
        return self.kind in THREADS

    @property
    def is_stream(self) -> bool:
        return self.kind in STREAMS


@dataclass
class Guild:
    """A guild with all of its channels, and the bot's part in it."""

    id: int
    name: str
    holder: Holder
    channels: dict[int, Channel] = field(default_factory=dict[int, Channel])

    def rights_in(self, channel: Channel) -> int:
        """Return the bot's rights; those in a thread are those in its channel."""
        place = self.channels.get(channel.parent or 0) if channel.is_thread else channel
        return 0 if place is None else rights_in(self.holder, place.overwrites)


def channel_of(shape: Shape, *, guild: int) -> Channel:
    """Return a channel as the API and the gateway tell it."""
    return Channel(
        id=id_in(shape),
        guild=guild,
        kind=number_in(shape, "type"),
        name=text_in(shape, "name"),
        parent=optional_id(shape, "parent_id"),
        last_message=optional_id(shape, "last_message_id"),
        overwrites=tuple(
            Overwrite(id_in(one), bits_in(one, "allow"), bits_in(one, "deny"))
            for one in as_shapes(shape.get("permission_overwrites"))
        ),
        archived=flag_in(shape_in(shape, "thread_metadata"), "archived"),
    )


def guild_of(shape: Shape, *, me: int) -> Guild:
    """Return a guild in the shape of the gateway's GUILD_CREATE."""
    guild = id_in(shape)
    roles = _roles_of(shape, me)
    allowed = {id_in(role): bits_in(role, "permissions") for role in as_shapes(shape.get("roles"))}
    base = allowed.get(guild, 0)
    for role in roles:
        base |= allowed.get(role, 0)
    if optional_id(shape, "owner_id") == me:
        base = ALL
    listed = [*as_shapes(shape.get("channels")), *as_shapes(shape.get("threads"))]
    channels = {channel.id: channel for channel in (channel_of(one, guild=guild) for one in listed)}
    return Guild(guild, text_in(shape, "name"), Holder(me, guild, roles, base), channels)


def _roles_of(shape: Shape, me: int) -> frozenset[int]:
    for member in as_shapes(shape.get("members")):
        if optional_id(shape_in(member, "user"), "id") == me:
            return frozenset(as_ids(member.get("roles")))
    return frozenset()


class Directory:
    """The guilds that were seen, and which of them the gateway keeps up to date at this moment."""

    def __init__(self) -> None:
        self._guilds: dict[int, Guild] = {}
        self._homes: dict[int, int] = {}
        self._followed: set[int] = set()
        self._live = False

    @property
    def guilds(self) -> Iterator[Guild]:
        return iter(list(self._guilds.values()))

    def is_followed(self, guild: int) -> bool:
        """Tell whether the gateway tells of each change in a guild."""
        return self._live and guild in self._followed

    def get(self, guild: int) -> Guild | None:
        return self._guilds.get(guild)

    def find(self, channel: int) -> tuple[Guild, Channel] | None:
        guild = self._guilds.get(self._homes.get(channel, 0))
        return (guild, guild.channels[channel]) if guild and channel in guild.channels else None

    def put(self, guild: Guild, *, followed: bool = False) -> None:
        """Learn a guild as a whole; archived threads that were found before stay known."""
        known = self._guilds.get(guild.id)
        for channel in known.channels.values() if known else ():
            if channel.archived and channel.id not in guild.channels:
                guild.channels[channel.id] = channel
        self._guilds[guild.id] = guild
        self._homes |= dict.fromkeys(guild.channels, guild.id)
        if followed:
            self._followed.add(guild.id)

    def put_channel(self, channel: Channel) -> None:
        if guild := self._guilds.get(channel.guild):
            known = guild.channels.get(channel.id)
            last = max(channel.last_message or 0, known.last_message or 0 if known else 0)
            guild.channels[channel.id] = replace(channel, last_message=last or None)
            self._homes[channel.id] = guild.id

    def drop_channel(self, channel: int) -> None:
        if guild := self._guilds.get(self._homes.pop(channel, 0)):
            guild.channels.pop(channel, None)

    def raise_head(self, channel: int, position: int) -> None:
        """Note the newest message of a channel."""
        found = self.find(channel)
        if found and position > (found[1].last_message or -1):
            found[0].channels[channel] = replace(found[1], last_message=position)

    def drop(self, guild: int) -> None:
        self._followed.discard(guild)
        self._guilds.pop(guild, None)

    def begin(self) -> None:
        """A session of the gateway begins; it tells of each guild first."""
        self._followed.clear()
        self._live = True

    def pause(self) -> None:
        """The connection is broken: changes may be told later."""
        self._live = False

    def go_on(self) -> None:
        """The session goes on, and has told what came meanwhile."""
        self._live = True

    def unfollow(self, guild: int | None = None) -> None:
        """What was known of a guild, or of all, may be out of date until the next session."""
        if guild is None:
            self._followed.clear()
        else:
            self._followed.discard(guild)
