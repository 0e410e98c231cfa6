"""Which channels the bot sees: guilds with all their channels, and threads that are active or archived."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from headgate.connectors.discord.errors import NotAllowed, NotThere
from headgate.connectors.discord.guilds import (
    HOLDS_THREADS,
    Channel,
    Directory,
    Guild,
    channel_of,
    guild_of,
)
from headgate.connectors.discord.permissions import (
    READ_HISTORY,
    SEND_IN_THREADS,
    SEND_MESSAGES,
    VIEW_CHANNEL,
)
from headgate.connectors.discord.rest import Api
from headgate.connectors.discord.shapes import (
    as_shape,
    as_shapes,
    flag_in,
    id_in,
    shape_in,
    text_in,
)
from headgate.connectors.protocol import FoundChannel

_GUILDS_PER_PAGE = 200
_THREADS_PER_PAGE = 100
_MAX_PAGES = 50


class Guilds:
    """Asks the API for what the gateway does not tell at the moment."""

    def __init__(self, api: Api, directory: Directory, *, me: int) -> None:
        self._api = api
        self._directory = directory
        self._me = me

    async def list_ids(self) -> list[int]:
        """Return the guilds that the bot is in."""
        found: list[int] = []
        for _ in range(_MAX_PAGES):
            params = {"limit": str(_GUILDS_PER_PAGE), "after": str(max(found, default=0))}
            page = [id_in(one) for one in as_shapes(await self._api.get("/users/@me/guilds", params))]
            found += page
            if len(page) < _GUILDS_PER_PAGE:
                break
        return found

    async def load(self, guild: int) -> Guild:
        """Ask for a guild: its roles, channels, active threads, and the bot's own roles."""
        place, before = f"/guilds/{guild}", self._directory.version(guild)
        shape = dict(as_shape(await self._api.get(place)))
        shape["channels"] = await self._api.get(f"{place}/channels")
        shape["threads"] = as_shape(await self._api.get(f"{place}/threads/active")).get("threads")
        shape["members"] = [await self._api.get(f"{place}/members/{self._me}")]
        loaded = guild_of(shape, me=self._me)
        self._directory.learn(loaded, before=before)
        return loaded

    async def load_all(self) -> list[Guild]:
        """Return all guilds, by the gateway where it tells of them."""
        guilds: list[Guild] = []
        for guild in await self.list_ids():
            known = self._directory.get(guild) if self._directory.is_followed(guild) else None
            guilds.append(known or await self.load(guild))
        return guilds

    async def load_archived(self, guild: Guild) -> None:
        """Learn the archived threads of the channels whose history the bot may read."""
        for channel in list(guild.channels.values()):
            rights = guild.rights_in(channel)
            if channel.kind in HOLDS_THREADS and rights & VIEW_CHANNEL and rights & READ_HISTORY:
                async for thread in self._archived(channel):
                    guild.channels.setdefault(thread.id, thread)
                    self._directory.put_channel(thread)

    async def _archived(self, channel: Channel) -> AsyncIterator[Channel]:
        params = {"limit": str(_THREADS_PER_PAGE)}
        for _ in range(_MAX_PAGES):
            try:
                page = as_shape(
                    await self._api.get(f"/channels/{channel.id}/threads/archived/public", params)
                )
            except (NotAllowed, NotThere):
                return
            threads = as_shapes(page.get("threads"))
            for thread in threads:
                yield channel_of(thread, guild=channel.guild)
            if not threads or not flag_in(page, "has_more"):
                return
            params["before"] = text_in(shape_in(threads[-1], "thread_metadata"), "archive_timestamp")


def found_in(guild: Guild) -> Iterator[FoundChannel]:
    """Yield the streams and targets of a guild that the bot may see."""
    for channel in sorted(guild.channels.values(), key=lambda one: one.id):
        rights = guild.rights_in(channel)
        if not channel.is_stream or not rights & VIEW_CHANNEL:
            continue
        key, title = str(channel.id), _title_of(guild, channel)
        parent = guild.channels.get(channel.parent or 0)
        yield FoundChannel(
            key,
            title,
            "stream",
            parent=str(channel.parent or guild.id),
            parent_title=guild.name if parent is None else _title_of(guild, parent),
        )
        if rights & (SEND_IN_THREADS if channel.is_thread else SEND_MESSAGES):
            yield FoundChannel(key, title, "target")


def _title_of(guild: Guild, channel: Channel) -> str:
    """Name a channel or a category so that it is known among those of all guilds."""
    parent = guild.channels.get(channel.parent or 0) if channel.is_thread else None
    if parent is not None:
        return f"{guild.name} #{parent.name} › {channel.name}"
    return f"{guild.name} {'#' if channel.is_stream or channel.kind in HOLDS_THREADS else '› '}{channel.name}"
