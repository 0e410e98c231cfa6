"""Reading channels: pages of a hole, and single messages."""

from __future__ import annotations

from datetime import timedelta

from headgate.connectors.discord.discovery import Guilds
from headgate.connectors.discord.errors import NotAllowed, NotUnderstood
from headgate.connectors.discord.file_links import FileLinks
from headgate.connectors.discord.guilds import channel_of
from headgate.connectors.discord.manifest import MANIFEST, PAGE_SIZE, SETTLE_MARGIN_S
from headgate.connectors.discord.messages import file_links_of, message_of
from headgate.connectors.discord.permissions import READ_HISTORY, VIEW_CHANNEL
from headgate.connectors.discord.rest import Api, UnknownMessage, needing
from headgate.connectors.discord.shapes import Shape, as_shape, as_shapes, id_in
from headgate.connectors.discord.snowflakes import Snowflakes
from headgate.domain.streams.coverage import proven_span
from headgate.domain.streams.messages import Message, Page, Span
from headgate.kernel.clock import Clock

_TO_READ = "View Channel and Read Message History"


class History:
    """The past of channels, as far as the bot may read it."""

    def __init__(
        self, api: Api, guilds: Guilds, snowflakes: Snowflakes, files: FileLinks, clock: Clock
    ) -> None:
        self._api = api
        self._guilds = guilds
        self._snowflakes = snowflakes
        self._files = files
        self._clock = clock

    async def read(self, stream: str, hole: Span, *, bound: int, bookmark: str, limit: int) -> Page:
        """Read one page of a hole, newest first, and tell what it proves."""
        asked = min(limit, PAGE_SIZE)
        end = min(hole.end, bound, int(bookmark) if bookmark else bound)
        if end <= hole.start:
            return Page((), proven=Span(hole.start, hole.start), exhausted=True)
        # Taken before the call: a message that is made during it may be missing from the answer.
        settled_end = self._snowflakes.first_at(self._clock.now() - timedelta(seconds=SETTLE_MARGIN_S))
        listed = await self._page(stream, before=end, limit=asked)
        if not listed:
            await self._check_rights(stream)
        inside = [shape for shape in listed if id_in(shape) >= hole.start]
        positions = [id_in(shape) for shape in inside]
        proven = proven_span(
            Span(hole.start, end),
            bound=bound,
            positions=positions,
            asked=asked,
            short_page_proves_bound=MANIFEST.short_page_proves_bound,
            settled_end=settled_end,
        )
        messages, unreadable = self._parse(stream, inside)
        exhausted = len(inside) < asked
        return Page(
            messages=tuple(messages),
            proven=proven,
            bookmark="" if exhausted else str(min(positions)),
            exhausted=exhausted,
            unreadable=tuple(unreadable),
        )

    async def message(self, stream: str, key: str) -> Message | None:
        """Return one message again, with new links to its files."""
        if not (key.isascii() and key.isdecimal()):
            return None
        try:
            with needing(_TO_READ):
                shape = as_shape(await self._api.get(f"/channels/{stream}/messages/{key}"))
        except UnknownMessage:
            self._files.forget(stream, key)
            return None
        self._files.learn(stream, key, file_links_of(shape))
        return message_of(shape, self._snowflakes)

    async def _page(self, stream: str, *, before: int, limit: int) -> list[Shape]:
        params = {"before": str(before), "limit": str(limit)}
        with needing(_TO_READ):
            listed = as_shapes(await self._api.get(f"/channels/{stream}/messages", params))
        listed.sort(key=id_in, reverse=True)
        return [shape for shape in listed if id_in(shape) < before]

    async def _check_rights(self, stream: str) -> None:
        """Make sure that an empty page is no closed door: without the right, Discord shows no messages."""
        shape = as_shape(await self._api.get(f"/channels/{stream}"))
        guild = await self._guilds.load(id_in(shape, "guild_id"))
        channel = channel_of(shape, guild=guild.id)
        rights = guild.rights_in(channel)
        for right, name in ((VIEW_CHANNEL, "View Channel"), (READ_HISTORY, "Read Message History")):
            if not rights & right:
                raise NotAllowed(f"The bot lacks the right {name!r} in #{channel.name} of {guild.name}")

    def _parse(self, stream: str, shapes: list[Shape]) -> tuple[list[Message], list[str]]:
        messages: list[Message] = []
        unreadable: list[str] = []
        for shape in shapes:
            try:
                message = message_of(shape, self._snowflakes)
                self._files.learn(stream, message.key, file_links_of(shape))
                messages.append(message)
            except NotUnderstood:
                unreadable.append(str(id_in(shape)))
        return messages, unreadable
