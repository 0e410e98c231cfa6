"""Whether something that was seen is kept: one pure function, whichever way the message came.

Where nothing is set, all attachments are kept, whoever sent them, and links are not. What lists name must be
known to be on them; limits and exclusions reject only what is known to fall under them. So a file of unknown
size passes every limit, and a file of unknown type is kept by a list of types only if its name speaks of one.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from headgate.domain.file_types import UNKNOWN, bare_type, endings_of, is_picture, type_by_name
from headgate.domain.items import POST_TYPE
from headgate.domain.listings.link_patterns import matches_link
from headgate.domain.streams.channel_settings import ChannelSettings

Verdict = Literal[
    "kept",
    "webhook",
    "bot",
    "author",
    "link_pattern",
    "mime_type",
    "extension",
    "too_small",
    "too_large",
    "topic_disabled",
]
KEPT: Verdict = "kept"

VERDICTS_VERSION = 1
"""Part of every hash. Raise it when `verdict` changes, with a migration that asks for judging."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An attachment or a link of a message, as far as filters care."""

    file_name: str = ""
    mime_type: str = ""
    """Empty where the platform does not say."""
    size_bytes: int = 0
    """0 where the platform does not say."""
    author: str = ""
    from_bot: bool = False
    from_webhook: bool = False
    url: str = ""
    """Empty for files."""


@dataclass(frozen=True)
class Filter:
    """What is kept, as merged settings say it; lists are in order, so that equal filters are equal."""

    mime_types: tuple[str, ...] = ()
    """Globs; none: any type."""
    extensions: tuple[str, ...] = ()
    """Endings with their dots; none: any ending."""
    excluded_extensions: tuple[str, ...] = ()
    min_size_bytes: int = 0
    max_size_bytes: int = 0
    """0: no limit."""
    authors: frozenset[str] = frozenset()
    """Names without upper case; none: anybody."""
    excluded_authors: frozenset[str] = frozenset()
    bots: bool = True
    webhooks: bool = True
    link_patterns: tuple[str, ...] = ()
    """None: no links."""

    @property
    def settings_hash(self) -> str:
        """What sightings remember: equal for equal filters, whatever knobs are set beside them."""
        lists = {"authors": sorted(self.authors), "excluded_authors": sorted(self.excluded_authors)}
        text = json.dumps([VERDICTS_VERSION, vars(self) | lists], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def may_keep_pictures(self) -> bool:
        """Tell whether a picture can pass; rather yes than no."""
        by_type = not self.mime_types or any(_reaches_pictures(glob) for glob in self.mime_types)
        by_ending = not self.extensions or any(is_picture(type_by_name(end)) for end in self.extensions)
        return by_type and by_ending

    def may_keep_others(self) -> bool:
        """Tell whether something else than a picture can pass; rather yes than no."""
        by_type = not self.mime_types or any(not glob.startswith("image/") for glob in self.mime_types)
        by_ending = not self.extensions or any(not is_picture(type_by_name(end)) for end in self.extensions)
        return by_type and by_ending


def effective_filter(settings: ChannelSettings) -> Filter:
    """Return the filter of merged settings, with the default for whatever is not set."""
    return Filter(
        mime_types=_ordered(settings.mime_types),
        extensions=tuple(f".{extension}" for extension in _ordered(settings.extensions)),
        excluded_extensions=tuple(f".{extension}" for extension in _ordered(settings.excluded_extensions)),
        min_size_bytes=settings.min_size_bytes or 0,
        max_size_bytes=settings.max_size_bytes or 0,
        authors=frozenset(author.casefold() for author in settings.authors or ()),
        excluded_authors=frozenset(author.casefold() for author in settings.excluded_authors or ()),
        bots=settings.bots is not False,
        webhooks=settings.webhooks is not False,
        link_patterns=_ordered(settings.link_patterns),
    )


def verdict(candidate: Candidate, by: Filter) -> Verdict:
    """Return 'kept', or the first reason why not.

    What a webhook sends is judged as a webhook's alone, also where the platform calls it a bot as well.
    """
    if candidate.from_webhook:
        if not by.webhooks:
            return "webhook"
    elif candidate.from_bot and not by.bots:
        return "bot"
    if by.authors or by.excluded_authors:
        author = candidate.author.casefold()
        if author in by.excluded_authors or (by.authors and author not in by.authors):
            return "author"
    if candidate.mime_type == POST_TYPE:
        return KEPT
    return _judge_link(candidate.url, by) if candidate.url else _judge_file(candidate, by)


def _judge_link(url: str, by: Filter) -> Verdict:
    return KEPT if any(matches_link(pattern, url) for pattern in by.link_patterns) else "link_pattern"


def _judge_file(candidate: Candidate, by: Filter) -> Verdict:
    if by.mime_types and not _has_type(candidate, by.mime_types):
        return "mime_type"
    if (by.extensions or by.excluded_extensions) and not _has_right_ending(candidate, by):
        return "extension"
    if candidate.size_bytes > 0:
        if candidate.size_bytes < by.min_size_bytes:
            return "too_small"
        if 0 < by.max_size_bytes < candidate.size_bytes:
            return "too_large"
    return KEPT


def _has_type(candidate: Candidate, globs: tuple[str, ...]) -> bool:
    told = bare_type(candidate.mime_type)
    types = {told}
    if told in UNKNOWN:
        types.add(type_by_name(candidate.file_name))
    return any(fnmatchcase(mime_type, glob) for mime_type in types for glob in globs)


def _has_right_ending(candidate: Candidate, by: Filter) -> bool:
    """Go by the name; a photo without one has the endings of its type."""
    name = candidate.file_name.strip().lower()
    names = (name,) if name else endings_of(candidate.mime_type)
    if any(each.endswith(by.excluded_extensions) for each in names):
        return False
    return not by.extensions or any(each.endswith(by.extensions) for each in names)


def _reaches_pictures(glob: str) -> bool:
    fixed = glob.replace("?", "*").partition("*")[0]
    return "image/".startswith(fixed) or fixed.startswith("image/")


def _ordered(values: tuple[str, ...] | None) -> tuple[str, ...]:
    return tuple(sorted(set(values or ())))
