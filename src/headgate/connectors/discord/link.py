"""One bot's connection to Discord."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime

import aiohttp

from headgate.connectors.discord.discovery import Guilds, found_in
from headgate.connectors.discord.downloads import download_file
from headgate.connectors.discord.errors import NotThere
from headgate.connectors.discord.file_links import FileLinks
from headgate.connectors.discord.gateway import GatewaySession
from headgate.connectors.discord.guilds import Directory
from headgate.connectors.discord.heads import Heads
from headgate.connectors.discord.history import History
from headgate.connectors.discord.live import Listener
from headgate.connectors.discord.rest import Api
from headgate.connectors.discord.sending import Outbox
from headgate.connectors.discord.snowflakes import Snowflakes
from headgate.connectors.discord.spool import Spool
from headgate.connectors.protocol import FoundChannel, Link, MediaHandle, OutgoingFile, Part, Sent
from headgate.domain.errors import Malformed
from headgate.domain.listings.listings import Listed, Swept
from headgate.domain.reminders.recognition import Sought
from headgate.domain.streams.messages import Head, Lens, LiveEvent, Message, Page, Span
from headgate.kernel.clock import Clock
from headgate.kernel.connector_settings import DiscordSettings


class DiscordLink(Link):
    """Everything that a bot can do."""

    def __init__(
        self, http: aiohttp.ClientSession, settings: DiscordSettings, clock: Clock, *, token: str, me: int
    ) -> None:
        self._http = http
        self._settings = settings
        self._clock = clock
        self._token = token
        self._snowflakes = Snowflakes(settings.epoch_ms)
        self._api = Api(settings.api, http, token=token, timeout_s=settings.timeout_s)
        self._directory = Directory()
        self._guilds = Guilds(self._api, self._directory, me=me)
        self._files = FileLinks()
        self._spool = Spool(clock)
        self._outbox = Outbox(self._api, self._spool, self._snowflakes, me=me)
        self._heads = Heads(self._api, self._directory, self._guilds, self._snowflakes)
        self._history = History(self._api, self._guilds, self._snowflakes, self._files, clock)

    async def discover(self) -> Sequence[FoundChannel]:
        found: list[FoundChannel] = []
        for guild in await self._guilds.load_all():
            await self._guilds.load_archived(guild)
            found.extend(found_in(guild))
        return found

    async def heads(self, streams: Sequence[str]) -> Mapping[str, Head]:
        return await self._heads.fetch(streams)

    async def read(
        self, stream: str, *, lens: Lens, hole: Span, bound: int, bookmark: str, limit: int
    ) -> Page:
        return await self._history.read(_known(stream), hole, bound=bound, bookmark=bookmark, limit=limit)

    async def message(self, stream: str, key: str) -> Message | None:
        return await self._history.message(_known(stream), key)

    async def listen(self) -> AsyncIterator[LiveEvent]:
        session = GatewaySession(self._settings.gateway, self._http, token=self._token, clock=self._clock)
        listener = Listener(
            session, self._directory, snowflakes=self._snowflakes, files=self._files, outbox=self._outbox
        )
        async for event in listener.events():
            yield event

    async def download(
        self, stream: str, *, message_key: str, attachment_key: str, offset: int = 0
    ) -> AsyncIterator[bytes]:
        """Yield a file by the link that its message had last; one that is not known yet is asked for."""
        links = self._files.find(stream, message_key)
        if links is None:
            await self.message(stream, message_key)
            links = self._files.find(stream, message_key)
        if not links or attachment_key not in links:
            raise NotThere(f"message {message_key} has no file {attachment_key}")
        async for chunk in download_file(
            self._http,
            links[attachment_key],
            offset=offset,
            clock=self._clock,
            timeout_s=self._settings.timeout_s,
        ):
            yield chunk

    async def prepare(self, target: str) -> None:
        return None

    async def upload(self, file: OutgoingFile) -> MediaHandle:
        return await self._spool.put(file)

    async def send(self, target: str, part: Part, *, key: str) -> Sent:
        return await self._outbox.send(_known(target), part, key=key)

    async def forward(self, stream: str, *, message_key: str, target: str, key: str) -> Sent:
        return await self._outbox.forward(
            _known(stream), message_key=message_key, target=_known(target), key=key
        )

    async def find_sent(self, target: str, sought: Sought, *, key: str, since: datetime) -> Sent | None:
        return await self._outbox.find(_known(target), sought, key=key, since=since)

    async def list(self, listing: str, cursor: Mapping[str, str]) -> Listed:
        raise Malformed("Discord has no listings")

    async def sweep(self, site: str, cursor: Mapping[str, str]) -> Swept:
        raise Malformed("Discord has no listings")

    async def find(self, query: str) -> Sequence[FoundChannel]:
        return []

    async def close(self) -> None:
        self._spool.clear()
        await self._http.close()


def _known(channel: str) -> str:
    """Return the key of a channel; anything but an id is none of Discord's."""
    if not (channel.isascii() and channel.isdecimal()):
        raise NotThere(f"{channel!r} is no channel of Discord's")
    return channel
