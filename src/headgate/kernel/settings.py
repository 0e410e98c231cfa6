"""Settings: one frozen model a section, from the environment, a file, or the default.

The variable of a value is `HEADGATE_<SECTION>_<NAME>`; the same value in `headgate.toml` stands under
`[section]` as `name`. A wrong value stops the start with a sentence that names the variable.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, Self, cast, get_args, get_type_hints

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from headgate.kernel.connector_settings import (
    DiscordSettings,
    FeedsSettings,
    MangaDexSettings,
    MatrixSettings,
    SeriesSettings,
)
from headgate.kernel.files_settings import FilesSettings
from headgate.kernel.logs import MASK, LogFormat, mask_url
from headgate.kernel.notify_settings import NotifySettings
from headgate.kernel.section import Section, interval
from headgate.kernel.web_settings import WebSettings

CONFIG_FILE = "headgate.toml"


class SettingsError(Exception):
    """One or more settings are wrong; the message has a line for each."""


def _default_data_dir() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "headgate"


class DataSettings(Section):
    """Where Headgate keeps its files."""

    dir: Path = Field(
        default_factory=_default_data_dir,
        description="Folder of the embedded database, the key file, blobs and backups.",
        json_schema_extra={"shown": "~/.local/share/headgate"},
    )

    @field_validator("dir")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().absolute()


class DatabaseSettings(Section):
    """The PostgreSQL server."""

    url: SecretStr | None = Field(
        default=None,
        description="Address of an external PostgreSQL (15 or newer). Empty: the embedded server.",
    )
    pool_size: int = Field(default=8, ge=2, le=64, description="Maximum connections of a process.")
    shared_memory_mb: int = Field(
        default=128, ge=16, le=16384, description="Buffer memory of the embedded server."
    )

    @field_validator("url", mode="before")
    @classmethod
    def _postgres(cls, value: object) -> object:
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        if text in (None, ""):
            return None
        if not str(text).startswith(("postgresql://", "postgres://")):
            raise ValueError("must begin with postgresql://")
        return value


class LogSettings(Section):
    """What is logged, and how."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Minimum severity to log."
    )
    format: LogFormat = Field(
        default="auto", description="`json`, `console`, or `auto`: console in a terminal."
    )

    @field_validator("level", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value


class JobsSettings(Section):
    """The engine that carries out the work."""

    fast_concurrency: int = Field(
        default=20, ge=2, le=500, description="Short jobs that a worker runs in parallel."
    )
    bulk_concurrency: int = Field(
        default=4, ge=2, le=100, description="Long jobs (history) that a worker runs in parallel."
    )
    heartbeat_timeout_s: float = Field(
        default=5.0,
        ge=1,
        le=300,
        description="A worker without a heartbeat for this long loses its jobs to another one.",
    )
    tick_s: float = Field(default=0.25, ge=0.1, le=60, description="How often to check for due work.")
    shutdown_s: float = Field(
        default=3.0, ge=0, le=600, description="How long running jobs may take to finish at a shutdown."
    )
    max_attempts: int = Field(
        default=3, ge=1, le=100, description="Attempts before a job becomes a failed job."
    )
    max_crashes: int = Field(
        default=5, ge=3, le=100, description="Crashes before a job becomes a failed job."
    )
    keep_completed: int = Field(default=1000, ge=0, description="Maximum number of completed jobs to keep.")
    keep_completed_s: int = Field(default=3600, ge=0, description="Maximum age of completed jobs.")
    keep_dead: int = Field(default=5000, ge=0, description="Maximum number of failed jobs to keep.")
    keep_dead_s: int = Field(default=604800, ge=0, description="Maximum age of failed jobs.")
    keep_runs_days: int = Field(
        default=180,
        ge=0,
        description="Days to keep ended runs with the results of their messages; 0: forever."
        " The newest run of a reminder and uncertain messages always stay.",
    )
    metrics_port: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="Loopback port where `headgate worker` serves /metrics, /healthz and /readyz; 0: none.",
    )


