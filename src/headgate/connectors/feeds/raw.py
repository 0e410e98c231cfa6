"""A feed as its document tells it, before it is judged: the same for XML and JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

MAX_READ = 10_000
"""Entries of a document to parse; more than are kept, because the newest may be last."""


@dataclass(frozen=True)
class RawEntry:
    """One entry in the words of its document; any of them may be missing, and of any length."""

    id: str = ""
    link: str = ""
    """The address, as the document has it; made absolute where its base was known."""
    title: str = ""
    title_is_markup: bool = False
    summary: str = ""
    """Its text or a part of it; for entries without a title."""
    date_text: str = ""
    date: datetime | None = None
    language: str = ""


@dataclass(frozen=True)
class RawFeed:
    """A whole document."""

    title: str = ""
    title_is_markup: bool = False
    language: str = ""
    entries: list[RawEntry] = field(default_factory=list[RawEntry])
    warnings: tuple[str, ...] = ()
    rest_s: float | None = None
    """How long the document itself asks to be left alone."""
    cut_off: bool = False
    """The document ends before its end: the next answer may hold more, whatever its validators say."""
