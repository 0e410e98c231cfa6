"""Asks the headers of stored volumes how many there are, and whether a file alone is a volume at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from headgate.domain.library.archive_sets.volume_headers import (
    SAMPLE_BYTES,
    SetProof,
    VolumeSample,
    prove_set,
    read_volume,
)
from headgate.domain.library.archive_sets.volumes import Evidence, read_volume_name
from headgate.domain.library.inspections import ItemFile, VolumeFiles, names_archive
from headgate.storage.blobs.store import BlobStore

_WHOLE_SAMPLES = 8
_SHORT_BYTES = 1024
"""Of volumes in the middle only the very ends matter; a set of a thousand must fit into memory."""


@dataclass(frozen=True)
class Proof:
    """What the headers of stored volumes say."""

    of_set: SetProof | None = None
    """Nothing for what is no archive."""
    evidence: Mapping[UUID, Evidence] = field(default_factory=dict[UUID, Evidence])
    """Of a file whose name does not say whether it is a volume, by its sighting."""

    @property
    def total(self) -> int | None:
        """How many volumes there are, if that is certain."""
        told = self.of_set
        return told.total_volumes if told and told.state != "contradictory" else None


async def prove_volumes(store: BlobStore, volumes: Sequence[VolumeFiles]) -> Proof:
    """Return what the stored volumes prove."""
    stored = [(volume.number, volume.source) for volume in volumes]
    sources = [(number, source) for number, source in stored if source is not None]
    if not any(names_archive(source.file_name) for _, source in sources):
        return Proof()
    samples: dict[int, VolumeSample] = {}
    for place, (number, source) in enumerate(sources):
        at_an_end = min(place, len(sources) - 1 - place) < _WHOLE_SAMPLES
        samples[number] = await _sample(store, source, SAMPLE_BYTES if at_an_end else _SHORT_BYTES)
    return Proof(prove_set(samples), _judge_alone(volumes, sources, samples))


def _judge_alone(
    volumes: Sequence[VolumeFiles],
    sources: Sequence[tuple[int, ItemFile]],
    samples: Mapping[int, VolumeSample],
) -> dict[UUID, Evidence]:
    """Return what a single file says of itself, if its name leaves it open."""
    ((number, file),) = sources[:1]
    name = read_volume_name(file.file_name)
    if len(volumes) > 1 or name is None or not name.ambiguous:
        return {}
    role = read_volume(samples[number]).role
    return {} if role == "unknown" else {file.sighting_id: "whole" if role == "alone" else "volume"}


async def _sample(store: BlobStore, file: ItemFile, length: int) -> VolumeSample:
    size = file.size_bytes
    head = await _read(store, file.object_name, 0, min(length, size))
    tail = await _read(store, file.object_name, max(0, size - length), size)
    return VolumeSample(size, head, tail)


async def _read(store: BlobStore, name: str, start: int, end: int) -> bytes:
    return b"".join([chunk async for chunk in store.read(name, start=start, end=end)])
