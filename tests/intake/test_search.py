"""Search finds what is shown by its words, shows what matched, and forgives typing errors."""

from __future__ import annotations

from dataclasses import replace

import pytest
from missing import Missing
from search_bench import SearchBench

from headgate.catalogue.files import remove_items
from headgate.catalogue.labels import LabelChange, change_labels
from headgate.catalogue.search import indexing, searching
from headgate.catalogue.search.matches import Match
from headgate.catalogue.search.places import read_place
from headgate.domain.errors import UserError
from headgate.domain.library.facets import FacetKind, facet_number
from headgate.domain.library.shelf_filters import ShelfFilters, parse_view
from headgate.intake.channels.requests import remove_channel
from headgate.storage.labels.queue import note_unlabelled
from headgate.storage.library.removals import forget_words
from headgate.storage.shelf.touched import touch_groups, touch_items


@pytest.fixture
def bench(missing: Missing) -> SearchBench:
    return SearchBench(missing)


class TestFields:
    """Each field is found and named."""

    async def test_a_name_is_found_by_beginnings_of_its_words_in_any_order(self, bench: SearchBench) -> None:
        await bench.post("DungeonKnight_v2.zip")
        await bench.post("Castle.zip")
        for typed in ("knight", "kni", "DUNG kni", "dungeonkn", "knight 2", "dùngeon"):
            assert await bench.names(typed) == ["DungeonKnight v2"], typed
        assert await bench.names("knight castle") == []

    async def test_captions_creators_and_tags_are_found_and_named(self, bench: SearchBench) -> None:
        await bench.post("one.zip", "Creator: Tidewater\nFresh from the river #otters")
        for typed, field in (
            ("river", "caption"),
            ("tidewater", "creator"),
            ("otters", "tag"),
            ("one", "name"),
        ):
            (hit,) = (await bench.search(typed)).hits
            assert [match.field for match in hit.matches] == [field]
        (hit,) = (await bench.search("one river")).hits
        assert hit.matches == (
            Match("name", "one", ("one",)),
            Match("caption", "Fresh from the river #otters", ("river",)),
        )

    async def test_files_inside_archives_are_found_and_shown(self, bench: SearchBench) -> None:
        await bench.post("pack.zip")
        await bench.look_inside(
            "pack", ["models/", "models/castle.stl", "models/Knight_base.stl", "ünit/érable.obj"]
        )
        for typed, path in (("knight base", "models/Knight_base.stl"), ("erable", "ünit/érable.obj")):
            (hit,) = (await bench.search(typed)).hits
            assert (hit.rank, [(match.field, match.text) for match in hit.matches]) == (0, [("inside", path)])

    async def test_matches_in_names_come_before_others_and_whole_words_before_beginnings(
        self, bench: SearchBench
    ) -> None:
        await bench.post("knight.zip")
        await bench.post("knightly.zip")
        await bench.post("other.zip", "a knight")
        page = await bench.search("knight")
        assert [(hit.name, hit.rank) for hit in page.hits] == [("knight", 2), ("knightly", 1), ("other", 0)]
        assert (page.found, page.searched_back_to, page.following) == (3, None, None)

    async def test_newer_things_come_first(self, bench: SearchBench) -> None:
        for name in ("knight a.zip", "knight b.zip", "knight c.zip"):
            await bench.post(name)
        assert await bench.names("knight") == ["knight c", "knight b", "knight a"]

    @pytest.mark.parametrize("typed", ["'", "kni'ght | !", "knight:* & (", "\\", "a\x00b", "<->"])
    async def test_signs_of_the_query_language_are_only_separators(
        self, bench: SearchBench, typed: str
    ) -> None:
        await bench.post("kni ght.zip")
        try:
            found = await bench.names(typed)
        except UserError:
            found = []
        assert found in ([], ["kni ght"])


