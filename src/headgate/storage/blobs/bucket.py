"""A bucket of S3 or a compatible store, through obstore.

Its blocking calls run in threads of ours. Its asyncio calls leave a thread behind that needs the interpreter
once more after the answer: a process that ends right then is aborted (measured: one in four).
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from headgate.kernel.files_settings import FilesSettings
from headgate.kernel.logs import MASK, mask_url
from headgate.storage.blobs.store import (
    CHUNK_BYTES,
    ObjectDamaged,
    ObjectMissing,
    StoreAway,
    StoreTrouble,
    Upload,
    is_object_name,
)
from headgate.storage.blobs.threads import Threads
from headgate.storage.database import to_the_end

if TYPE_CHECKING:
    from obstore import BytesStream
    from obstore.store import S3Config

P = ParamSpec("P")
Result = TypeVar("Result")

MARK = "headgate-store"
_PROBE = "headgate-check"
_MIN_PART_BYTES = 8 * 2**20
_MAX_PARTS = 9_000
"""S3 has 10,000 a file."""
_PARTS_AT_ONCE = 4
_DELETE_AT_ONCE = 1_000
_FORBIDDEN = re.compile(r"\b(401|403) \w+")
"""Listings have no error class of their own for it."""
_NO_BUCKET = "NoSuchBucket"
_CUT_SHORT = "416 Range Not Satisfiable"


class BucketStore:
    """Objects under a prefix of a bucket."""

    def __init__(self, settings: FilesSettings, *, threads: int = 16) -> None:
        address = urlsplit(settings.url)
        self._settings = settings
        self._bucket = str(address.hostname)
        self._client = _connect(settings, self._bucket, address.path.strip("/"))
        self._threads = Threads("bucket", size=threads)
        self._closing = threading.Event()

    @property
    def place(self) -> str:
        return self._settings.url

    async def put(self, uploads: Sequence[Upload]) -> dict[str, Exception]:
        stop = threading.Event()
        uploading = {
            upload.object_name: self._threads.start(self._upload, upload, stop) for upload in uploads
        }
        if not uploading:
            return {}
        try:
            await asyncio.wait(uploading.values())
        except asyncio.CancelledError:
            stop.set()
            await to_the_end(_all_of(uploading.values()))
            raise
        errors = {name: upload.exception() for name, upload in uploading.items()}
        return {name: error for name, error in errors.items() if isinstance(error, Exception)}

    async def read(self, name: str, *, start: int, end: int) -> AsyncGenerator[bytes, None]:
        if start >= end:
            return
        chunks = await self._call(self._open, name, start, end)
        while chunk := await self._call(_next_chunk, chunks):
            start += len(chunk)
            yield chunk
        if start < end:
            raise ObjectDamaged(f"The object {name} ends at byte {start}, before byte {end}.")

    def local_path(self, name: str) -> Path | None:
        return None

    async def get_size(self, name: str) -> int | None:
        try:
            return (await self._call(obstore.head, self._client, name))["size"]
        except ObjectMissing:
            return None

    async def delete(self, names: Sequence[str]) -> None:
        for first in range(0, len(names), _DELETE_AT_ONCE):
            await self._call(obstore.delete, self._client, names[first : first + _DELETE_AT_ONCE])

    async def list_names(self) -> AsyncGenerator[list[str], None]:
        batches = self._batches()
        while (batch := await self._call(next, batches, None)) is not None:
            if names := [name for name in batch if is_object_name(name)]:
                yield names

    async def read_mark(self) -> str | None:
        try:
            return (await self._call(self._read_small, MARK)).decode().strip()
        except ObjectMissing:
            return None

    async def write_mark(self, mark: str) -> None:
        await self._call(obstore.put, self._client, MARK, mark.encode())

    async def check(self) -> None:
        await self._threads.run(self._check)

    async def close(self) -> None:
        self._closing.set()
        self._threads.close()

    async def _call(self, work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        return await self._threads.run(self._explained, work, *args, **kwargs)

    def _explained(self, work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        with self._explaining():
            return work(*args, **kwargs)

    def _upload(self, upload: Upload, stop: threading.Event) -> None:
        """Write one object; its parts appear as an object all together, or not at all."""
        part_bytes = max(_MIN_PART_BYTES, -(-upload.size_bytes // _MAX_PARTS))
        with (
            self._explaining(),
            Path(upload.path).open("rb", buffering=0) as file,
            obstore.open_writer(
                self._client, upload.object_name, buffer_size=part_bytes, max_concurrency=_PARTS_AT_ONCE
            ) as writer,
        ):
            written = 0
            # The writer keeps what it is given until it is sent, so each chunk is a new one.
            while chunk := file.read(CHUNK_BYTES):
                if stop.is_set() or self._closing.is_set():
                    raise StoreAway(f"The upload of {upload.object_name} was called off.")
                written += writer.write(chunk)
            if written != upload.size_bytes:
                raise StoreAway(f"{upload.path} has {written} bytes instead of {upload.size_bytes}.")

    def _open(self, name: str, start: int, end: int) -> BytesStream:
        return obstore.get(self._client, name, options={"range": (start, end)}).stream(CHUNK_BYTES)

    def _read_small(self, name: str) -> bytes:
        return bytes(obstore.get(self._client, name).bytes())

    def _batches(self) -> Iterator[list[str]]:
        listing = obstore.list(self._client, chunk_size=1_000)  # pyright: ignore[reportUnknownMemberType] - its Arrow type
        for batch in listing:
            yield [entry["path"] for entry in batch]

    def _check(self) -> None:
        self._step("The bucket cannot be listed", lambda: next(self._batches(), None))
        self._step("The bucket cannot be written", lambda: obstore.put(self._client, _PROBE, b"check"))
        self._step("The bucket cannot be read", self._read_probe)
        self._step("Objects of the bucket cannot be deleted", lambda: obstore.delete(self._client, _PROBE))

    def _read_probe(self) -> None:
        # Another process that checks at the same moment may have deleted it.
        with suppress(FileNotFoundError):
            self._read_small(_PROBE)

    def _step(self, what: str, call: Callable[[], object]) -> None:
        """Make one call of the check; say in the words of S3's set-up why it fails."""
        try:
            call()
        except (BaseError, FileNotFoundError) as error:
            raise self._trouble(what, error) from None

    def _trouble(self, what: str, error: Exception) -> StoreTrouble:
        text = str(error)
        if _NO_BUCKET in text:
            return StoreTrouble(
                f"{what}: there is no bucket {self._bucket!r}.",
                remedy="Create it, or correct HEADGATE_FILES_URL.",
            )
        if _FORBIDDEN.search(text):
            return StoreTrouble(
                f"{what}: {self.place} refuses the keys. {self._say(error)}",
                remedy="Check HEADGATE_FILES_S3_ACCESS_KEY, HEADGATE_FILES_S3_SECRET_KEY and their rights.",
            )
        return StoreTrouble(
            f"{what}: {self.place} does not answer as S3 does. {self._say(error)}",
            remedy="Check HEADGATE_FILES_S3_ENDPOINT and HEADGATE_FILES_S3_REGION.",
        )

    @contextmanager
    def _explaining(self) -> Generator[None, None, None]:
        """Say what an error of the store means; the original has requests in it, so it is not kept."""
        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            text = str(error)
            if isinstance(error, FileNotFoundError) and _NO_BUCKET not in text:
                raise ObjectMissing(self._say(error)) from None
            if _CUT_SHORT in text:
                raise ObjectDamaged(self._say(error)) from None
            raise StoreAway(self._say(error)) from None

    def _say(self, error: Exception) -> str:
        """Return the first line of an error without keys."""
        text = mask_url(str(error).partition("\n")[0])
        for key in (self._settings.s3_access_key, self._settings.s3_secret_key):
            if key is not None:
                text = text.replace(key.get_secret_value(), MASK)
        return text


def _connect(settings: FilesSettings, bucket: str, prefix: str) -> S3Store:
    config: S3Config = {"region": settings.s3_region}
    if settings.s3_endpoint:
        config["endpoint"] = settings.s3_endpoint
    if settings.s3_access_key is not None and settings.s3_secret_key is not None:
        config["access_key_id"] = settings.s3_access_key.get_secret_value()
        config["secret_access_key"] = settings.s3_secret_key.get_secret_value()
    return S3Store(
        bucket,
        prefix=prefix or None,
        config=config,
        # A whole request may take as long as it likes, if only something moves.
        client_options={
            "allow_http": settings.s3_endpoint.startswith("http://"),
            "connect_timeout": timedelta(seconds=10),
            "read_timeout": timedelta(seconds=60),
            "timeout": timedelta(days=1),
        },
        retry_config={"max_retries": 4, "retry_timeout": timedelta(seconds=60)},
    )


async def _all_of(futures: Collection[asyncio.Future[None]]) -> None:
    await asyncio.wait(futures)


def _next_chunk(chunks: BytesStream) -> bytes:
    """Return some bytes, none at the end."""
    chunk = next(chunks, None)
    return b"" if chunk is None else bytes(chunk)
