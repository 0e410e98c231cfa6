"""What all sections of the settings are made of."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """Base of all sections: frozen, no unknown names, read by `load_settings` alone."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


def interval(default: float, description: str) -> Any:
    """Return a field for an interval in seconds: a minute at least, a month at most."""
    return Field(default=default, ge=60, le=30 * 86400, allow_inf_nan=False, description=description)
