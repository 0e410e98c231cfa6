"""Settings of the web server."""

from __future__ import annotations

from pydantic import Field, field_validator

from headgate.kernel.section import Section


class WebSettings(Section):
    """The web server."""

    host: str = Field(
        default="127.0.0.1",
        description="Address to listen on. Anything but loopback needs a TLS proxy in front.",
    )
    port: int = Field(default=8420, ge=1, le=65535, description="Port; if it is in use, the next free one.")
    public_url: str = Field(default="", description="Public address, if there is a proxy in front.")
    headers_timeout_s: float = Field(
        default=15.0, gt=0, le=600, description="Seconds for a client to send the headers of a request."
    )
    body_timeout_s: float = Field(
        default=120.0, gt=0, le=3600, description="Seconds for a client to send the body of a request."
    )
    max_connections: int = Field(
        default=1000,
        ge=10,
        le=100_000,
        description="Open connections; beyond, those that have not sent a whole request are closed first.",
    )
    session_days: int = Field(default=30, ge=1, le=365, description="How long a sign-in lasts.")

    @field_validator("public_url")
    @classmethod
    def _web_address(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return value.rstrip("/")
