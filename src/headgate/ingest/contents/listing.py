"""Lists an archive in the subprocess: whatever is wrong with it becomes a problem of the listing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headgate.domain.library.contents import ContentLimits
from headgate.ingest.contents.collecting import (
    Collector,
    Full,
    NamesEncrypted,
    Truncation,
    Unsupported,
)
from headgate.ingest.contents.formats.compressed import list_compressed
from headgate.ingest.contents.formats.rar import list_rar
from headgate.ingest.contents.formats.seven_zip import list_7z
from headgate.ingest.contents.formats.zip import list_zip
from headgate.ingest.contents.joined import JoinedVolumes, MissingVolume
from headgate.ingest.contents.recognising import recognise


def list_volumes(paths: Sequence[Path | None], *, name: str, limits: ContentLimits) -> Collector:
    """List the volumes of one archive; `None` stands for one that is missing."""
    collector = Collector(limits)
    with JoinedVolumes(paths) as volumes:
        try:
            _read(volumes, collector, name)
        except Full:
            pass
        except MissingVolume as error:
            collector.report("missing_volumes", error)
        except NamesEncrypted:
            collector.report("encrypted_names")
        except Unsupported as error:
            collector.report("unsupported", error)
        except (Truncation, EOFError) as error:
            # A raw split whose last volume is missing just ends.
            collector.report("truncated" if volumes.count == 1 else "missing_volumes", error)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - readers of hostile bytes raise anything
            collector.report("damaged", f"{type(error).__name__}: {error}")
        if not volumes.is_gapless:
            collector.report("missing_volumes")
    return collector


def _read(volumes: JoinedVolumes, collector: Collector, name: str) -> None:
    collector.format = recognise(volumes)
    match collector.format:
        case None:
            collector.report("not_an_archive" if volumes.is_gapless else "missing_volumes")
        case "zip":
            list_zip(volumes, collector)
        case "7z":
            list_7z(volumes, collector)
        case "rar4" | "rar5":
            list_rar(volumes, collector)
        case _:
            list_compressed(volumes, collector, name=name)
