"""The settings of listings and of connectors, a section each."""

from __future__ import annotations

from pydantic import Field, field_validator

from headgate.kernel.section import Section, interval


class SeriesSettings(Section):
    """How feeds, and series on manga sites, are checked."""

    poll_concurrency: int = Field(
        default=32, ge=1, le=1000, description="Feeds and series that a worker checks in parallel."
    )
    shortest_s: float = interval(300, "Minimum time between two checks of a source.")
    sweep_s: float = interval(300, "Time between two checks of a site that lists all its news at once.")
    net_s: float = interval(604800, "How often a source of such a site is also checked on its own.")


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
        description="Maximum time to read a feed, including redirects.",
    )
    max_bytes: int = Field(
        default=10 * 2**20,
        ge=1024,
        le=100 * 2**20,
        description="Maximum size of a feed, also uncompressed.",
    )
    max_entries: int = Field(
        default=2000,
        ge=1,
        le=100_000,
        description="Maximum entries to read from a feed; the newest ones.",
    )
    per_minute: float = Field(
        default=30,
        gt=0,
        le=60000,
        allow_inf_nan=False,
        description="Maximum requests a minute to one site, unless a person has set its pace.",
    )
    user_agent: str = Field(
        default="Headgate (self-hosted feed reader)",
        min_length=1,
        max_length=200,
        pattern=r"^[\x20-\x7e]+$",
        description="User agent for requests to feeds.",
    )


class MangaDexSettings(Section):
    """Where MangaDex is reached."""

    api: str = Field(default="https://api.mangadex.org", description="Address of the API.")
    site: str = Field(default="https://mangadex.org", description="Start of links to chapters.")
    auth: str = Field(
        default="https://auth.mangadex.org/realms/mangadex/protocol/openid-connect",
        description="Address for signing in.",
    )
    timeout_s: float = Field(
        default=20, gt=0, le=300, allow_inf_nan=False, description="Maximum time to wait for an answer."
    )

    @field_validator("api", "site", "auth")
    @classmethod
    def _web_address(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return value.rstrip("/")


class MatrixSettings(Section):
    """How homeservers are reached."""

    homeserver: str = Field(
        default="",
        description="Address of the homeserver of all accounts; empty: each sign-in asks for its own.",
    )
    timeout_s: float = Field(
        default=20, gt=0, le=300, allow_inf_nan=False, description="Maximum time to wait for an answer."
    )
    sync_s: float = Field(
        default=30,
        gt=0,
        le=300,
        allow_inf_nan=False,
        description="How long a homeserver holds a request for news open.",
    )

    @field_validator("homeserver")
    @classmethod
    def _web_address(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return value.rstrip("/")


class DiscordSettings(Section):
    """Where Discord is reached."""

    api: str = Field(default="https://discord.com/api/v10", description="Address of the API.")
    gateway: str = Field(default="wss://gateway.discord.gg", description="Address of the gateway.")
    timeout_s: float = Field(
        default=20, gt=0, le=300, allow_inf_nan=False, description="Maximum time to wait for an answer."
    )
    epoch_ms: int = Field(
        default=1_420_070_400_000,
        ge=0,
        description="Epoch of the server's ids, in Unix milliseconds; only compatible servers differ.",
    )

    @field_validator("api")
    @classmethod
    def _web_address(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return value.rstrip("/")

    @field_validator("gateway")
    @classmethod
    def _socket_address(cls, value: str) -> str:
        if not value.startswith(("ws://", "wss://")):
            raise ValueError("must begin with ws:// or wss://")
        return value
