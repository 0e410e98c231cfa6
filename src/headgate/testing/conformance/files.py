"""Downloads."""

from __future__ import annotations

from collections.abc import AsyncIterator

from headgate.domain.errors import Gone
from headgate.testing.conformance.harness import ConnectorUnderTest, expect

_CONTENT = bytes(range(256)) * 300


class FileConformance:
    """A file is what was posted, whole or from any offset."""

    async def test_a_download_is_what_was_posted_from_any_offset(
        self, under_test: ConnectorUnderTest
    ) -> None:
        under_test.needs("download", "streams")
        stream = await under_test.make_stream(1)
        message = await under_test.post_file(
            stream, name="bytes.bin", mime_type="application/octet-stream", content=_CONTENT
        )
        (attachment,) = message.attachments
        manifest = under_test.connector.manifest
        if manifest.exact_sizes:
            expect(attachment.size_bytes == len(_CONTENT), "the size is told before the download")
        expect(attachment.file_name == "bytes.bin", "the name is told before the download")
        offsets = (0, 1, 20_000, len(_CONTENT) - 1, len(_CONTENT)) if manifest.ranges else (0,)
        for offset in offsets:
            content = await _join(
                under_test.link.download(
                    stream, message_key=message.key, attachment_key=attachment.key, offset=offset
                )
            )
            expect(content == _CONTENT[offset:], f"a download from {offset} goes on exactly there")

    async def test_a_file_of_a_deleted_message_is_gone(self, under_test: ConnectorUnderTest) -> None:
        under_test.needs("download", "streams")
        stream = await under_test.make_stream(1)
        message = await under_test.post_file(
            stream, name="a.bin", mime_type="application/zip", content=b"zip"
        )
        await under_test.delete(stream, message.key)
        try:
            await _join(
                under_test.link.download(
                    stream, message_key=message.key, attachment_key=message.attachments[0].key
                )
            )
        except Exception as error:  # noqa: BLE001 - whatever the library raises is what is judged here
            expect(isinstance(under_test.connector.classify(error), Gone), f"{error!r} should mean: gone")
        else:
            raise AssertionError("a file of a deleted message cannot be had")


async def _join(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])