class TestTypingErrors:
    """Names, creators and tags are found although a word is misspelt."""

    async def test_a_misspelt_word_finds_the_nearest_one_and_says_so(self, bench: SearchBench) -> None:
        await bench.post("Knight.zip", "Creator: Northwind\n#statuette")
        for typed, meant in (("knihgt", "knight"), ("nortwind", "northwind"), ("statutete", "statuette")):
            page = await bench.search(typed)
            assert ([hit.name for hit in page.hits], page.meant) == (["Knight"], {typed: (meant,)})

    async def test_a_right_word_beside_a_misspelt_one_must_still_be_found(self, bench: SearchBench) -> None:
        await bench.post("Knight castle.zip")
        await bench.post("Knight.zip")
        assert await bench.names("knihgt castle") == ["Knight castle"]

    async def test_a_word_that_is_found_is_taken_at_its_word(self, bench: SearchBench) -> None:
        await bench.post("Knights.zip")
        await bench.post("Nights.zip")
        page = await bench.search("nights")
        assert ([hit.name for hit in page.hits], page.meant) == (["Nights"], {})

    async def test_a_word_of_a_caption_is_not_taken_for_a_misspelt_name(self, bench: SearchBench) -> None:
        await bench.post("Knights.zip")
        await bench.post("Other.zip", "arabian nights")
        page = await bench.search("nights")
        assert ([hit.name for hit in page.hits], page.meant) == (["Other"], {})

    async def test_short_words_and_numbers_are_not_guessed(self, bench: SearchBench) -> None:
        await bench.post("Cat 1234.zip")
        assert await bench.names("cta") == []
        assert await bench.names("1243") == []

    async def test_a_word_that_nothing_has_any_more_is_not_suggested(self, bench: SearchBench) -> None:
        await bench.post("Unicorn.zip")
        await bench.post("Knight.zip")
        await bench.run("hide", title="Unicorn", hidden=True)
        await bench.note(await bench.item_id("Unicorn"))
        assert await bench.column("words") == ["knight"]

    async def test_a_word_that_another_thing_has_stays_known(self, bench: SearchBench) -> None:
        await bench.post("Knight a.zip")
        await bench.post("Other.zip", "a knight in the caption only")
        await bench.run("hide", title="Knight a", hidden=True)
        await bench.note(await bench.item_id("Knight a"))
        assert "knight" in await bench.column("words")


class TestVisibility:
    """What is not shown is not found, at once, and leaves the index."""

    async def test_a_hidden_item_is_not_found_even_before_it_is_indexed(self, bench: SearchBench) -> None:
        await bench.post("knight.zip")
        await bench.run("hide", title="knight", hidden=True)
        assert await bench.names("knight") == []
        await bench.note(await bench.item_id("knight"))
        assert await bench.column("documents") == []

    async def test_an_item_that_is_shown_again_is_found_again(self, bench: SearchBench) -> None:
        await bench.post("knight.zip")
        for hidden, found in ((True, []), (False, ["knight"])):
            await bench.run("hide", title="knight", hidden=hidden)
            async with bench.missing.database.transaction() as tx:
                touch_items(tx, [await bench.item_id("knight")])
            await bench.missing.work()
            assert await bench.names("knight") == found

    async def test_what_is_removed_for_ever_leaves_the_index(self, bench: SearchBench) -> None:
        await bench.post("knight.zip", "with a caption")
        async with bench.missing.database.transaction() as tx:
            await remove_items(tx, [await bench.item_id("knight")], now=bench.missing.clock.now())
        assert await bench.names("knight") == []
        await bench.missing.work()
        assert await bench.column("documents") == await bench.column("words") == []

    async def test_a_removed_channel_leaves_nothing_in_the_index(self, bench: SearchBench) -> None:
        await bench.take_in(
            bench.message("a.zip", "album words", album="x"), bench.message("b.zip", album="x")
        )
        assert len(await bench.column("documents")) == 3
        async with bench.missing.database.transaction() as tx:
            await remove_channel(tx, bench.missing.channel_id, now=bench.missing.clock.now())
        assert await bench.names("album") == []
        await bench.missing.work()
        assert await bench.column("words") == []
        assert await bench.differences() == []

    async def test_forgotten_words_are_not_found_any_more(self, bench: SearchBench) -> None:
        message = bench.message("one.zip", "secret words")
        await bench.take_in(message)
        assert await bench.names("secret") == ["one"]
        async with bench.missing.database.transaction() as tx:
            await forget_words(tx, bench.missing.channel_id, [message.key])
        await bench.missing.work()
        assert await bench.names("secret") == []
        assert await bench.differences() == []

    async def test_an_edited_caption_replaces_the_old_one(self, bench: SearchBench) -> None:
        message = bench.message("one.zip", "old words")
        await bench.take_in(message)
        bench.missing.clock.advance(5)
        await bench.take_in(replace(message, text="new words", edited_at=bench.missing.clock.now()))
        assert (await bench.names("old"), await bench.names("new")) == ([], ["one"])

    async def test_a_post_whose_text_changed_is_indexed_after_it_is_labelled(
        self, bench: SearchBench
    ) -> None:
        message = bench.message("one.zip", "old words")
        await bench.take_in(message)
        async with bench.missing.database.transaction() as tx:
            await tx.raw("update message set text = 'new words'")
            await note_unlabelled(tx, bench.missing.channel_id, message_keys=[message.key])
        await bench.missing.work()
        assert (await bench.names("old"), await bench.names("new")) == ([], ["one"])

    async def test_a_persons_tags_are_found(self, bench: SearchBench) -> None:
        await bench.post("one.zip")
        change = LabelChange(add=("Griffon",))
        async with bench.missing.database.transaction() as tx:
            await change_labels(tx, [await bench.item_id("one")], change, now=bench.missing.clock.now())
        await bench.missing.work()
        assert await bench.names("griffon") == ["one"]


