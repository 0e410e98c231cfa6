"""The tasks of the sandbox that read archives; only the subprocess imports this module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from headgate.domain.library.contents import ContentLimits, ExtractionLimits
from headgate.ingest.contents.extracting import extract_volumes
from headgate.ingest.contents.listing import list_volumes
from headgate.ingest.sandbox.tasks import Answer, Parameters, Paths, sandboxed
from headgate.ingest.sandbox.worker import send_chunk


@sandboxed
def list_archive(paths: Paths, parameters: Parameters) -> Answer:
    """List an archive; `missing` are the places of volumes that are not there."""
    volumes = _with_holes(paths, parameters["missing"])
    limits = ContentLimits(**parameters["limits"])
    return Answer(list_volumes(volumes, name=parameters["name"], limits=limits).document())


@sandboxed
def extract_entry(paths: Paths, parameters: Parameters) -> Answer:
    """Extract one entry to the path `output`, or in chunks."""
    volumes = _with_holes(paths, parameters["missing"])
    limits = ExtractionLimits(**parameters["limits"])
    unpacker = Path(parameters["unpacker"]) if parameters["unpacker"] else None
    number: int = parameters["number"]
    if output := parameters["output"]:
        with Path(output).open("wb") as file:
            done = extract_volumes(volumes, number=number, write=file.write, limits=limits, unpacker=unpacker)
    else:
        done = extract_volumes(volumes, number=number, write=send_chunk, limits=limits, unpacker=unpacker)
    return Answer(asdict(done))


def _with_holes(paths: Paths, missing: Sequence[int]) -> list[Path | None]:
    left = iter(paths)
    return [None if place in missing else next(left) for place in range(len(paths) + len(missing))]
