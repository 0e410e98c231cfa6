"""Volumes become sets, in whatever order and way they arrive, and a set is one item with one verdict."""

from __future__ import annotations

from random import Random
from uuid import UUID

import pytest
from missing import STREAM, Missing
from set_stage import DAY_S, ask, edit, files_of_items, get_item_id, library, post, set_min_size, take_in

from headgate.catalogue.sets import join_items, separate_files
from headgate.domain.errors import UserError
from headgate.intake.channels.judging import Judge
from headgate.storage.catalogue.sets import find_alias, note_evidence
from headgate.testing import file_of


class TestArrival:
    """Sets from pages, live events and days."""

    async def test_volumes_of_one_page_are_one_item(self, missing: Missing) -> None:
        await take_in(missing, *(post(missing, f"Big_Pack.part{n}.rar", 300 - n) for n in (1, 2, 3)))
        (item,) = await library(missing)
        assert (item["title"], item["kind"], item["size_bytes"]) == ("Big Pack", "package", 894)
        assert item["files"] == [f"Big_Pack.part{n}.rar" for n in (1, 2, 3)]
        assert (item["present"], item["total"], item["missing"]) == (3, None, [])

    async def test_a_set_is_shown_with_its_first_volume_and_names_the_missing_ones(
        self, missing: Missing
    ) -> None:
        await take_in(missing, post(missing, "pack.part4.rar"))
        (item,) = await library(missing)
        assert item["present"] == 1
        assert item["missing"] == [f"pack.part{n}.rar" for n in (1, 2, 3)]
        first = item["id"]
        await take_in(missing, post(missing, "pack.part2.rar"), post(missing, "pack.part1.rar"))
        (item,) = await library(missing)
        assert (item["id"], item["present"], item["missing"]) == (first, 3, ["pack.part3.rar"])

    async def test_nineteen_volumes_in_albums_of_ten_are_one_set(self, missing: Missing) -> None:
        messages = [
            post(missing, f"pack.part{n:02}.rar", 100 if n < 19 else 50, album=f"album-{n // 11}")
            for n in range(1, 20)
        ]
        for page in (messages[10:], messages[:10]):
            await take_in(missing, *reversed(page))
        (item,) = await library(missing)
        assert (item["present"], item["missing"]) == (19, [])
        albums = await ask(missing, "select album, count(*) as files from message group by 1 order by 1")
        assert [(row["album"], row["files"]) for row in albums] == [("album-0", 10), ("album-1", 9)]

    async def test_volumes_in_several_topics_of_a_forum_are_one_set(self, missing: Missing) -> None:
        for n, topic in ((1, "releases"), (2, "requests"), (3, "releases")):
            await take_in(missing, post(missing, f"pack.part{n}.rar", topic=topic))
        assert await files_of_items(missing) == [[f"pack.part{n}.rar" for n in (1, 2, 3)]]

    async def test_a_message_that_is_read_again_changes_nothing(self, missing: Missing) -> None:
        messages = [post(missing, f"pack.part{n}.rar") for n in (1, 2)]
        await take_in(missing, *messages)
        before = await ask(missing, "select xmin::text, * from sighting order by id")
        await take_in(missing, *messages)
        assert await ask(missing, "select xmin::text, * from sighting order by id") == before

    async def test_a_lone_archive_is_an_item_at_once_and_no_set(self, missing: Missing) -> None:
        await missing.accept(post(missing, "pack.zip"), post(missing, "other.rar"))
        assert [(row["title"], row["is_set"]) for row in await library(missing)] == [
            ("other", False),
            ("pack", False),
        ]
        assert await missing.work() == 0

    async def test_the_last_volume_of_a_zip_brings_its_item_into_the_set(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "pack.zip", 50))
        lone = await get_item_id(missing, "pack")
        await take_in(missing, post(missing, "pack.z01"), post(missing, "pack.z02"))
        (item,) = await library(missing)
        assert (item["id"], item["is_set"]) == (lone, True)
        assert item["files"] == ["pack.z01", "pack.z02", "pack.zip"]

    async def test_an_archive_that_comes_after_its_volumes_joins_them(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "pack.r00"), post(missing, "pack.r01", 60))
        await take_in(missing, post(missing, "pack.rar"))
        assert await files_of_items(missing) == [["pack.r00", "pack.r01", "pack.rar"]]

    async def test_namings_never_meet(self, missing: Missing) -> None:
        await take_in(
            missing, *(post(missing, name) for name in ("pack.rar", "pack.part1.rar", "pack.7z.001"))
        )
        assert await files_of_items(missing) == [["pack.7z.001"], ["pack.part1.rar"], ["pack.rar"]]

    async def test_two_authors_are_two_sets(self, missing: Missing) -> None:
        await take_in(
            missing,
            *(post(missing, f"pack.part{n}.rar", seed=who, author=who) for n in (1, 2) for who in "ab"),
        )
        assert await files_of_items(missing) == [["pack.part1.rar", "pack.part2.rar"]] * 2

    async def test_two_sets_of_one_name_months_apart_stay_two(self, missing: Missing) -> None:
        await take_in(missing, *(post(missing, f"pack.part{n}.rar") for n in (1, 2)))
        missing.clock.advance(60 * DAY_S)
        await take_in(missing, *(post(missing, f"pack.part{n}.rar", seed="new") for n in (1, 2)))
        assert await files_of_items(missing) == [["pack.part1.rar", "pack.part2.rar"]] * 2

    async def test_a_lone_001_is_a_file_until_a_second_comes(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "pack.001"))
        (item,) = await library(missing)
        assert not item["is_set"]
        await take_in(missing, post(missing, "pack.002", 50))
        (joined,) = await library(missing)
        assert (joined["id"], joined["is_set"]) == (item["id"], True)

    async def test_first_bytes_make_a_set_of_a_lone_001(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "pack.001"))
        (sighting,) = await ask(missing, "select id from sighting")
        async with missing.database.transaction() as tx:
            await note_evidence(tx, missing.channel_id, {sighting["id"]: "volume"}, now=missing.clock.now())
        await missing.work()
        (item,) = await library(missing)
        assert (item["is_set"], item["present"]) == (True, 1)

    @pytest.mark.sampled(every=3)
    @pytest.mark.parametrize("seed", range(6))
    async def test_the_order_of_arrival_does_not_matter(self, missing: Missing, seed: int) -> None:
        """Two sets of one name, an old rar, a zip that is whole, and two files of a `.001` pair."""
        names = [f"pack.part{n}.rar" for n in (1, 2, 3)] + ["old.r00", "old.r01", "old.rar", "whole.zip"]
        names += ["raw.001", "raw.002"]
        early = [post(missing, name, 90 if name.endswith("3.rar") else 100) for name in names]
        missing.clock.advance(60 * DAY_S)
        late = [post(missing, f"pack.part{n}.rar", seed="late") for n in (1, 2)]
        random = Random(seed)
        waiting = [*early, *late]
        random.shuffle(waiting)
        while waiting:
            page = [waiting.pop() for _ in range(min(len(waiting), random.randint(1, 4)))]
            again = random.sample([*early, *late], random.randint(0, 2))
            await missing.accept(*page, *again)
            if random.random() < 0.5:
                await missing.work()
        await missing.work()
        assert await files_of_items(missing) == [
            ["old.r00", "old.r01", "old.rar"],
            ["pack.part1.rar", "pack.part2.rar"],
            ["pack.part1.rar", "pack.part2.rar", "pack.part3.rar"],
            ["raw.001", "raw.002"],
            ["whole.zip"],
        ]
        assert all(not row["hidden"] for row in await library(missing))
        (stream,) = await ask(missing, "select message_count from stream")
        assert stream["message_count"] == len(early) + len(late)

    async def test_what_others_posted_by_the_content_of_one_volume_gets_its_own_item(
        self, missing: Missing
    ) -> None:
        """One content posted by two is one item, until one of them turns out to belong to a set."""
        await take_in(missing, post(missing, "pack.rar", author="a"), post(missing, "pack.rar", author="b"))
        assert len(await library(missing)) == 1
        await take_in(missing, post(missing, "pack.r00", author="a"))
        assert await files_of_items(missing) == [["pack.r00", "pack.rar"], ["pack.rar"]]


