"""pg_dump, pg_restore and psql: run so that no password stands in a list of processes."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from headgate.domain.errors import HeadgateError
from headgate.storage.dump_file import CHUNK_BYTES
from headgate.storage.embedded.programs import client_program

_COPY = re.compile(rb"^COPY (?P<table>\S+) (?:\(.*\) )?FROM stdin;$")
_COPY_END = b"\\."
# Written by a pg_restore of 17 and newer, unknown to older servers, and the default anyway.
_UNKNOWN_BEFORE_17 = b"SET transaction_timeout = 0;"


class ToolFailed(HeadgateError):
    """A program of PostgreSQL ended with an error; the message is its own."""


class Script:
    """A restore script as it streams by: counts the rows of each table, drops what old servers refuse."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self._table: str | None = None
        self._begun: list[bytes] = []

    def feed(self, chunk: bytes) -> bytes:
        """Return what to pass on: whole lines."""
        if b"\n" not in chunk:
            self._begun.append(chunk)
            return b""
        whole, _, rest = b"".join((*self._begun, chunk)).rpartition(b"\n")
        self._begun = [rest]
        return b"".join(line + b"\n" for line in whole.split(b"\n") if self._keep(line))

    def finish(self) -> bytes:
        return b"".join(self._begun)

    @property
    def row_count(self) -> int:
        return sum(self.rows.values())

    def _keep(self, line: bytes) -> bool:
        if self._table is not None:
            if line == _COPY_END:
                self._table = None
            else:
                self.rows[self._table] += 1
        elif match := _COPY.match(line):
            self._table = table = match["table"].decode()
            self.rows[table] = 0
        return line != _UNKNOWN_BEFORE_17 or self._table is not None


@contextmanager
def guarded_conninfo(url: str) -> Generator[str, None, None]:
    """Yield connection parameters with the password in a file that only we can read."""
    parameters = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    password = parameters.pop("password", None)
    if password is None:
        yield make_conninfo("", **parameters)
        return
    escaped = password.replace("\\", "\\\\").replace(":", "\\:")
    descriptor, name = tempfile.mkstemp(prefix="headgate-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"*:*:*:*:{escaped}\n")
        yield make_conninfo("", **parameters, passfile=name)
    finally:
        Path(name).unlink(missing_ok=True)


async def read_database(conninfo: str, *, snapshot: str) -> AsyncGenerator[bytes, None]:
    """Stream a dump of the database as it was in the snapshot."""
    arguments = (
        "--format=custom",
        "--no-owner",
        "--no-privileges",
        "--no-publications",
        "--no-subscriptions",
        "--exclude-extension=*",
        f"--snapshot={snapshot}",
        f"--dbname={conninfo}",
    )
    async with _running("pg_dump", *arguments, takes_input=False) as process:
        async for chunk in _output(process):
            yield chunk


async def read_script(dump: Iterable[bytes]) -> AsyncGenerator[bytes, None]:
    """Stream the SQL script of a dump; the whole dump is unpacked on the way."""
    arguments = ("--no-owner", "--no-privileges", "--file=-")
    async with _running("pg_restore", *arguments, takes_input=True) as process:
        feeding = asyncio.create_task(_feed(process, dump))
        try:
            async for chunk in _output(process):
                yield chunk
            await feeding
        finally:
            feeding.cancel()


@asynccontextmanager
async def open_psql(conninfo: str) -> AsyncGenerator[Process, None]:
    """Run what is written to the process's input as one transaction: all of it, or nothing.

    The commit is written by us at the end. psql's own option for this would also commit what came before a
    cut: the input of a psql whose feeder was killed just ends.
    """
    arguments = (
        "--no-psqlrc",
        "--quiet",
        "--set=ON_ERROR_STOP=1",
        "--output=/dev/null",
        f"--dbname={conninfo}",
        "--file=-",
    )
    async with _running("psql", *arguments, takes_input=True) as process:
        await write(process, b"begin;\n")
        yield process
        await write(process, b"commit;\n")
        await _close_input(process)


async def write(process: Process, chunk: bytes) -> None:
    """Hand bytes to a process; if it has ended, its own error is told when it is waited for."""
    if process.stdin is None or not chunk:
        return
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(chunk)
        await process.stdin.drain()


@asynccontextmanager
async def _running(name: str, *arguments: str, takes_input: bool) -> AsyncGenerator[Process, None]:
    with tempfile.TemporaryFile() as errors:
        process = await asyncio.create_subprocess_exec(
            client_program(name),
            *arguments,
            stdin=PIPE if takes_input else DEVNULL,
            stdout=PIPE,
            stderr=errors,
        )
        try:
            yield process
            code = await process.wait()
        except BaseException:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            raise
        if code:
            errors.seek(0)
            raise ToolFailed(
                _first_error(errors.read().decode(errors="replace")) or f"{name} ended with {code}"
            )


async def _output(process: Process) -> AsyncIterator[bytes]:
    if process.stdout is not None:
        while chunk := await process.stdout.read(CHUNK_BYTES):
            yield chunk


async def _feed(process: Process, pieces: Iterable[bytes]) -> None:
    try:
        for piece in pieces:
            await write(process, piece)
    finally:
        # Also when the source fails: the process would wait for the rest for ever.
        await _close_input(process)


async def _close_input(process: Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
        with suppress(BrokenPipeError, ConnectionResetError):
            await process.stdin.wait_closed()


def _first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
