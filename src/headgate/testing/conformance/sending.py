"""Sends: once under one key, as far as the manifest promises it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

from headgate.connectors.protocol import OutgoingFile, Part, Sent
from headgate.domain.reminders.recognition import Sought
from headgate.testing.conformance.harness import ConnectorUnderTest, expect


class SendingConformance:
    """What was sent is there, and a repeat does what the manifest says."""

    async def test_parts_arrive_in_order(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("send")
        target = await under_test.make_target()
        await under_test.link.prepare(target)
        for n in range(3):
            await _send(under_test, target, text=f"part {n}", key=f"order-{n}")
        expect(list(await under_test.texts_at(target)) == ["part 0", "part 1", "part 2"], "all, and in order")

    async def test_a_repeat_of_a_key_does_what_the_manifest_says(
        self, under_test: ConnectorUnderTest
    ) -> None:
        under_test.needs("send")
        target = await under_test.make_target()
        first = await _send(under_test, target, text="once", key="repeat-1")
        again = await _send(under_test, target, text="once", key="repeat-1")
        arrived = len(await under_test.texts_at(target))
        match under_test.connector.manifest.dedupe.kind:
            case "same_message":
                expect(arrived == 1 and again == first, "the repeat answers with the first message")
            case "error":
                expect(arrived == 1, "the repeat is refused, and that is told as sent")
            case "none":
                expect(arrived == 2, "a platform that cannot tell sends again: the manifest should say more")

    async def test_another_key_is_another_message(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("send")
        target = await under_test.make_target()
        await _send(under_test, target, text="same words", key="one")
        await _send(under_test, target, text="same words", key="two")
        expect(len(await under_test.texts_at(target)) == 2, "equal texts under two keys are two messages")

    async def test_a_key_counts_per_target(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("send")
        targets = [await under_test.make_target() for _ in range(2)]
        for target in targets:
            await _send(under_test, target, text="to each", key=f"each-{target}")
        expect(all([len(await under_test.texts_at(t)) == 1 for t in targets]), "each target gets its own")

    async def test_one_upload_is_sent_many_times(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("send")
        targets = [await under_test.make_target() for _ in range(3)]
        hello = OutgoingFile.of("a.txt", "text/plain", b"hello")
        media = await under_test.patiently(lambda: under_test.link.upload(hello))
        for target in targets:
            await _send(under_test, target, text="see file", media=media.handle, key=f"media-{target}")
        expect(all([len(await under_test.texts_at(t)) == 1 for t in targets]), "each target gets the file")

    async def test_a_file_is_uploaded_in_the_chunks_in_which_it_is_read(
        self, under_test: ConnectorUnderTest
    ) -> None:
        under_test.needs("send")
        target = await under_test.make_target()
        reads: list[int] = []

        async def read() -> AsyncIterator[bytes]:
            reads.append(len(reads))
            for chunk in (b"one ", b"two ", b"three"):
                yield chunk

        chunked = OutgoingFile("b.txt", "text/plain", len(b"one two three"), read)
        media = await under_test.patiently(lambda: under_test.link.upload(chunked))
        await _send(under_test, target, text="in chunks", media=media.handle, key="chunks-1")
        expect(reads, "the file is read when it is uploaded")
        expect(len(await under_test.texts_at(target)) == 1, "the target gets the file")

    async def test_a_sent_message_is_found_in_the_history(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("send")
        target = await under_test.make_target()
        sent = await _send(under_test, target, text="find me", key="find-1")
        since = sent.sent_at - timedelta(minutes=1)
        found = await under_test.link.find_sent(target, Sought("find me"), key="find-1", since=since)
        if under_test.connector.manifest.dedupe.kind != "none":
            expect(found is not None and found.key == sent.key, "it is found by its key")
        expect(
            await under_test.link.find_sent(target, Sought("never"), key="never-sent", since=since) is None,
            "what was never sent is not found",
        )

    async def test_a_content_that_another_send_may_have_proves_nothing(
        self, under_test: ConnectorUnderTest
    ) -> None:
        under_test.needs("send")
        target = await under_test.make_target()
        sent = await _send(under_test, target, text="same words", key="shared-1")
        since = sent.sent_at - timedelta(minutes=1)
        for sought in (
            Sought("same words", rivals=1),
            Sought("same words", claimed=frozenset({sent.key})),
            Sought(""),
        ):
            found = await under_test.link.find_sent(target, sought, key="shared-2", since=since)
            expect(found is None, f"the message of another send is no proof: {sought}")

    async def test_a_message_is_found_by_the_key_that_the_platform_gave_it(
        self, under_test: ConnectorUnderTest
    ) -> None:
        under_test.needs("send")
        target = await under_test.make_target()
        sent = await _send(under_test, target, text="verify me", key="given-1")
        if not sent.key or under_test.connector.manifest.dedupe.kind == "none":
            return
        since = sent.sent_at - timedelta(minutes=1)
        sought = Sought(message_key=sent.key)
        found = await under_test.link.find_sent(target, sought, key="given-1", since=since)
        expect(found is not None and found.key == sent.key, "what is there is found")

    async def test_a_message_is_forwarded_without_an_upload(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("forward", "streams")
        stream = await under_test.make_stream(1)
        message = await under_test.post(stream, text="pass this on")
        target = await under_test.make_target()
        await under_test.patiently(
            lambda: under_test.link.forward(stream, message_key=message.key, target=target, key="forward-1")
        )
        expect(len(await under_test.texts_at(target)) == 1, "the message is in the target")


async def _send(under_test: ConnectorUnderTest, target: str, *, text: str, key: str, media: str = "") -> Sent:
    return await under_test.patiently(
        lambda: under_test.link.send(target, Part(text=text, media=media), key=key)
    )
