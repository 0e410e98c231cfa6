"""What all sections of the settings are made of."""

from __future__ import annotations

from typing import Any

from pydantic import Field
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict


class Section(BaseSettings):
    """Base of all sections: frozen, no unknown names, read by `load_settings` alone."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", validate_default=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def interval(default: float, description: str) -> Any:
    """Return a field for an interval in seconds: a minute at least, a month at most."""
    return Field(default=default, ge=60, le=30 * 86400, allow_inf_nan=False, description=description)
