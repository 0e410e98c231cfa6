"""Pictures and files to be sent."""

from __future__ import annotations

from datetime import timedelta

import pytest
from plans_bench import PlansBench

from headgate.domain.errors import UserError
from headgate.outflow.reminders.drafts import DraftPart
from headgate.outflow.reminders.media import MAX_MEDIA_BYTES, add_media
from headgate.storage.reminders import media
from headgate.storage.reminders.media import Media


async def add(plans: PlansBench, content: bytes = b"png", name: str = "a.png") -> Media:
    return await plans.do(lambda tx: add_media(tx, content, name=name, ids=plans.ids, now=plans.now))


async def test_equal_files_are_one_and_keep_their_content(plans: PlansBench) -> None:
    first, again, other = await add(plans), await add(plans), await add(plans, b"gnp")
    assert first.id == again.id != other.id
    (row,) = await plans.do(lambda tx: tx.raw("select content from media where id = $1", [first.id]))
    assert row["content"] == b"png"
    assert await plans.do(lambda tx: media.get_media(tx, first.id)) == first
    assert (first.name, first.size_bytes) == ("a.png", 3)


async def test_a_file_is_called_by_its_own_name_without_folders(plans: PlansBench) -> None:
    assert (await add(plans, name="C:\\pictures\\a.png")).name == "a.png"
    assert (await add(plans, name="/tmp/\x00")).name == "file"


async def test_files_that_are_empty_or_too_large_are_refused(plans: PlansBench) -> None:
    with pytest.raises(UserError, match="is empty"):
        await add(plans, b"")
    with pytest.raises(UserError, match="at most 50 MB"):
        await add(plans, bytes(MAX_MEDIA_BYTES + 1))


async def test_files_that_nobody_sends_are_deleted_after_their_time(plans: PlansBench) -> None:
    await add(plans, b"old")
    used = await add(plans, b"used")
    await plans.create("lake", parts=(DraftPart("", used.id),))
    renewed = await add(plans, b"renewed")
    plans.clock.advance(3600)
    assert (await add(plans, b"renewed")).id == renewed.id
    before = plans.now - timedelta(minutes=1)
    assert await plans.do(lambda tx: media.delete_unused(tx, before=before)) == 1
    assert await plans.values("select content from media order by id") == [b"used", b"renewed"]