class TestRows:
    """A hit is a row of the library, once."""

    async def test_a_group_is_found_once_by_members_and_by_its_name(self, bench: SearchBench) -> None:
        first = bench.message("knight a.zip", "Colossal dungeon", album="x")
        await bench.take_in(first, bench.message("knight b.zip", album="x"))
        (by_member,) = (await bench.search("knight")).hits
        (group_id,) = await bench.column("group_id", title="knight a")
        assert (by_member.name, by_member.shelf_id, by_member.group_id) == (
            "Colossal dungeon",
            group_id,
            group_id,
        )
        assert by_member.matches[0].text in {"knight a", "knight b"}
        (by_name,) = (await bench.search("colossal")).hits
        assert (by_name.item_id, by_name.matches) == (
            None,
            (Match("group", "Colossal dungeon", ("colossal",)),),
        )

    async def test_a_dissolved_group_is_not_found_by_its_name(self, bench: SearchBench) -> None:
        first = bench.message("knight a.zip", album="x", text="Colossal")
        await bench.take_in(first, bench.message("knight b.zip", album="x"))
        (group_id,) = await bench.column("group_id", title="knight a")
        async with bench.missing.database.transaction() as tx:
            await tx.raw("update item set group_id = null, grouped_by = '' where group_id = $1", [group_id])
            await tx.raw("update item_group set dissolved_at = created_at where id = $1", [group_id])
            touch_groups(tx, [group_id])
        await bench.missing.work()
        assert group_id not in await bench.column("documents")

    async def test_copies_are_one_hit(self, bench: SearchBench) -> None:
        await bench.post("knight a.zip")
        await bench.post("knight b.zip")
        await bench.run("give_content", titles=["knight a", "knight b"])
        async with bench.missing.database.transaction() as tx:
            await tx.raw(
                "update shelf set content_hash = $1, member_count = 2 where name = 'knight a'", [b"\x01"]
            )
            await tx.raw("delete from shelf where name = 'knight b'")
        assert await bench.names("knight") == ["knight a"]


