"""The connector of folders: no login, no pace, an account for folders to copy and one for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from headgate.connectors.folder.errors import classify
from headgate.connectors.folder.link import MAX_PAGE, FolderLink
from headgate.connectors.login_steps import LoginAttempt, LoginStep, SignedIn
from headgate.connectors.protocol import Connector, LaneDefault, Link, Manifest, Memory
from headgate.domain.errors import WorkError
from headgate.domain.library.places import IN_PLACE
from headgate.kernel.clock import Clock

PLATFORM = "folder"
_UNPACED = LaneDefault(per_minute=1_000_000, burst=100_000)

MANIFEST = Manifest(
    platform=PLATFORM,
    title="Folders of this machine",
    capabilities=frozenset({"streams", "download"}),
    licence="MIT",
    settle_margin_s=0.0,
    short_page_proves_bound=True,
    heads_per_call=4,
    edit_window_s=0.0,
    page_size=MAX_PAGE,
    signs_in=False,
    lanes={"heads": _UNPACED, "read": _UNPACED, "download": _UNPACED},
)


class FolderConnector(Connector):
    """Opens links that read folders; a stream's key is the absolute path."""

    def __init__(self, data_dir: Path, clock: Clock, *, own_folders: Sequence[Path] = ()) -> None:
        self._data_dir = data_dir
        self._clock = clock
        self._own_folders = tuple(own_folders)

    @property
    def manifest(self) -> Manifest:
        return MANIFEST

    async def login(self, attempt: LoginAttempt) -> LoginStep:
        return SignedIn()

    async def logout(self, account: str, secrets: Mapping[str, str]) -> None:
        """Do nothing: a folder knows no sessions."""

    async def open(self, account: str, secrets: Mapping[str, str], memory: Memory) -> Link:
        in_place = account == IN_PLACE
        return FolderLink(self._data_dir, self._clock, own_folders=self._own_folders, in_place=in_place)

    def host_of(self, listing: str) -> str:
        return ""

    def classify(self, error: BaseException) -> WorkError:
        return classify(error)
