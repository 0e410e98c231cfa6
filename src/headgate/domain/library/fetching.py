"""Whether the content of a kept file is downloaded, as settings say."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.domain.file_types import UNKNOWN, bare_type, is_picture, type_by_name
from headgate.domain.streams.channel_settings import ChannelSettings, FetchWhat


@dataclass(frozen=True)
class FetchRule:
    """What is downloaded of what is kept."""

    what: FetchWhat = "all"
    max_bytes: int = 0
    """Larger things are not; 0: no limit. What has no known size passes."""

    @classmethod
    def of(cls, settings: ChannelSettings) -> FetchRule:
        """Return the rule of merged settings: everything that is kept, unless they say otherwise."""
        return cls(settings.fetch or "all", settings.fetch_max_bytes or 0)

    @property
    def hash_suffix(self) -> str:
        """What tells this rule from others in the hash of settings; empty for the default."""
        return "" if self == FETCH_ALL else f":{self.what}:{self.max_bytes}"

    def wants(self, *, mime_type: str, file_name: str, size_bytes: int) -> bool:
        """Tell whether a file is downloaded; `size_bytes` is that of the whole set."""
        if self.max_bytes and size_bytes > self.max_bytes:
            return False
        if self.what != "pictures":
            return self.what == "all"
        told = bare_type(mime_type)
        return is_picture(type_by_name(file_name) if told in UNKNOWN else told)


FETCH_ALL = FetchRule()
FETCH_NONE = FetchRule("none")
