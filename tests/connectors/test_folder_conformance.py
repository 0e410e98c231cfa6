"""The connector of folders passes the conformance suite on real folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from headgate.connectors.folder import FolderConnector
from headgate.connectors.folder.errors import FileChanging, FileVanished, FolderAway, FolderUnknown
from headgate.connectors.protocol import Link
from headgate.domain.errors import Absent, Gone, Malformed, Transient, WorkError
from headgate.domain.library.places import IN_PLACE
from headgate.domain.streams.messages import Message
from headgate.kernel.clock import RealClock
from headgate.testing.conformance import ConnectorConformance, ConnectorUnderTest
from headgate.testing.memory import VolatileMemory

pytestmark = pytest.mark.once


class FoldersUnderTest(ConnectorUnderTest):
    def __init__(self, place: Path) -> None:
        self.place = place
        self.connector = FolderConnector(place / "data", RealClock(), own_folders=[place / "data"])
        self.account = "local"

    async def open(self) -> None:
        self.link: Link = await self.reopen()

    async def reopen(self) -> Link:
        return await self.connector.open(self.account, {}, VolatileMemory())

    async def pause(self) -> None:
        """Nothing is under way between two calls."""

    async def settle(self) -> None:
        """A file is there as soon as it is written."""

    async def make_stream(self, count: int) -> str:
        folder = self.place / f"folder{len(list(self.place.iterdir()))}"
        folder.mkdir()
        for number in range(count):
            (folder / f"{number}.{'png' if number % 3 else 'zip'}").write_bytes(b"x" * number)
        return str(folder)

    async def post(self, stream: str, *, text: str) -> Message:
        return await self.post_file(stream, name=f"{text}.txt", mime_type="text/plain", content=text.encode())

    async def post_file(self, stream: str, *, name: str, mime_type: str, content: bytes) -> Message:
        (Path(stream) / name).write_bytes(content)
        await self.link.heads([stream])
        message = await self.link.message(stream, name)
        assert message is not None
        return message

    async def delete(self, stream: str, key: str) -> None:
        (Path(stream) / key).unlink()

    def library_errors(self) -> Sequence[tuple[BaseException, type[WorkError]]]:
        return [
            (FileNotFoundError(), Gone),
            (PermissionError(13, "x"), Malformed),
            (OSError(5, "Input/output error"), Transient),
            (FolderUnknown("x"), Gone),
            (FolderAway("x"), Absent),
            (FileVanished("x"), Gone),
            (FileChanging("x"), Transient),
        ]


@pytest.fixture
async def under_test(tmp_path: Path) -> FoldersUnderTest:
    folders = FoldersUnderTest(tmp_path)
    await folders.open()
    return folders


class TestFolders(ConnectorConformance):
    """Everything that the manifest claims."""


async def test_what_a_folder_does_not_have_is_refused(under_test: FoldersUnderTest) -> None:
    with pytest.raises(Malformed, match="A folder has no listings"):
        await under_test.link.list("x", {})


async def test_an_account_sees_the_folders_of_its_own_way_alone(under_test: FoldersUnderTest) -> None:
    copied, placed = await under_test.make_stream(1), await under_test.make_stream(1)
    in_place = await under_test.connector.open(IN_PLACE, {}, VolatileMemory())
    await under_test.link.heads([copied])
    await in_place.heads([placed])
    assert [found.key for found in await under_test.link.discover()] == [copied]
    assert [found.key for found in await in_place.discover()] == [placed]
