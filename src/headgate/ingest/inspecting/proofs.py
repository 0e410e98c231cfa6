"""Asks the headers of stored volumes how many there are."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.domain.library.inspections import ItemFile, Volume, names_archive
from headgate.domain.library.volume_headers import SAMPLE_BYTES, SetProof, VolumeSample, prove_set
from headgate.storage.blobs.store import BlobStore

_WHOLE_SAMPLES = 8
_SHORT_BYTES = 1024
"""Of volumes in the middle only the very ends matter; a set of a thousand must fit into memory."""


async def prove_volumes(store: BlobStore, volumes: Sequence[Volume]) -> SetProof | None:
    """Return what the stored volumes prove; nothing for what is no archive."""
    stored = [(volume.number, volume.source) for volume in volumes]
    sources = [(number, source) for number, source in stored if source is not None]
    if not any(names_archive(source.file_name) for _, source in sources):
        return None
    samples: dict[int, VolumeSample] = {}
    for place, (number, source) in enumerate(sources):
        at_an_end = min(place, len(sources) - 1 - place) < _WHOLE_SAMPLES
        samples[number] = await _sample(store, source, SAMPLE_BYTES if at_an_end else _SHORT_BYTES)
    return prove_set(samples)


async def _sample(store: BlobStore, file: ItemFile, length: int) -> VolumeSample:
    size = file.size_bytes
    head = await _read(store, file.object_name, 0, min(length, size))
    tail = await _read(store, file.object_name, max(0, size - length), size)
    return VolumeSample(size, head, tail)


async def _read(store: BlobStore, name: str, start: int, end: int) -> bytes:
    return b"".join([chunk async for chunk in store.read(name, start=start, end=end)])