class IntakeSettings(Section):
    """How often channels are checked, unless a channel has its own settings."""

    skip_window_s: float = Field(
        default=300,
        ge=0,
        le=86400,
        allow_inf_nan=False,
        description="Time after a scan without news in which only a person or a live event starts another.",
    )
    idle_threshold: int = Field(
        default=5, ge=1, le=1000, description="Scans without news in a row before the interval grows."
    )
    every_nth: int = Field(
        default=5, ge=1, le=1000, description="By how much the interval grows then; 1: not at all."
    )
    often_s: float = interval(300, "Interval of channels that are checked often.")
    normal_s: float = interval(1800, "Interval of channels with the normal frequency.")
    rarely_s: float = interval(14400, "Interval of channels that are checked rarely.")
    live_s: float = interval(14400, "Interval while a listener is connected.")
    edit_window_s: float | None = Field(
        default=None,
        ge=0,
        le=2_592_000,
        allow_inf_nan=False,
        description="Age of messages to read again after a listener was disconnected, to find missed edits."
        " Empty: as the platform's connector says; 0: off.",
    )
    reread_every_s: float = interval(86400, "How often to do that for channels without a listener.")
    discover_every_s: float | None = Field(
        default=None,
        ge=300,
        le=2_592_000,
        allow_inf_nan=False,
        description="How often to refresh the list of an account's channels. Empty: as the platform's"
        " connector says.",
    )

    @field_validator("normal_s", "rarely_s")
    @classmethod
    def _in_order(cls, value: float, info: ValidationInfo) -> float:
        quicker = "often_s" if info.field_name == "normal_s" else "normal_s"
        if value < info.data.get(quicker, 0):
            raise ValueError(f"must not be below {variable_of('intake', quicker)}")
        return value


class OutflowSettings(Section):
    """How messages are sent, where an account's own settings do not say."""

    fire_concurrency: int = Field(
        default=32,
        ge=1,
        le=1000,
        description="Accounts that send in parallel, across all workers. A sender mostly waits and costs"
        " little.",
    )
    group_concurrency: int = Field(
        default=3, ge=1, le=10, description="Groups that one account sends to in parallel."
    )
    messages_per_minute: float = Field(
        default=40,
        gt=0,
        le=60000,
        allow_inf_nan=False,
        description="Maximum messages a minute of an account, unless a person has set its pace.",
    )


class DemoSettings(Section):
    """The simulated world of `headgate demo`."""

    seed: int = Field(default=1, ge=0, description="Seed of the simulated world.")
    speed: float = Field(default=60.0, gt=0, le=100000, description="Product seconds in a real second.")


