"""Files that an account has uploaded: once for all groups, and again only when the platform forgets them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from headgate.connectors.protocol import OutgoingFile
from headgate.domain.errors import Gone, Malformed
from headgate.domain.words.times import size_text
from headgate.kernel.clock import Clock
from headgate.lanes.links import AccountRef, Links
from headgate.storage.blobs.store import BlobStore, ObjectDamaged, ObjectMissing
from headgate.storage.database import Database
from headgate.storage.sending import uploads
from headgate.storage.sending.uploads import MediaContent, Uploaded

RENEW_BEFORE = timedelta(minutes=5)
"""Renew a handle that expires within this time, or in the second half of a shorter life."""
NOT_STORED = "the file to be sent is not stored any more"


@dataclass
class UploadCache:
    """The handles of an account's files during a batch."""

    account: AccountRef
    links: Links
    database: Database
    clock: Clock
    store: BlobStore
    _handles: dict[UUID, Uploaded] = field(default_factory=dict[UUID, Uploaded])
    _fresh: set[UUID] = field(default_factory=set[UUID])

    async def load(self, media_ids: Iterable[UUID]) -> None:
        """Find what was uploaded before."""
        wanted = sorted(set(media_ids))
        if wanted:
            async with self.database.autocommit() as tx:
                self._handles = await uploads.list_uploads(tx, self.account.id, wanted)

    def missing(self, media_ids: Iterable[UUID | None]) -> list[UUID]:
        """Return which of the files must be uploaded before they can be sent."""
        wanted = dict.fromkeys(media_id for media_id in media_ids if media_id is not None)
        now = self.clock.now()
        return [media_id for media_id in wanted if not self._lasts(media_id, now)]

    def _lasts(self, media_id: UUID, now: datetime) -> bool:
        known = self._handles.get(media_id)
        if known is None or known.expires_at is None:
            return known is not None
        return known.expires_at > now + min(RENEW_BEFORE, (known.expires_at - known.uploaded_at) / 2)

    async def upload(self, media_id: UUID) -> None:
        """Upload a file and keep its handle for everybody."""
        async with self.database.autocommit() as tx:
            media = await uploads.get_content(tx, media_id)
        if media is None or (media.content is None and not media.object_name):
            raise Gone(NOT_STORED)
        file = self._outgoing(media)
        async with self.links.call(self.account, "upload") as link:
            handle = await link.upload(file)
        uploaded = Uploaded(media_id, handle.handle, self.clock.now(), handle.expires_at)
        async with self.database.autocommit() as tx:
            await uploads.put_upload(tx, self.account.id, uploaded)
        self._handles[media_id] = uploaded
        self._fresh.add(media_id)

    def _outgoing(self, media: MediaContent) -> OutgoingFile:
        """Return what to upload; refuse what the platform does not take before reading it."""
        limit = self.links.manifest(self.account.platform).upload_max_bytes
        if media.size_bytes > limit:
            size = size_text(media.size_bytes)
            raise Malformed(f"{media.name} has {size}, and the platform takes {size_text(limit)} at most")
        if media.content is not None:
            return OutgoingFile.of(media.name, media.mime_type, media.content)
        return OutgoingFile(media.name, media.mime_type, media.size_bytes, lambda: self._read(media))

    async def _read(self, media: MediaContent) -> AsyncIterator[bytes]:
        start, end = media.offset_bytes, media.offset_bytes + media.size_bytes
        try:
            async for chunk in self.store.read(media.object_name, start=start, end=end):
                yield chunk
        except (ObjectMissing, ObjectDamaged) as error:
            raise Gone(NOT_STORED) from error

    def handle(self, media_id: UUID) -> str:
        return self._handles[media_id].handle

    def is_fresh(self, media_id: UUID) -> bool:
        """Return whether the file was uploaded in this batch."""
        return media_id in self._fresh

    async def forget(self, media_id: UUID) -> None:
        """The platform does not know a handle any more."""
        known = self._handles.pop(media_id, None)
        self._fresh.discard(media_id)
        if known is not None:
            async with self.database.autocommit() as tx:
                await uploads.forget_upload(tx, self.account.id, known)
