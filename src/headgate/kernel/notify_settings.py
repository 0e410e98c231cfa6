"""Settings of telling people, a section like the others."""

from __future__ import annotations

from pydantic import Field

from headgate.kernel.section import Section


class NotifySettings(Section):
    """Telling users of what they follow, and pushing it out to them."""

    concurrency: int = Field(
        default=10,
        ge=1,
        le=1000,
        description="Channels to notify about, and addresses to push to, in parallel.",
    )
    gather_s: float = Field(
        default=30,
        ge=0,
        le=86400,
        allow_inf_nan=False,
        description="How long a push waits for others, so that a burst becomes one message.",
    )
    keep_days: int = Field(
        default=90, ge=1, le=36500, description="Days to keep notifications that were read."
    )
    allow_private: bool = Field(
        default=False,
        description="Let every user, not only administrators, push to hosts in this machine's network.",
    )