class TestFilters:
    """Filters apply inside each slice, to the item that matches."""

    async def test_filters_of_the_library_apply(self, bench: SearchBench) -> None:
        await bench.post("knight.zip", "#otters", size=100)
        await bench.post("knight large.rar", "#owls", size=5000)
        for query, found in (
            ("tag=otters", ["knight"]),
            ("tag=owls&type=rar", ["knight large"]),
            ("tag=owls&tag=otters", []),
            ("type=zip&type=rar", ["knight large", "knight"]),
            ("kind=clip", []),
            ("min_size=1kB", ["knight large"]),
            ("max_size=1kB", ["knight"]),
            ("to=2026-02-01", []),
            ("from=2026-02-01&to=2026-03-01", ["knight large", "knight"]),
            ("state=stored", []),
            ("state=waiting", ["knight large", "knight"]),
            ("ungrouped=1", ["knight large", "knight"]),
            ("problems=1", []),
            (f"channel={bench.missing.channel_id}", ["knight large", "knight"]),
            (f"channel={bench.missing.ids.new()}", []),
        ):
            filters = parse_view(query).filters
            assert sorted(await bench.names("knight", filters=filters)) == sorted(found), query

    async def test_a_group_found_by_its_name_has_a_member_that_matches_all_filters(
        self, bench: SearchBench
    ) -> None:
        first = bench.message("a.zip", "Colossal #otters", album="x")
        await bench.take_in(first, bench.message("b.rar", album="x"))
        async with bench.missing.database.transaction() as tx:
            change = LabelChange(add=("owls",))
            await change_labels(tx, [await bench.item_id("b")], change, now=bench.missing.clock.now())
        await bench.missing.work()
        for tags, of_type, found in ((("otters",), "zip", 1), (("owls",), "rar", 1), (("owls",), "zip", 0)):
            filters = ShelfFilters(tags=tags, types=(of_type,))
            assert len((await bench.search("colossal", filters=filters)).hits) == found

    async def test_numbers_of_facets_are_those_of_the_database(self, bench: SearchBench) -> None:
        async with bench.missing.database.transaction() as tx:
            facets: list[tuple[FacetKind, str]] = [("tag", "otters"), ("type", ""), ("creator", "Ünï/x")]
            for kind, key in facets:
                (row,) = await tx.raw("select headgate_facet($1, $2) as facet", [kind, key])
                assert facet_number(kind, key) == row["facet"]


class TestPages:
    """Slices are searched from the newest, until there is enough."""

    @pytest.fixture(autouse=True)
    def _small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(indexing, "SLICE_SIZE", 3)
        monkeypatch.setattr(searching, "ENOUGH", 4)
        monkeypatch.setattr(searching, "GROWTH", 1)

    async def test_documents_go_into_slices_in_the_order_of_their_arrival(self, bench: SearchBench) -> None:
        for number in range(8):
            await bench.post(f"knight {number}.zip")
        assert await bench.column("slices") == [0, 0, 0, 1, 1, 1, 2, 2]

    async def test_pages_give_every_row_once_from_slice_to_slice(self, bench: SearchBench) -> None:
        for number in range(12):
            await bench.post(f"knight {number}.zip")
        seen: list[str] = []
        place, pages = "", 0
        while True:
            page = await bench.search("knight", limit=3, after=read_place(place))
            seen += [hit.name for hit in page.hits]
            pages += 1
            assert (page.searched_back_to is None) == (pages >= 3)
            if page.following is None:
                break
            place = str(page.following)
        assert seen == [f"knight {number}" for number in reversed(range(12))]

    async def test_a_group_with_members_in_several_slices_is_shown_once(self, bench: SearchBench) -> None:
        for number in range(12):
            await bench.post(f"knight {number}.zip", album="x" if number in {0, 11} else "")
        names: list[str] = []
        place = None
        while True:
            page = await bench.search("knight", after=place)
            names += [hit.name for hit in page.hits]
            place = page.following
            if place is None:
                break
        assert len(names) == len(set(names)) == 11

    async def test_a_rare_word_in_the_oldest_slice_is_found(self, bench: SearchBench) -> None:
        await bench.post("unicorn.zip")
        for number in range(12):
            await bench.post(f"knight {number}.zip")
        assert await bench.names("unicorn") == ["unicorn"]
        assert await bench.names("unicron") == ["unicorn"]

    async def test_a_search_out_of_time_says_how_far_it_came(
        self, bench: SearchBench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await bench.post("unicorn.zip")
        for number in range(12):
            await bench.post(f"knight {number}.zip")
        monkeypatch.setattr(searching, "BUDGET_S", 0.0)
        page = await bench.search("unicorn")
        assert (page.hits, page.searched_back_to is not None) == ((), True)
        found: list[str] = []
        while page.following:
            page = await bench.search("unicorn", after=page.following)
            found += [hit.name for hit in page.hits]
        assert found == ["unicorn"]

    @pytest.mark.parametrize("place", ["x", "1-2", "999999", "1-1.0.nan.00"])
    def test_a_damaged_place_is_refused(self, place: str) -> None:
        with pytest.raises(UserError, match="not known"):
            read_place(place)
