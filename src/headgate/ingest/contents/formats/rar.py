"""RAR: files over all volumes, and whether the volumes are all there and in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from headgate.ingest.contents.collecting import (
    DIRECTORY,
    ENCRYPTED,
    LINK,
    Collector,
    DamagedArchive,
    NamesEncrypted,
    Truncation,
)
from headgate.ingest.contents.formats import rar4, rar5
from headgate.ingest.contents.formats.rar_blocks import RarBlock, RarFile
from headgate.ingest.contents.joined import JoinedVolumes

MAX_SFX_BYTES = 2 * 2**20


@dataclass
class WholeFile:
    """A file over all its volumes."""

    header: RarFile
    spans: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Where its packed bytes are in the joined volumes: start and length."""
    is_whole: bool = True

    def goes_on_with(self, header: RarFile) -> bool:
        return header.split_before and header.name == self.header.name

    @property
    def packed(self) -> int:
        return sum(length for _, length in self.spans)


def list_rar(volumes: JoinedVolumes, collector: Collector) -> None:
    """Collect the files of all volumes that are there."""
    try:
        for file in read_files(volumes, collector):
            header = file.header
            collector.add(
                header.name,
                size=header.size,
                packed=file.packed,
                modified_s=header.modified_s,
                crc32=header.crc32,
                flags=(DIRECTORY if header.is_directory else 0)
                | (ENCRYPTED if header.is_encrypted else 0)
                | (LINK if header.is_link else 0),
            )
    except Truncation as error:
        # Each volume has an end of its own, so this is not a volume that is missing.
        collector.report("truncated", error)
    finally:
        collector.judge_sizes(volumes.size)


def read_files(volumes: JoinedVolumes, collector: Collector) -> Iterator[WholeFile]:
    """Go through the files in their order, each once, however many volumes it is in."""
    pending: WholeFile | None = None
    for volume in range(volumes.count):
        if not volumes.has(volume):
            collector.report("missing_volumes", f"volume {volume + 1} is missing")
            if pending:
                pending.is_whole = False
            continue
        for header, span in _read_headers(volumes, volume, collector):
            if pending and not pending.goes_on_with(header):
                yield _broken(pending, collector, "a file goes on in a volume that is missing")
                pending = None
            if pending:
                pending.spans.append(span)
                # The last header of a file has the CRC of all of it.
                pending.header = header
            else:
                pending = WholeFile(header, [span])
                if header.split_before:
                    _broken(pending, collector, "a file begins in a volume that is missing")
            if not header.split_after:
                yield pending
                pending = None
    if pending:
        yield _broken(pending, collector, "a file goes on in a volume that is missing")


def _broken(file: WholeFile, collector: Collector, reason: str) -> WholeFile:
    file.is_whole = False
    collector.report("missing_volumes", reason)
    return file


def _read_headers(
    volumes: JoinedVolumes, volume: int, collector: Collector
) -> Iterator[tuple[RarFile, tuple[int, int]]]:
    """Go through the files of one volume, each with where its packed bytes are."""
    for block in _read_volume(volumes, volume, collector):
        if block.file is not None:
            yield block.file, (block.header_end, block.data_size)


def _read_volume(volumes: JoinedVolumes, volume: int, collector: Collector) -> Iterator[RarBlock]:
    """Go through the blocks of one volume, and judge its number and its end."""
    start, limit = volumes.starts[volume], volumes.starts[volume + 1]
    at, is_rar5 = _find_signature(volumes, start)
    collector.format = "rar5" if is_rar5 else "rar4"
    is_volume = False
    while True:
        if is_rar5 and at >= limit:
            raise Truncation("a volume ends without its end")
        block = rar5.read_block(volumes, at, limit) if is_rar5 else _read_old_block(volumes, at, limit)
        if block is None:
            _judge_end(volumes, volume, collector, has_next=None)
            return
        if block.names_encrypted:
            raise NamesEncrypted
        if block.kind == "main":
            is_volume = block.is_volume
            collector.is_solid = collector.is_solid or block.is_solid
            _judge_number(block, volume, collector)
        if block.kind == "end":
            _judge_number(block, volume, collector)
            _judge_end(volumes, volume, collector, has_next=block.has_next and is_volume)
            return
        yield block
        if block.next_at > limit or block.next_at <= at:
            raise Truncation("a file ends after its volume")
        at = block.next_at


def _read_old_block(volumes: JoinedVolumes, at: int, limit: int) -> RarBlock | None:
    return None if at >= limit else rar4.read_block(volumes, at)


def _find_signature(volumes: JoinedVolumes, start: int) -> tuple[int, bool]:
    """Find where the archive begins; a program that unpacks it may come first."""
    head = volumes.read_at(start, 8)
    if not head.startswith(rar4.SIGNATURE[:6]):
        head = volumes.read_at(start, MAX_SFX_BYTES)
    found = head.find(rar4.SIGNATURE[:6])
    for signature, is_rar5 in ((rar5.SIGNATURE, True), (rar4.SIGNATURE, False)):
        if found >= 0 and head.startswith(signature, found):
            return start + found + len(signature), is_rar5
    raise DamagedArchive("a volume does not begin like RAR")


def _judge_number(block: RarBlock, volume: int, collector: Collector) -> None:
    if (
        block.volume_number is not None
        and block.volume_number != volume
        and (block.kind == "end" or block.is_volume)
    ):
        collector.report("missing_volumes", f"volume {block.volume_number + 1} stands in place {volume + 1}")


def _judge_end(volumes: JoinedVolumes, volume: int, collector: Collector, *, has_next: bool | None) -> None:
    is_last = volume == volumes.count - 1
    if is_last and has_next:
        collector.report("missing_volumes", f"there is a volume after {volume + 1}")
    if not is_last and has_next is False:
        collector.report("damaged", f"volume {volume + 1} says that it is the last")