@dataclass(frozen=True)
class Settings:
    """All sections, and where each value came from."""

    data: DataSettings
    database: DatabaseSettings
    files: FilesSettings
    log: LogSettings
    web: WebSettings
    jobs: JobsSettings
    intake: IntakeSettings
    series: SeriesSettings
    outflow: OutflowSettings
    feeds: FeedsSettings
    mangadex: MangaDexSettings
    matrix: MatrixSettings
    discord: DiscordSettings
    notify: NotifySettings
    demo: DemoSettings
    origins: Mapping[str, str]

    def replace_data_dir(self, path: Path) -> Self:
        """Return the same settings with another data folder (the demo has its own)."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["data"] = DataSettings(dir=path)
        return type(self)(**values)


SECTIONS: dict[str, type[Section]] = {
    name: kind for name, kind in get_type_hints(Settings).items() if name != "origins"
}


def variable_of(section: str, name: str) -> str:
    """Return the environment variable that sets a value."""
    return f"HEADGATE_{section}_{name}".upper()


@dataclass(frozen=True)
class SettingValue:
    """One value as `headgate config show` prints it."""

    variable: str
    section: str
    name: str
    value: str
    origin: str
    description: str
    secret: bool


def list_values(settings: Settings) -> Iterator[SettingValue]:
    """Go through all settings in their order; secrets are masked."""
    for section, model in SECTIONS.items():
        for name, field in model.model_fields.items():
            value = getattr(getattr(settings, section), name)
            variable = variable_of(section, name)
            yield SettingValue(
                variable=variable,
                section=section,
                name=name,
                value=_shown(value),
                origin=settings.origins.get(variable, "default"),
                description=field.description or "",
                secret=is_secret(field),
            )


def is_secret(field: FieldInfo) -> bool:
    """Tell whether a value must never be shown in full."""
    return SecretStr in (field.annotation, *get_args(field.annotation))


def default_of(field: FieldInfo) -> str:
    """Return a default as the documentation prints it, the same on every machine."""
    if field.default_factory is not None:
        return cast("dict[str, str]", field.json_schema_extra)["shown"]
    return _shown(field.default)


def _shown(value: object) -> str:
    if isinstance(value, SecretStr):
        text = value.get_secret_value()
        return mask_url(text) if "://" in text else MASK
    return "" if value is None else str(value)


def load_settings(
    environment: Mapping[str, str] | None = None, *, config_file: Path | None = None
) -> Settings:
    """Read all settings; raise `SettingsError` with a line for each wrong one."""
    environment = os.environ if environment is None else environment
    problems: list[str] = []
    origins: dict[str, str] = {}
    file_path = config_file or config_path(environment)
    from_file = _read_file(file_path, problems)
    sections: dict[str, Section] = {}
    for section, model in SECTIONS.items():
        values = dict(from_file.pop(section, {}))
        origins |= {variable_of(section, name): f"file {file_path}" for name in values}
        for name in model.model_fields:
            variable = variable_of(section, name)
            if variable in environment:
                values[name] = environment[variable]
                origins[variable] = "environment"
        try:
            sections[section] = model(**values)
        except ValidationError as error:
            problems.extend(_describe(section, error, origins))
    problems.extend(
        f"{file_path}: there is no section [{section}].{_suggestion(section, SECTIONS)}"
        for section in from_file
    )
    problems.extend(_unknown_variables(environment))
    if problems:
        raise SettingsError("\n".join(problems))
    return Settings(**cast("dict[str, Any]", sections), origins=origins)


def config_path(environment: Mapping[str, str] | None = None) -> Path:
    """Return where the settings file is, or would be."""
    environment = os.environ if environment is None else environment
    if named := environment.get("HEADGATE_CONFIG"):
        return Path(named).expanduser().absolute()
    data_dir = environment.get("HEADGATE_DATA_DIR")
    return (Path(data_dir).expanduser().absolute() if data_dir else _default_data_dir()) / CONFIG_FILE


def _read_file(path: Path, problems: list[str]) -> dict[str, dict[str, Any]]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problems.append(f"{path} cannot be read: {error}.")
        return {}
    sections = {
        name: cast("dict[str, Any]", value) for name, value in content.items() if isinstance(value, dict)
    }
    problems.extend(
        f"{path}: `{name}` stands outside of any [section]." for name in content.keys() - sections
    )
    return sections


def _describe(section: str, error: ValidationError, origins: Mapping[str, str]) -> Iterator[str]:
    known = SECTIONS[section].model_fields
    for fault in error.errors():
        name = str(fault["loc"][0]) if fault["loc"] else ""
        variable = variable_of(section, name)
        origin = origins.get(variable, "default")
        if fault["type"] == "extra_forbidden":
            hint = _suggestion(name, known)
            yield f"There is no setting `{name}` in section [{section}] (in: {origin}).{hint}"
            continue
        reason = fault["msg"].removeprefix("Value error, ").removeprefix("Input ")
        given = "" if is_secret(known[name]) else f" (it is {mask_url(repr(fault['input']))})"
        yield f"{variable} {reason[0].lower()}{reason[1:]}{given}; set in: {origin}."


def _unknown_variables(environment: Mapping[str, str]) -> Iterator[str]:
    known = {variable_of(s, name) for s, model in SECTIONS.items() for name in model.model_fields}
    known.add("HEADGATE_CONFIG")
    for variable in sorted(environment):
        if not variable.startswith("HEADGATE_") or variable in known:
            continue
        if variable.startswith("HEADGATE_TEST_"):
            continue
        yield f"There is no setting {variable}.{_suggestion(variable, known)}"


def _suggestion(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f" Did you mean {close[0]}?" if close else ""
