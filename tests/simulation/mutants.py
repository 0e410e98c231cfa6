"""Faults that a product like ours could have, one at a time: the judgement must see each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from headgate.domain.library.archive_sets import volumes
from headgate.domain.streams.messages import LiveEvent, Span
from headgate.ingest.groups import rule_sweeps
from headgate.intake.channels import judging, requests, rules
from headgate.intake.streams import accept, live, misses
from headgate.storage.blobs import disk
from headgate.storage.blobs.store import Upload
from headgate.storage.database import Tx
from headgate.storage.shelf import touched

Mutant = Callable[[pytest.MonkeyPatch], None]


def proof_survives_a_reconnect(patch: pytest.MonkeyPatch) -> None:
    """The first event of a connection proves everything since the last one of the connection before."""
    original, heard = live.LiveIntake.take, dict[tuple[str, str], int]()

    def mutated(self: Any, event: LiveEvent) -> None:
        place = (self.database.url, event.stream)
        if event.kind == "message" and event.message is not None:
            position = event.message.position
            if event.proven is None and place in heard and heard[place] < position:
                event = replace(event, proven=Span(heard[place], position + 1))
            heard[place] = position
        original(self, event)

    patch.setattr(live.LiveIntake, "take", mutated)


def misses_are_never_retried(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(misses.MissRetries, "retry", _nothing)


def unreadable_messages_are_passed_over(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(accept.misses, "note_unreadable", _nothing)


def rules_are_never_renewed(patch: pytest.MonkeyPatch) -> None:
    async def same(_tx: Tx) -> int:
        return 1

    patch.setattr(rules, "hold_settings", same)


def nothing_is_judged_again(patch: pytest.MonkeyPatch) -> None:
    async def none(*_: Any, **__: Any) -> list[Any]:
        return []

    patch.setattr(judging.judging, "list_stale", none)


def rejected_items_stay_shown(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(judging.judging, "show_items_of", _nothing)


def kept_messages_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(judging.sightings, "shift_message_count", _nothing)


def switches_are_ignored(patch: pytest.MonkeyPatch) -> None:
    original: Any = rules.build_rules

    def always_on(*given: Any, **named: Any) -> Any:
        return original(*given, **named | {"enabled": True})

    patch.setattr(rules, "build_rules", always_on)
    patch.setattr(requests.requests, "cancel_scans", _zero)
    patch.setattr(requests.requests, "hold_streams", _nothing)


def objects_lose_their_end(patch: pytest.MonkeyPatch) -> None:
    """The row of a file says that it is whole, and the last byte is not there."""
    original: Any = disk.DiskStore.put

    async def mutated(self: disk.DiskStore, uploads: Sequence[Upload]) -> dict[str, Exception]:
        failed = await original(self, uploads)
        for upload in uploads:
            path = self.folder / upload.object_name
            if path.is_file() and (content := path.read_bytes()):
                path.unlink()  # The spool shares the file, and stays as it is.
                path.write_bytes(content[:-1])
        return failed

    patch.setattr(disk.DiskStore, "put", mutated)


def rows_of_the_library_are_not_written(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(touched.Touched, "finish", _nothing)


def only_one_naming_is_read(patch: pytest.MonkeyPatch) -> None:
    """Volumes other than `.partN.rar` stay files of their own."""
    suffixes = getattr(volumes, "_SUFFIXES")  # noqa: B009 - it has no public name
    patch.setattr(volumes, "_SUFFIXES", suffixes[:1])


def rules_leave_what_was_there(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rule_sweeps, "_apply", _nothing)


async def _nothing(*_: Any, **__: Any) -> None: ...


async def _zero(*_: Any, **__: Any) -> int:
    return 0


CAUGHT_BY: dict[Mutant, int] = {
    proof_survives_a_reconnect: 11,
    misses_are_never_retried: 0,
    unreadable_messages_are_passed_over: 0,
    rules_are_never_renewed: 4,
    nothing_is_judged_again: 2,
    rejected_items_stay_shown: 2,
    kept_messages_are_not_counted: 2,
    switches_are_ignored: 1,
    rows_of_the_library_are_not_written: 0,
    objects_lose_their_end: 0,
    only_one_naming_is_read: 0,
    rules_leave_what_was_there: 1,
}
"""Each mutant, and the seed of a play that is known to catch it."""
