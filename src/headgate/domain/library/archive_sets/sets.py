"""What a set is called, and how filters see it: the whole, not its volumes."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.domain.file_types import UNKNOWN, bare_type
from headgate.domain.library.archive_sets.volumes import Volume, VolumeName
from headgate.domain.streams.filters import Candidate


def set_title(names: Sequence[VolumeName]) -> str:
    """Return what people call a set: the title of its first volume."""
    return min(names, key=lambda name: name.number).title


def set_file_name(names: Sequence[VolumeName]) -> str:
    """Return what the file would be called had it not been split, such as `Pack.tar.gz`."""
    first = min(names, key=lambda name: name.number)
    return f"{first.stem}.{first.format}" if first.format else first.stem


def set_size(volumes: Sequence[Volume]) -> int:
    """Return the sum of one volume for each number; 0 where the size of one is unknown."""
    sizes = [volume.size_bytes for volume in volumes]
    return sum(sizes) if all(sizes) else 0


def set_candidate(
    volumes: Sequence[Volume],
    *,
    mime_types: Sequence[str] = (),
    author: str = "",
    from_bot: bool = False,
    from_webhook: bool = False,
) -> Candidate:
    """Return a set as filters judge it, from one volume for each number and their types in the same order.

    The ending is that of the whole, the size the sum. The type is what the platform gave a volume whose
    own name ends like the whole, since it guesses wildly for `.001` and `.r00`; else the name speaks, and
    that the type of the first one is unknown.
    """
    names = [volume.name for volume in volumes]
    return Candidate(
        file_name=set_file_name(names),
        mime_type=_told_type(names, mime_types),
        size_bytes=set_size(volumes),
        author=author,
        from_bot=from_bot,
        from_webhook=from_webhook,
    )


def _told_type(names: Sequence[VolumeName], mime_types: Sequence[str]) -> str:
    told = (
        bare_type(mime_type)
        for name, mime_type in zip(names, mime_types, strict=False)
        if name.format and name.suffix.lower().endswith(f".{name.format}")
    )
    # That nothing is known is no guess: a set passes the filters that each of its volumes passes.
    unknown = bare_type(mime_types[0]) if mime_types and bare_type(mime_types[0]) in UNKNOWN else ""
    return next((mime_type for mime_type in told if mime_type not in UNKNOWN), unknown)
