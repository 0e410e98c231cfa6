"""The settings of listings and of connectors, a section each."""

from __future__ import annotations

from pydantic import Field, field_validator

from headgate.kernel.section import Section, interval


class SeriesSettings(Section):
    """How listings are looked at: feeds, and series on manga sites."""

    poll_concurrency: int = Field(
        default=32, ge=1, le=1000, description="Feeds and series that a worker checks at once."
    )
    shortest_s: float = interval(300, "Shortest time between two looks at a listing.")
    sweep_s: float = interval(300, "Time between two sweeps of a site that tells all its news at once.")
    net_s: float = interval(604800, "How often a listing of such a site is looked at by itself all the same.")


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
    max_entries: int = Field(
        default=2000,
        ge=1,
        le=100_000,
        description="Entries of a feed that are read at most, the newest of them.",
    )
    per_minute: float = Field(
        default=30,
        gt=0,
        le=60000,
        allow_inf_nan=False,
        description="Requests a minute to one host at most, where nobody has set its pace.",
    )
    user_agent: str = Field(
        default="Headgate (self-hosted feed reader)",
        min_length=1,
        max_length=200,
        pattern=r"^[\x20-\x7e]+$",
        description="What Headgate calls itself to the servers of feeds.",
    )


class MangaDexSettings(Section):
    """Where MangaDex is reached."""

    api: str = Field(default="https://api.mangadex.org", description="Address of the API.")
    site: str = Field(default="https://mangadex.org", description="What links to chapters begin with.")
    auth: str = Field(
        default="https://auth.mangadex.org/realms/mangadex/protocol/openid-connect",
        description="Address that signs accounts in.",
    )
    timeout_s: float = Field(
        default=20, gt=0, le=300, allow_inf_nan=False, description="How long an answer may keep us waiting."
    )

    @field_validator("api", "site", "auth")
    @classmethod
    def _web_address(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return value.rstrip("/")
