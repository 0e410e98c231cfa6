"""One message again."""

from __future__ import annotations

from headgate.testing.conformance.harness import ConnectorUnderTest, expect
from headgate.testing.conformance.walk import walk_stream


class MessageConformance:
    """A key stays the name of its message for life."""

    async def test_a_message_can_be_fetched_again(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("streams")
        stream = await under_test.make_stream(6)
        await under_test.settle()
        for message in (await walk_stream(under_test, stream, limit=10)).messages:
            again = await under_test.link.message(stream, message.key)
            expect(
                again is not None and under_test.same(again, message),
                f"fetched again, message {message.key} differs: {again} != {message}",
            )

    async def test_a_deleted_message_is_nothing(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("streams")
        stream = await under_test.make_stream(1)
        message = await under_test.post(stream, text="soon gone")
        await under_test.delete(stream, message.key)
        expect(await under_test.link.message(stream, message.key) is None, "a deleted message is None")

    async def test_an_edit_is_seen_when_fetched_again(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("streams")
        stream = await under_test.make_stream(1)
        message = await under_test.post(stream, text="before")
        await under_test.edit(stream, message.key, text="after")
        again = await under_test.link.message(stream, message.key)
        expect(again is not None and again.text == "after", "the text is the new one")
        expect(again is not None and again.edited_at is not None, "an edited message says when")
        expect(again is not None and again.position == message.position, "an edit does not move a message")
