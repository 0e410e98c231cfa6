"""Listings."""

from __future__ import annotations

from headgate.testing.conformance.harness import ConnectorUnderTest, expect


class ListingConformance:
    """A listing answers with its newest entries, and says when nothing has changed."""

    async def test_a_listing_answers_with_its_entries(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("listings")
        listing = await under_test.make_listing(4)
        listed = await under_test.patiently(lambda: under_test.link.list(listing, {}))
        keys = [entry.key for entry in listed.entries]
        expect(len(keys) == len(set(keys)) == 4, f"four entries, each once: {keys}")
        expect(not listed.unchanged, "the first answer is news")
        expect(
            all(entry.title or entry.number for entry in listed.entries),
            "every entry has a title or a number",
        )

    async def test_validators_save_the_second_answer(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("listings")
        listing = await under_test.make_listing(2)
        first = await under_test.patiently(lambda: under_test.link.list(listing, {}))
        second = await under_test.patiently(lambda: under_test.link.list(listing, first.cursor))
        expect(second.unchanged and second.entries == (), "with its validators an unchanged listing says so")

    async def test_a_new_entry_is_listed_in_spite_of_validators(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("listings")
        listing = await under_test.make_listing(2)
        first = await under_test.patiently(lambda: under_test.link.list(listing, {}))
        key = await under_test.add_entry(listing)
        second = await under_test.patiently(lambda: under_test.link.list(listing, first.cursor))
        expect(not second.unchanged and key in {e.key for e in second.entries}, "a new entry is news")
