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
        if not all(self._directory.find(channel) for channel in wanted):
            await self._guilds.load_all()
        heads: dict[int, Channel] = {}
        asked: dict[int, set[int]] = {}
        for channel in wanted:
            found = self._directory.find(channel)
            if found and self._directory.is_followed(found[0].id):
                heads[channel] = found[1]
            else:
                asked.setdefault(found[0].id if found else 0, set()).add(channel)
        for guild, channels in asked.items():
            heads |= await self._ask(guild, channels)
        return {str(channel.id): self._head(channel) for channel in heads.values()}

    async def _ask(self, guild: int, channels: set[int]) -> dict[int, Channel]:
        """Ask for all channels of a guild at once, and one by one for what is not among them."""
        found: dict[int, Channel] = {}
        if guild and len(channels) > 1:
            listed = as_shapes(await self._api.get(f"/guilds/{guild}/channels"))
            found = {one.id: one for one in (channel_of(shape, guild=guild) for shape in listed)}
            if channels - set(found):
                active = as_shape(await self._api.get(f"/guilds/{guild}/threads/active"))
                threads = [channel_of(one, guild=guild) for one in as_shapes(active.get("threads"))]
                found |= {thread.id: thread for thread in threads}
        for channel in sorted(channels - set(found)):
            try:
                shape = as_shape(await self._api.get(f"/channels/{channel}"))
            except (NotThere, NotAllowed):
                self._directory.drop_channel(channel)
                continue
            found[channel] = channel_of(shape, guild=optional_id(shape, "guild_id") or 0)
        return {channel: one for channel, one in found.items() if channel in channels and one.is_stream}

    def _head(self, channel: Channel) -> Head:
        last = channel.last_message
        return Head(None) if last is None else Head(last, self._snowflakes.time_of(last))
