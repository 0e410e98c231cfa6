"""What is wrong with an archive, in plain words."""

from __future__ import annotations

from headgate.domain.library.archive_sets.volume_headers import ProofReason
from headgate.domain.library.contents import Problem

PROBLEMS: dict[Problem, str] = {
    "not_an_archive": "this is not an archive that Headgate can read",
    "encrypted": "the files inside are protected by a password",
    "encrypted_names": "a password is needed to see what is inside",
    "damaged": "the archive is damaged",
    "truncated": "the archive ends too early",
    "missing_volumes": "volumes are missing",
    "unsupported": "the archive uses a method that Headgate cannot read",
    "unsafe_names": "names inside point outside the archive; they are shown escaped and never followed",
    "overlapping_entries": "files inside share the same bytes, as in a decompression bomb",
    "suspicious_ratio": "it unpacks to far more than its size, as a decompression bomb does",
    "too_many_entries": "there is more inside than the list shows",
    "names_too_long": "some names inside are too long and are shown cut",
    "too_big": "it unpacks to more than the limit",
    "out_of_memory": "reading the archive takes too much memory",
    "took_too_long": "reading the archive takes too long",
    "crashed": "the archive makes its reader crash",
    "no_such_entry": "there is no such file inside",
    "not_a_file": "this is a folder or a link, not a file",
    "no_unpacker": "no program that unpacks RAR is installed on the server (unar, unrar or 7-Zip)",
    "disk_full": "there is no room left on the disk",
}
"""What is wrong with an archive or with extracting from it."""


def problem_text(problem: str) -> str:
    """Say what is wrong; an unknown problem says itself."""
    return {**PROBLEMS}.get(problem, problem.replace("_", " "))


PROOFS: dict[ProofReason, str] = {
    "all_bytes_there": "the volumes add up to the size that the first or last one names",
    "bytes_missing": "the volumes are smaller than the size that the first or last one names",
    "last_volume_there": "the last volume says that it is the last, and all before it are there",
    "next_volume_missing": "the newest volume says that another one follows",
    "volumes_missing": "the last volume says that there are more",
    "wrong_order": "the volumes contradict each other; some may belong to another archive",
    "not_a_volume": "one of the files is an archive of its own, not a volume",
    "nothing_proven": "the volumes do not say how many there are",
}
"""Why a set of volumes counts as complete or not."""
