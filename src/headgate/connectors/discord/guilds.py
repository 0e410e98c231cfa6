"""Guilds and channels as Discord tells them, and what is known of them right now."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from headgate.connectors.discord.permissions import ALL, VIEW_CHANNEL, Holder, Overwrite, rights_in
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


Version = tuple[int, int]


class Directory:
    """The guilds that were seen, and what of them the gateway keeps up to date at this moment.

    A channel is *fresh* while each new message in it is heard: the session that told it still lasts, and the
    bot may see it. What the API tells during a session is fresh, too, unless the guild changed meanwhile.
    """

    def __init__(self) -> None:
        self._guilds: dict[int, Guild] = {}
        self._homes: dict[int, int] = {}
        self._followed: set[int] = set()
        self._carried: set[int] = set()
        """Archived threads that are known from before: the gateway tells of those in use only."""
        self._heard: dict[int, int] = {}
        """The newest message that was heard of each channel, known or not."""
        self._told: set[int] = set()
        """The guilds of this session."""
        self.era = 0
        """Another one begins with each session, and when the gateway left something out."""
        self._changes: Counter[int] = Counter()
        self._live = False

    @property
    def is_live(self) -> bool:
        return self._live

    def is_followed(self, guild: int) -> bool:
        """Tell whether the gateway tells of each change in a guild."""
        return self._live and guild in self._followed

    def version(self, guild: int) -> Version:
        """Return what changes when anything but a message is told of a guild, or a session begins."""
        return self.era, self._changes[guild]

    def get(self, guild: int) -> Guild | None:
        return self._guilds.get(guild)

    def find(self, channel: int) -> tuple[Guild, Channel] | None:
        guild = self._guilds.get(self._homes.get(channel, 0))
        if guild is None or channel not in guild.channels:
            return None
        return guild, self._with_heard(guild.channels[channel])

    def find_fresh(self, channel: int) -> Channel | None:
        """Return a channel whose newest message is known without a call."""
        found = self.find(channel)
        if found is None or channel in self._carried or not self.is_followed(found[0].id):
            return None
        # Discord tells of all channels, but not of messages in those that the bot may not see.
        return found[1] if found[0].rights_in(found[1]) & VIEW_CHANNEL else None

    def tell(self, guild: Guild) -> None:
        """Learn a guild from the gateway, which tells of each change from now on."""
        self._put(guild)
        self._told.add(guild.id)
        self._followed.add(guild.id)

    def learn(self, guild: Guild, *, before: Version) -> None:
        """Learn a guild from the API; it is up to date if nothing was told of it since `before`."""
        if self.is_followed(guild.id):
            return
        self._put(guild)
        if guild.id in self._told and self.version(guild.id) == before:
            self._followed.add(guild.id)

    def learn_channel(self, channel: Channel, *, era: int) -> None:
        """Learn a channel of a followed guild from the API; what the gateway told of it counts more."""
        unknown = self.find(channel.id) is None or channel.id in self._carried
        if unknown and era == self.era and self.is_followed(channel.guild):
            self.put_channel(channel)

    def put_channel(self, channel: Channel) -> None:
        self._changes[channel.guild] += 1
        if guild := self._guilds.get(channel.guild):
            known = guild.channels.get(channel.id)
            last = max(channel.last_message or 0, known.last_message or 0 if known else 0)
            guild.channels[channel.id] = replace(channel, last_message=last or None)
            self._homes[channel.id] = guild.id
            self._carried.discard(channel.id)

    def _put(self, guild: Guild) -> None:
        """Replace what was known of a guild; archived threads that were found before stay known."""
        known = self._guilds.get(guild.id)
        self._carried.difference_update(guild.channels)
        for channel in known.channels.values() if known else ():
            if channel.archived and channel.id not in guild.channels:
                guild.channels[channel.id] = channel
                self._carried.add(channel.id)
        self._guilds[guild.id] = guild
        self._homes |= dict.fromkeys(guild.channels, guild.id)

    def drop_channel(self, channel: int) -> None:
        if guild := self._guilds.get(self._homes.pop(channel, 0)):
            guild.channels.pop(channel, None)
            self._changes[guild.id] += 1

    def raise_head(self, channel: int, position: int) -> None:
        """Note the newest message of a channel."""
        self._heard[channel] = max(position, self._heard.get(channel, -1))

    def drop(self, guild: int) -> None:
        self.unfollow(guild)
        self._told.discard(guild)
        self._guilds.pop(guild, None)

    def begin(self) -> None:
        """A session of the gateway begins; it tells of each guild first."""
        self.unfollow()
        self._told.clear()
        self._live = True

    def pause(self) -> None:
        """The connection is broken: changes may be told later."""
        self._live = False

    def go_on(self) -> None:
        """The session goes on, and has told what came meanwhile."""
        self._live = True

    def unfollow(self, guild: int | None = None) -> None:
        """What was known of a guild, or of all, may be out of date until it is told or asked for again."""
        if guild is None:
            self._followed.clear()
            self.era += 1
        else:
            self._followed.discard(guild)
            self._changes[guild] += 1

    def _with_heard(self, channel: Channel) -> Channel:
        heard = self._heard.get(channel.id)
        if heard is None or heard <= (channel.last_message or -1):
            return channel
        return replace(channel, last_message=heard)
