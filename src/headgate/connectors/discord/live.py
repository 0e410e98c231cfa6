"""Listening: the gateway's events as ours, each with what it proves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

from headgate.connectors.discord.errors import NotUnderstood
from headgate.connectors.discord.file_links import FileLinks
from headgate.connectors.discord.gateway import Dispatch, GatewaySession
from headgate.connectors.discord.guilds import Directory, channel_of, guild_of
from headgate.connectors.discord.messages import file_links_of, message_of
from headgate.connectors.discord.sending import Outbox
from headgate.connectors.discord.shapes import Shape, as_ids, as_shapes, flag_in, id_in, optional_id, shape_in
from headgate.connectors.discord.snowflakes import Snowflakes
from headgate.domain.streams.messages import LiveEvent, Span
from headgate.kernel.logs import get_logger

log = get_logger("connectors")

CHANNELS_CHANGED = LiveEvent("channels")


class Continuity:
    """The newest message of each stream that an unbroken session has told."""

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}

    def prove(self, stream: str, position: int) -> Span:
        """Return what a message proves: everything since the one before, or itself alone."""
        newest = self._newest.get(stream)
        self._newest[stream] = position if newest is None else max(newest, position)
        return Span(position if newest is None or newest >= position else newest + 1, position + 1)

    def forget(self, *streams: int) -> None:
        """What is told next of these streams proves nothing about what came before."""
        for stream in streams:
            self._newest.pop(str(stream), None)

    def forget_all(self) -> None:
        self._newest.clear()


class Listener:
    """Takes in the events of one session."""

    def __init__(
        self,
        session: GatewaySession,
        directory: Directory,
        *,
        snowflakes: Snowflakes,
        files: FileLinks,
        outbox: Outbox,
    ) -> None:
        self._session = session
        self._directory = directory
        self._snowflakes = snowflakes
        self._files = files
        self._outbox = outbox
        self._continuity = Continuity()
        self._me = 0
        self._handlers: dict[str, Callable[[Shape], Iterator[LiveEvent]]] = {
            "READY": self._on_ready,
            "RESUMED": self._on_resumed,
            "GUILD_CREATE": self._on_guild,
            "GUILD_DELETE": self._on_guild_gone,
            "CHANNEL_CREATE": self._on_channel,
            "CHANNEL_UPDATE": self._on_channel,
            "CHANNEL_DELETE": self._on_channel_gone,
            "THREAD_CREATE": self._on_channel,
            "THREAD_UPDATE": self._on_channel,
            "THREAD_DELETE": self._on_channel_gone,
            "THREAD_LIST_SYNC": self._on_threads,
            "GUILD_UPDATE": self._on_rights,
            "GUILD_ROLE_CREATE": self._on_rights,
            "GUILD_ROLE_UPDATE": self._on_rights,
            "GUILD_ROLE_DELETE": self._on_rights,
            "GUILD_MEMBER_UPDATE": self._on_rights,
            "MESSAGE_CREATE": self._on_message,
            "MESSAGE_UPDATE": self._on_edit,
            "MESSAGE_DELETE": self._on_delete,
            "MESSAGE_DELETE_BULK": self._on_bulk_delete,
        }

    async def events(self) -> AsyncIterator[LiveEvent]:
        """Yield what happens until the session ends."""
        try:
            async for dispatch in self._session.dispatches():
                if dispatch is None:
                    self._directory.pause()
                    continue
                for event in self._take(dispatch):
                    yield event
        finally:
            self._directory.pause()
        yield LiveEvent("disconnect")

    def _take(self, dispatch: Dispatch) -> list[LiveEvent]:
        if not dispatch.unbroken:
            log.warning("the gateway left out an event", before=dispatch.name)
            self._continuity.forget_all()
            self._directory.unfollow()
        handler = self._handlers.get(dispatch.name)
        if handler is None:
            return []
        try:
            return list(handler(dispatch.data))
        except NotUnderstood as error:
            log.warning("an event cannot be read", name=dispatch.name, reason=str(error))
            return self._unreadable(dispatch)

    def _unreadable(self, dispatch: Dispatch) -> list[LiveEvent]:
        """Name a message that cannot be parsed; without its place, nothing heard before counts as whole."""
        try:
            stream, key = str(id_in(dispatch.data, "channel_id")), str(id_in(dispatch.data))
        except NotUnderstood:
            self._continuity.forget_all()
            self._directory.unfollow()
            return []
        if dispatch.name != "MESSAGE_CREATE":
            return [LiveEvent("edit", stream=stream, key=key)] if dispatch.name == "MESSAGE_UPDATE" else []
        self._directory.raise_head(int(stream), int(key))
        return [LiveEvent("message", stream, key=key, proven=self._continuity.prove(stream, int(key)))]

    def _on_ready(self, data: Shape) -> Iterator[LiveEvent]:
        self._continuity.forget_all()
        self._directory.begin()
        self._me = id_in(shape_in(data, "user"))
        for guild in as_shapes(data.get("guilds")):
            # Discord names guilds here and tells them one by one; compatible servers may tell them at once.
            if "channels" in guild:
                yield from self._on_guild(guild)

    def _on_resumed(self, data: Shape) -> Iterator[LiveEvent]:
        self._directory.go_on()
        yield from ()

    def _on_guild(self, data: Shape) -> Iterator[LiveEvent]:
        if flag_in(data, "unavailable"):
            return
        guild = guild_of(data, me=self._me)
        self._continuity.forget(*guild.channels)
        self._directory.tell(guild)
        yield from ()

    def _on_guild_gone(self, data: Shape) -> Iterator[LiveEvent]:
        guild = id_in(data)
        self._forget_guild(guild)
        self._directory.drop(guild)
        if not flag_in(data, "unavailable"):
            yield CHANNELS_CHANGED

    def _on_channel(self, data: Shape) -> Iterator[LiveEvent]:
        """A channel or thread is new, or has another name, parent or rights."""
        if (guild := optional_id(data, "guild_id")) is None:
            return
        channel = channel_of(data, guild=guild)
        found = self._directory.find(channel.id)
        self._directory.put_channel(channel)
        if found is None or (found[1].name, found[1].parent) != (channel.name, channel.parent):
            yield CHANNELS_CHANGED
        if found is not None and found[1].overwrites != channel.overwrites:
            yield from self._on_rights(data)

    def _on_channel_gone(self, data: Shape) -> Iterator[LiveEvent]:
        channel = id_in(data)
        self._directory.drop_channel(channel)
        self._continuity.forget(channel)
        yield CHANNELS_CHANGED

    def _on_threads(self, data: Shape) -> Iterator[LiveEvent]:
        """The bot has gained access to channels, and is told of the threads in them."""
        guild = id_in(data, "guild_id")
        for thread in as_shapes(data.get("threads")):
            self._directory.put_channel(channel_of(thread, guild=guild))
        self._forget_guild(guild)
        yield CHANNELS_CHANGED

    def _on_rights(self, data: Shape) -> Iterator[LiveEvent]:
        """Rights may have been lost for a while: what is told next proves nothing about before."""
        guild = optional_id(data, "guild_id") or id_in(data)
        self._forget_guild(guild)
        self._directory.unfollow(guild)
        yield from ()

    def _forget_guild(self, guild: int) -> None:
        if known := self._directory.get(guild):
            self._continuity.forget(*known.channels)

    def _on_message(self, data: Shape) -> Iterator[LiveEvent]:
        if optional_id(data, "guild_id") is None:
            return
        message = message_of(data, self._snowflakes)
        channel = id_in(data, "channel_id")
        self._directory.raise_head(channel, message.position)
        self._files.learn(str(channel), message.key, file_links_of(data))
        self._outbox.hear(str(channel), data)
        proven = self._continuity.prove(str(channel), message.position)
        yield LiveEvent("message", str(channel), message, message.key, proven)

    def _on_edit(self, data: Shape) -> Iterator[LiveEvent]:
        """An edit tells the whole message, or only that its embeds were made: then it is fetched again."""
        stream, key = str(id_in(data, "channel_id")), str(id_in(data))
        whole = "author" in data and "attachments" in data and "content" in data
        message = message_of(data, self._snowflakes) if whole else None
        if whole:
            self._files.learn(stream, key, file_links_of(data))
        yield LiveEvent("edit", stream, message, key)

    def _on_delete(self, data: Shape) -> Iterator[LiveEvent]:
        stream, key = str(id_in(data, "channel_id")), str(id_in(data))
        self._files.forget(stream, key)
        yield LiveEvent("delete", stream, key=key)

    def _on_bulk_delete(self, data: Shape) -> Iterator[LiveEvent]:
        for one in as_ids(data.get("ids")):
            yield from self._on_delete({"channel_id": data.get("channel_id"), "id": str(one)})
