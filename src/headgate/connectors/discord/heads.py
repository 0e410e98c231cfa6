"""The newest message of many channels: from the gateway while it listens, else by one call a guild."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headgate.connectors.discord.discovery import Guilds
from headgate.connectors.discord.errors import NotAllowed, NotThere
from headgate.connectors.discord.guilds import Channel, Directory, channel_of
from headgate.connectors.discord.rest import Api
from headgate.connectors.discord.shapes import as_shape, as_shapes, optional_id
from headgate.connectors.discord.snowflakes import Snowflakes
from headgate.domain.streams.messages import Head


class Heads:
    """Finds heads by as few calls as can be."""

    def __init__(self, api: Api, directory: Directory, guilds: Guilds, snowflakes: Snowflakes) -> None:
        self._api = api
        self._directory = directory
        self._guilds = guilds
        self._snowflakes = snowflakes

    async def fetch(self, streams: Sequence[str]) -> Mapping[str, Head]:
        """Return the heads of the streams that the bot knows; one that is gone is left out."""
        wanted = {int(stream) for stream in streams if stream.isascii() and stream.isdecimal()}
        await self._learn_guilds(wanted)
        heads: dict[int, Channel] = {}
        asked: dict[int, set[int]] = {}
        for channel in wanted:
            if fresh := self._directory.find_fresh(channel):
                heads[channel] = fresh
            else:
                found = self._directory.find(channel)
                asked.setdefault(found[0].id if found else 0, set()).add(channel)
        for guild, channels in asked.items():
            heads |= await self._ask(guild, channels)
        return {str(channel.id): self._head(channel) for channel in heads.values() if channel.is_stream}

    async def _learn_guilds(self, wanted: set[int]) -> None:
        """Find the guilds of channels that are unknown, and those that the gateway tells of but changed."""
        unknown = {channel for channel in wanted if self._directory.find(channel) is None}
        if len(unknown) > 1 or (unknown and not self._directory.is_live):
            await self._guilds.load_all()
        homes = {found[0].id for found in map(self._directory.find, wanted) if found}
        for guild in sorted(homes) if self._directory.is_live else ():
            if not self._directory.is_followed(guild):
                await self._reload(guild)

    async def _reload(self, guild: int) -> None:
        """Ask for a guild; one that the bot was removed from is forgotten, and harms no other."""
        try:
            await self._guilds.load(guild)
        except (NotThere, NotAllowed):
            self._directory.drop(guild)

    async def _ask(self, guild: int, channels: set[int]) -> dict[int, Channel]:
        """Ask for all channels of a guild at once, and one by one for what is not among them."""
        found: dict[int, Channel] = {}
        if len(channels) > 1 and guild and not self._directory.is_followed(guild):
            try:
                found = await self._list(guild, channels)
            except (NotThere, NotAllowed):
                self._directory.drop(guild)
                return {}
        for channel in sorted(channels - set(found)):
            if one := await self._ask_one(channel):
                found[channel] = one
        return {channel: one for channel, one in found.items() if channel in channels}

    async def _list(self, guild: int, channels: set[int]) -> dict[int, Channel]:
        listed = as_shapes(await self._api.get(f"/guilds/{guild}/channels"))
        found = {one.id: one for one in (channel_of(shape, guild=guild) for shape in listed)}
        if channels - set(found):
            active = as_shape(await self._api.get(f"/guilds/{guild}/threads/active"))
            threads = [channel_of(one, guild=guild) for one in as_shapes(active.get("threads"))]
            found |= {thread.id: thread for thread in threads}
        return found

    async def _ask_one(self, channel: int) -> Channel | None:
        """Ask for a channel; while the gateway tells of its guild, it need not be asked for again."""
        era = self._directory.era
        try:
            shape = as_shape(await self._api.get(f"/channels/{channel}"))
        except (NotThere, NotAllowed):
            self._directory.drop_channel(channel)
            return None
        found = channel_of(shape, guild=optional_id(shape, "guild_id") or 0)
        self._directory.learn_channel(found, era=era)
        return found

    def _head(self, channel: Channel) -> Head:
        last = channel.last_message
        return Head(None) if last is None else Head(last, self._snowflakes.time_of(last))
