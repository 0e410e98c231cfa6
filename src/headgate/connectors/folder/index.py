"""Which file is which message of its stream, and at what position.

No time of a file can be its position: files get equal ones, and a folder that is moved into the tree brings
files with old ones. So each walk numbers what is new or changed above everything before. The index is only a
memory: without it, all files get new positions and are read again as the same messages, by the same keys.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from headgate.connectors.folder.names import path_key
from headgate.connectors.folder.walking import FoundFile, FoundTree

FOLDER = "folders"
_BUSY_S = 60.0
_VERSION = 1
_SCHEMA = """
create table if not exists folder (root text not null);
create table if not exists file (
    path blob primary key, key text not null unique, position integer not null unique,
    size_bytes integer not null, mtime_ns integer not null, inode integer not null,
    version integer not null, changed_us integer, gone integer not null
) without rowid;
"""
_COLUMNS = "path, key, position, size_bytes, mtime_ns, inode, version, changed_us, gone"


@dataclass(frozen=True)
class IndexedFile:
    """A file, as the last walk found it."""

    path: bytes
    key: str
    position: int
    size_bytes: int
    mtime_ns: int
    inode: int
    version: int = 1
    """Rises with each content; a move keeps it."""
    changed_us: int | None = None
    """When a walk noticed that it was changed or moved."""
    gone: bool = False

    @property
    def looks(self) -> tuple[int, int, int]:
        """What a move keeps."""
        return self.inode, self.size_bytes, self.mtime_ns

    def is_as(self, found: FoundFile) -> bool:
        """Tell whether the content is the same, as far as size and time of change tell."""
        return (self.size_bytes, self.mtime_ns) == (found.size_bytes, found.mtime_ns)


class FolderIndex:
    """The index of one folder, in a file of the data folder; any number of processes may use it at once."""

    def __init__(self, data_dir: Path, root: str) -> None:
        name = sha256(root.encode()).hexdigest()[:32]
        self._root = root
        self._path = data_dir / FOLDER / f"{name}.sqlite"

    def update(self, tree: FoundTree, *, now_us: int) -> int | None:
        """Take in what a walk has found; returns the head."""
        with self._open() as connection, _writing(connection):
            known = {row.path: row for row in _rows(connection, "")}
            changed = _changes(known, tree.files, first=_next_position(connection, now_us), now_us=now_us)
            _write(connection, changed)
            return _head(connection)

    def update_file(self, key: str, found: FoundFile | None, *, now_us: int) -> IndexedFile | None:
        """Take in how one file is now, or that it is gone; returns it."""
        with self._open() as connection, _writing(connection):
            known = next(iter(_rows(connection, "where key = ?", key)), None)
            if known is None:
                return None
            if found is None:
                _write(connection, [replace(known, gone=True)])
                return None
            if known.is_as(found) and not known.gone:
                return known
            renewed = _renew(known, found, position=_next_position(connection, now_us), now_us=now_us)
            _write(connection, [renewed])
            return renewed

    def find(self, key: str) -> IndexedFile | None:
        """Return the file of a message, gone or not."""
        with self._open() as connection:
            return next(iter(_rows(connection, "where key = ?", key)), None)

    def list_page(self, *, start: int, end: int, limit: int) -> list[IndexedFile]:
        """Return files by their position, the newest first."""
        where = "where position >= ? and position < ? and not gone order by position desc limit ?"
        with self._open() as connection:
            return list(_rows(connection, where, start, end, limit))

    def list_paths(self) -> list[bytes]:
        with self._open() as connection:
            return [row.path for row in _rows(connection, "where not gone")]

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection, None, None]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)) as connection:
            if connection.execute("pragma user_version").fetchone()[0] != _VERSION:
                with _writing(connection):
                    self._set_up(connection)
            yield connection

    def _set_up(self, connection: sqlite3.Connection) -> None:
        for statement in filter(str.strip, _SCHEMA.split(";")):
            connection.execute(statement)
        connection.execute(
            "insert into folder select ? where not exists (select 1 from folder)", [self._root]
        )
        connection.execute(f"pragma user_version = {_VERSION}")


def list_roots(data_dir: Path) -> list[str]:
    """Return the folders that have an index."""
    found: list[str] = []
    for path in sorted((data_dir / FOLDER).glob("*.sqlite")):
        with closing(sqlite3.connect(path, timeout=_BUSY_S)) as connection:
            if connection.execute("pragma user_version").fetchone()[0] == _VERSION:
                found += [row[0] for row in connection.execute("select root from folder")]
    return found


def _changes(
    known: dict[bytes, IndexedFile], files: Iterable[FoundFile], *, first: int, now_us: int
) -> list[IndexedFile]:
    """Return the rows that differ from the tree, as they are to be; the latest file gets the top position."""
    found = {file.path: file for file in files}
    vanished = [row for path, row in known.items() if path not in found]
    movable = {row.looks: row for row in vanished}
    keys = {row.key for row in known.values()}
    changed: dict[str, IndexedFile] = {row.key: replace(row, gone=True) for row in vanished if not row.gone}
    position = first
    for file in sorted(found.values(), key=lambda file: (file.mtime_ns, file.path)):
        row = known.get(file.path)
        if row is not None and row.is_as(file) and not row.gone:
            continue
        if row is not None:
            row = _renew(row, file, position=position, now_us=now_us)
        elif (moved := movable.pop((file.inode, file.size_bytes, file.mtime_ns), None)) is not None:
            row = _renew(moved, file, position=position, now_us=now_us)
        else:
            key = _free_key(file.path, keys)
            row = IndexedFile(file.path, key, position, file.size_bytes, file.mtime_ns, file.inode)
        keys.add(row.key)
        changed[row.key] = row
        position += 1
    return list(changed.values())


def _renew(row: IndexedFile, file: FoundFile, *, position: int, now_us: int) -> IndexedFile:
    """Return a row for a file that is changed, moved or back."""
    same = row.is_as(file)
    return replace(
        row,
        path=file.path,
        position=position,
        size_bytes=file.size_bytes,
        mtime_ns=file.mtime_ns,
        inode=file.inode,
        version=row.version if same else row.version + 1,
        changed_us=row.changed_us if same and row.path == file.path else now_us,
        gone=False,
    )


def _free_key(path: bytes, taken: set[str]) -> str:
    """Return the key of a new file; its path may be the key of a file that was moved away."""
    key = path_key(path)
    number = 2
    while key in taken:
        key = f"{path_key(path)}#{number}"
        number += 1
    return key


def _next_position(connection: sqlite3.Connection, now_us: int) -> int:
    """Return a position above all others, those of an index that was lost included."""
    (last,) = connection.execute("select max(position) from file").fetchone()
    return now_us if last is None else max(int(last) + 1, now_us)


def _head(connection: sqlite3.Connection) -> int | None:
    (head,) = connection.execute("select max(position) from file where not gone").fetchone()
    return head


def _rows(connection: sqlite3.Connection, where: str, *arguments: object) -> Iterable[IndexedFile]:
    for row in connection.execute(f"select {_COLUMNS} from file {where}", arguments):  # noqa: S608 - our own text
        yield IndexedFile(*row[:-1], gone=bool(row[-1]))


def _write(connection: sqlite3.Connection, rows: Sequence[IndexedFile]) -> None:
    """Write rows by their keys; a path that one of them leaves may be that of another."""
    connection.executemany("delete from file where key = ?", [[row.key] for row in rows])
    connection.executemany(
        f"insert into file ({_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - our own text
        [
            (
                row.path,
                row.key,
                row.position,
                row.size_bytes,
                row.mtime_ns,
                row.inode,
                row.version,
                row.changed_us,
                row.gone,
            )
            for row in rows
        ],
    )


@contextmanager
def _writing(connection: sqlite3.Connection) -> Generator[None, None, None]:
    connection.execute("begin immediate")
    try:
        yield
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")