class TestChanges:
    """Edits, deletions and settings."""

    async def test_an_edit_that_renames_a_volume_takes_it_out_of_its_set(self, missing: Missing) -> None:
        messages = [post(missing, f"pack.part{n}.rar") for n in (1, 2)]
        await take_in(missing, *messages)
        await take_in(missing, edit(missing, messages[1], file_of("notes.pdf", b"x")))
        assert await files_of_items(missing) == [["notes.pdf"], ["pack.part1.rar"]]

    async def test_an_edit_moves_a_volume_to_another_set(self, missing: Missing) -> None:
        messages = [post(missing, f"pack.part{n}.rar") for n in (1, 2)]
        other = post(missing, "other.part1.rar")
        await take_in(missing, *messages, other)
        ids = await get_item_id(missing, "other"), await get_item_id(missing, "pack")
        renamed = file_of("other.part2.rar", b"pack.part2.rar".ljust(100, b"."))
        await take_in(missing, edit(missing, messages[1], renamed))
        assert await files_of_items(missing) == [["other.part1.rar", "other.part2.rar"], ["pack.part1.rar"]]
        assert ids == (await get_item_id(missing, "other"), await get_item_id(missing, "pack"))

    async def test_filters_judge_the_set_and_not_its_volumes(self, missing: Missing) -> None:
        """A volume of 100 bytes is too small; the set of three is not."""
        await set_min_size(missing, 250)
        await take_in(missing, post(missing, "pack.part1.rar"), post(missing, "pack.part2.rar"))
        assert await library(missing) == []
        await take_in(missing, post(missing, "pack.part3.rar"))
        (item,) = await library(missing)
        assert (item["hidden"], item["present"]) == (False, 3)
        verdicts = await ask(missing, "select distinct verdict from sighting")
        assert [row["verdict"] for row in verdicts] == ["kept"]
        (stream,) = await ask(missing, "select message_count from stream")
        assert stream["message_count"] == 3

    async def test_changed_settings_judge_sets_again(self, missing: Missing) -> None:
        missing.kinds.add(Judge(missing.rules, missing.clock, lambda _: ("everything",)).kind())
        await take_in(missing, *(post(missing, f"pack.part{n}.rar") for n in (1, 2, 3)))
        await set_min_size(missing, 301)
        await missing.work()
        (item,) = await library(missing)
        assert item["hidden"]
        await set_min_size(missing, 300)
        await missing.work()
        (item,) = await library(missing)
        assert not item["hidden"]
        (stream,) = await ask(missing, "select message_count from stream")
        assert stream["message_count"] == 3

    async def test_a_volume_that_was_deleted_unfetched_makes_its_set_impossible(
        self, missing: Missing
    ) -> None:
        messages = [post(missing, f"pack.part{n}.rar") for n in (1, 2)]
        await take_in(missing, *messages)
        missing.world.delete(STREAM, messages[0].key)
        await ask(
            missing,
            "insert into recheck (channel_id, message_key, reason, due_at, asked_at)"
            " values ($1, $2, 'edited', $3, $3)",
            missing.channel_id,
            messages[0].key,
            missing.clock.now(),
        )
        await missing.work()
        (item,) = await library(missing)
        assert (item["state"], item["reason"], item["problem"]) == ("impossible", "vanished", True)


