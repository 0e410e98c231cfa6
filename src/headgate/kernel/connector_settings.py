"""The settings of connectors, a section each."""

from __future__ import annotations

from pydantic import Field

from headgate.kernel.section import Section


class FeedsSettings(Section):
    """How feeds (RSS, Atom, JSON Feed) are read."""

    allow_private: bool = Field(
        default=False,
        description="Whether feeds on this machine and the local network may be read.",
    )
    timeout_s: float = Field(
        default=20,
        gt=0,
        le=300,
        allow_inf_nan=False,
        description="How long reading a feed may take, with all its redirects.",
    )
    max_bytes: int = Field(
        default=10 * 2**20,
        ge=1024,
        le=100 * 2**20,
        description="Size of a feed at most, also when it is unpacked.",
    )
    user_agent: str = Field(
        default="Headgate (self-hosted feed reader)",
        min_length=1,
        max_length=200,
        pattern=r"^[\x20-\x7e]+$",
        description="What Headgate calls itself to the servers of feeds.",
    )
