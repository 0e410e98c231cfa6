"""What is said of sets: how much of them is there, what is missing, and why."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.domain.library.archive_sets.assembly import LoneReason, SetReason
from headgate.domain.library.archive_sets.completeness import Completeness, CompletenessReason
from headgate.domain.library.archive_sets.joining import JoinConflict
from headgate.domain.library.archive_sets.volumes import VolumeName

MAX_NAMES = 5
"""So many missing files are named; more would hide what matters."""

SET_STATES: dict[Completeness, str] = {
    "proven": "complete",
    "assumed": "probably complete",
    "waiting": "incomplete",
    "impossible": "cannot be completed",
}

SET_REASONS: dict[CompletenessReason, str] = {
    "headers": "the archive says how many volumes it has, and all are here",
    "last_is_smaller": "no volume is missing, the last is smaller than others, and no more came for a day",
    "last_by_name": "no volume is missing, the last is here, and no more came for a day",
    "not_quiet_yet": "no volume is missing so far, but more may come today",
    "volumes_missing": "some volumes have not been posted yet",
    "open_end": "the last volume is as large as the others, so there may be more",
    "beyond_total": "there are more volumes than the archive says it has",
    "vanished": "a volume was deleted before it could be fetched",
}
"""Why a set is complete or not."""

ASSEMBLY_REASONS: dict[SetReason | LoneReason, str] = {
    "joined_by_hand": "a person put these files together",
    "volumes": "the names, sizes and times fit",
    "ambiguous_name": "the name does not tell whether there are more volumes",
    "separated": "a person took it out of its set",
    "whole_archive": "the archive is complete in this one file",
    "too_many": "there are too many volumes of this name",
}
"""Why files are one set, or why a file is on its own."""


def volumes_text(*, here: int, total: int | None, complete: bool) -> str:
    """Say how many volumes are here, of how many."""
    if complete:
        return _count(here)
    if total is not None:
        return f"{here} of {_count(total)}"
    return f"{_count(here)} so far"


def missing_text(names: Sequence[str], *, count: int) -> str:
    """Name the missing files, the first of a long list; empty if none is known to be missing."""
    # Naming all but one and counting that one would be no shorter.
    named = names if count <= MAX_NAMES + 1 else names[:MAX_NAMES]
    more = count - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def join_conflict_text(conflict: JoinConflict) -> str:
    """Say why two items cannot be one set."""
    one, other = _file_name(conflict.one), _file_name(conflict.other)
    match conflict.problem:
        case "other_naming":
            return (
                f"{one} and {other} are named by different schemes, so they are not volumes of one archive."
            )
        case "same_number":
            return f"{one} and {other} are both {_place(conflict.one)}, but different files."
        case "adds_nothing":
            return f"{one} and {other} are copies: joining these items would add no volume."


def join_remedy_text(conflict: JoinConflict) -> str:
    """Say what to do about two items that cannot be one set."""
    if conflict.problem == "same_number":
        return "Separate the one that does not belong, then join the rest."
    return "Join items whose volumes complete each other."


def _file_name(name: VolumeName) -> str:
    return name.stem + name.suffix


def _place(name: VolumeName) -> str:
    return "the last volume" if name.is_last else f"volume {name.number:,}"


def _count(volumes: int) -> str:
    return "1 volume" if volumes == 1 else f"{volumes:,} volumes"
