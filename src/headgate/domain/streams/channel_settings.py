"""What a person can set for channels: one layer of it, its checks, and how layers lie on each other.

Every field may be left unset at a layer. The layers are everything's, the parents', the channel's and the
topic's; a later one's field replaces an earlier one's as a whole. An empty list or a limit of 0 is set, and
means: no such restriction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from headgate.domain.errors import UserError
from headgate.domain.listings.link_patterns import check_link_pattern

MAX_ENTRIES = 200
MAX_INTERVAL_S = 30 * 86400
MAX_BYTES = 2**50
MAX_AUTHOR = 200

_MIME_GLOB = re.compile(r"\*|[\w.+*?-]{1,80}/[\w.+*?-]{1,120}")
_EXTENSION = re.compile(r"[\w+-]{1,20}(\.[\w+-]{1,20})*")


FetchWhat = Literal["none", "pictures", "all"]
OnDelete = Literal["keep", "forget_text", "forget_all"]


class WrongSettings(UserError):
    """Settings that cannot be used; a sentence for each fault, which names the field."""


def _mime_glob(value: str) -> str:
    glob = value.strip().lower()
    if not _MIME_GLOB.fullmatch(glob):
        raise ValueError("must be like image/png, image/* or *")
    return glob


def _extension(value: str) -> str:
    extension = value.strip().lower().removeprefix(".")
    if not _EXTENSION.fullmatch(extension):
        raise ValueError("must be like zip or tar.gz")
    return extension


def _author(value: str) -> str:
    author = value.strip()
    if not 0 < len(author) <= MAX_AUTHOR:
        raise ValueError(f"must have 1 to {MAX_AUTHOR} characters")
    return author


MimeGlobs = Annotated[tuple[Annotated[str, AfterValidator(_mime_glob)], ...], Field(max_length=MAX_ENTRIES)]
Extensions = Annotated[tuple[Annotated[str, AfterValidator(_extension)], ...], Field(max_length=MAX_ENTRIES)]
Authors = Annotated[tuple[Annotated[str, AfterValidator(_author)], ...], Field(max_length=MAX_ENTRIES)]
LinkPatterns = Annotated[
    tuple[Annotated[str, AfterValidator(check_link_pattern)], ...], Field(max_length=MAX_ENTRIES)
]
Bytes = Annotated[int, Field(ge=0, le=MAX_BYTES)]
Interval = Annotated[float, Field(ge=60, le=MAX_INTERVAL_S, allow_inf_nan=False)]


class ChannelSettings(BaseModel):
    """One layer of settings; what is None is not set at this layer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mime_types: MimeGlobs | None = Field(default=None, description="Globs of the types of files to keep.")
    extensions: Extensions | None = Field(default=None, description="Endings of the files to keep.")
    excluded_extensions: Extensions | None = Field(default=None, description="Endings of files to reject.")
    min_size_bytes: Bytes | None = Field(default=None, description="Smaller files are rejected.")
    max_size_bytes: Bytes | None = Field(default=None, description="Larger files are rejected; 0: no limit.")
    authors: Authors | None = Field(default=None, description="Keep only what these have sent.")
    excluded_authors: Authors | None = Field(default=None, description="Reject what these have sent.")
    bots: bool | None = Field(default=None, description="Whether to keep what bots send.")
    webhooks: bool | None = Field(default=None, description="Whether to keep what webhooks send.")
    link_patterns: LinkPatterns | None = Field(
        default=None, description="Globs, or regular expressions after `re:`, of the links to keep."
    )

    fetch: FetchWhat | None = Field(
        default=None, description="What to download of what is kept: none, pictures or all."
    )
    fetch_max_bytes: Bytes | None = Field(
        default=None, description="Larger things are listed but not downloaded; 0: no limit."
    )
    on_delete: OnDelete | None = Field(
        default=None, description="What a deleted message leaves: keep, forget_text or forget_all."
    )

    skip_window_s: Annotated[float, Field(ge=0, le=86400, allow_inf_nan=False)] | None = Field(
        default=None, description="Rest after a scan without news, in seconds."
    )
    idle_threshold: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="Scans without news in a row before the interval grows."
    )
    every_nth: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="By how much the interval grows then; 1: not at all."
    )
    often_s: Interval | None = Field(default=None, description="Seconds between checks: often.")
    normal_s: Interval | None = Field(default=None, description="Seconds between checks: normal.")
    rarely_s: Interval | None = Field(default=None, description="Seconds between checks: rarely.")
    live_s: Interval | None = Field(
        default=None, description="Seconds between checks while a listener is connected."
    )

    @field_validator("max_size_bytes")
    @classmethod
    def _above_the_least(cls, value: int | None, info: ValidationInfo) -> int | None:
        least = info.data.get("min_size_bytes")
        if value and least and value < least:
            raise ValueError(f"must not be below min_size_bytes, which is {least}")
        return value

    @field_validator("normal_s", "rarely_s")
    @classmethod
    def _in_order(cls, value: float | None, info: ValidationInfo) -> float | None:
        quicker = "often_s" if info.field_name == "normal_s" else "normal_s"
        least = info.data.get(quicker)
        if value is not None and least is not None and value < least:
            raise ValueError(f"must not be below {quicker}, which is {least:g}")
        return value

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Check what a person has set; raise `WrongSettings` with a sentence for each fault."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise WrongSettings("\n".join(_describe(error))) from None

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> tuple[Self, list[str]]:
        """Return a stored layer, and what is wrong in it: such fields are as if they were not set.

        A layer was checked when it was written, but perhaps by another version; one field that is not
        understood any more must not stop the intake of a channel.
        """
        try:
            return cls.model_validate(dict(stored)), []
        except ValidationError as error:
            wrong = {str(fault["loc"][0]) for fault in error.errors() if fault["loc"]}
            rest = {name: value for name, value in stored.items() if name not in wrong}
            return cls.model_validate(rest), list(_describe(error))

    def dump(self) -> dict[str, Any]:
        """Return what is set, as it is stored."""
        return self.model_dump(mode="json", exclude_none=True)


def merge_layers(layers: Sequence[ChannelSettings]) -> ChannelSettings:
    """Lay layers on each other; what a later one sets replaces what an earlier one has set."""
    merged: dict[str, Any] = {}
    for layer in layers:
        merged |= {name: value for name, value in layer if value is not None}
    # Each value was checked in its own layer; pairs of layers may well contradict each other.
    return ChannelSettings.model_construct(**merged)


def _describe(error: ValidationError) -> list[str]:
    return [_sentence(fault["type"], fault["loc"], fault["msg"], fault["input"]) for fault in error.errors()]


def _sentence(kind: str, loc: tuple[int | str, ...], message: str, given: object) -> str:
    name = str(loc[0]) if loc else "settings"
    if kind == "extra_forbidden":
        return f"There is no setting {name}."
    if kind == "tuple_type":
        return f"{name} should be a list (it is {given!r})."
    reason = message.removeprefix("Value error, ").removeprefix("Input ")
    return f"{name} {reason[0].lower()}{reason[1:]} (it is {given!r})."
