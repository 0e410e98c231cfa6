"""Settings of platforms: where they are reached, and how long an answer may take."""

from __future__ import annotations

from pydantic import Field, field_validator

from headgate.kernel.section import Section


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