class TestChoices:
    """A person's joins and separations hold."""

    async def test_joined_items_are_one_set_and_old_addresses_lead_there(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "pack.part1.rar"), post(missing, "pakc.part2.rar"))
        first, second = await get_item_id(missing, "pack"), await get_item_id(missing, "pakc")
        await self._join(missing, first, second)
        (item,) = await library(missing)
        assert (item["id"], item["files"]) == (first, ["pack.part1.rar", "pakc.part2.rar"])
        async with missing.database.transaction() as tx:
            assert await find_alias(tx, second) == first

    async def test_later_volumes_join_what_a_person_joined(self, missing: Missing) -> None:
        messages = [post(missing, "pack.part1.rar")]
        missing.clock.advance(60 * DAY_S)
        messages.append(post(missing, "pakc.part2.rar"))
        await take_in(missing, *messages)
        await self._join(missing, await get_item_id(missing, "pack"), await get_item_id(missing, "pakc"))
        await take_in(missing, post(missing, "pack.part3.rar"), *messages)
        assert await files_of_items(missing) == [["pack.part1.rar", "pack.part3.rar", "pakc.part2.rar"]]

    async def test_separated_files_stay_single(self, missing: Missing) -> None:
        messages = [post(missing, f"pack.part{n}.rar") for n in (1, 2, 3)]
        await take_in(missing, *messages)
        (row,) = await ask(missing, "select id from sighting where file_name = 'pack.part2.rar'")
        async with missing.database.transaction() as tx:
            item_id = await get_item_id(missing, "pack")
            assert await separate_files(tx, item_id, [row["id"]], now=missing.clock.now()) == 1
        await missing.work()
        expected = [["pack.part1.rar", "pack.part3.rar"], ["pack.part2.rar"]]
        assert await files_of_items(missing) == expected
        await take_in(missing, *messages)
        assert await files_of_items(missing) == expected

    async def test_what_cannot_be_joined_is_refused(self, missing: Missing) -> None:
        await take_in(missing, post(missing, "pack.part1.rar"), post(missing, "notes.pdf"))
        first, notes = await get_item_id(missing, "pack"), await get_item_id(missing, "notes")
        for ids, words in [([first], "two items"), ([first, notes], "volume's name")]:
            with pytest.raises(UserError, match=words):
                async with missing.database.transaction() as tx:
                    await join_items(tx, ids, now=missing.clock.now())

    async def test_what_one_archive_cannot_have_is_not_joined(self, missing: Missing) -> None:
        names = ["pack.part1.rar", "pakc.part1.rar", "other.z01"]
        await take_in(missing, *(post(missing, name) for name in names))
        ids = {title: await get_item_id(missing, title) for title in ("pack", "pakc", "other")}
        for other, words in [("pakc", "both volume 1"), ("other", "different schemes")]:
            with pytest.raises(UserError, match=words) as refused:
                await self._join(missing, ids["pack"], ids[other])
            assert refused.value.field == "items"
        assert await files_of_items(missing) == [["other.z01"], ["pack.part1.rar"], ["pakc.part1.rar"]]

    async def test_a_repost_replaces_a_volume_that_vanished(self, missing: Missing) -> None:
        messages = [post(missing, "pack.part1.rar"), post(missing, "pack.part2.rar")]
        await take_in(missing, *messages, post(missing, "repost.part2.rar"))
        await ask(
            missing,
            "update sighting set deleted_at = $1 where file_name = 'pack.part2.rar'",
            missing.clock.now(),
        )
        await self._join(missing, await get_item_id(missing, "pack"), await get_item_id(missing, "repost"))
        (item,) = await library(missing)
        assert item["files"] == ["pack.part1.rar", "pack.part2.rar", "repost.part2.rar"]
        assert (item["present"], item["state"]) == (2, "waiting")

    async def _join(self, missing: Missing, *item_ids: UUID) -> None:
        async with missing.database.transaction() as tx:
            await join_items(tx, item_ids, now=missing.clock.now())
        await missing.work()
