"""Which file is which message of its stream, and at what position.

No time of a file can be its position: files get equal ones, and a folder that is moved into the tree brings
files with old ones. So each walk numbers what is new or changed above everything before. The index is only a
memory: without it, all files get new positions and are read again as the same messages, by the same keys.

A tree is compared with the index in SQL, so that memory does not grow with the number of files.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from headgate.connectors.folder.names import path_key
from headgate.connectors.folder.walking import FoundFile

FOLDER = "folders"
_BUSY_S = 60.0
_BATCH = 1000
_VERSION = 1
_SCHEMA = """
create table if not exists folder (root text not null, in_place integer not null);
create table if not exists file (
    path blob primary key, key text not null unique, position integer not null unique,
    size_bytes integer not null, mtime_ns integer not null, inode integer not null,
    version integer not null, changed_us integer, gone integer not null
) without rowid;
"""
_COLUMNS = "path, key, position, size_bytes, mtime_ns, inode, version, changed_us, gone"
_FOUND = """
create temp table found (
    path blob primary key, size_bytes integer not null, mtime_ns integer not null, inode integer not null
) without rowid
"""
_MOVABLE = (
    "create temp table movable (inode, size_bytes, mtime_ns, key, primary key (inode, size_bytes, mtime_ns))"
)
_FILL_MOVABLE = """
insert or replace into movable
select inode, size_bytes, mtime_ns, key from file
where not exists (select 1 from found where found.path = file.path)
"""
_MARK_GONE = """
update file set gone = 1 where not gone and not exists (select 1 from found where found.path = file.path)
"""
_CHANGED = """
create temp table changed as
select found.path, found.size_bytes, found.mtime_ns, found.inode
from found left join file on file.path = found.path
where file.path is null or file.gone or file.size_bytes <> found.size_bytes or file.mtime_ns <> found.mtime_ns
order by found.mtime_ns, found.path
"""


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

    def is_as(self, found: FoundFile) -> bool:
        """Tell whether the content is the same, as far as size and time of change tell."""
        return (self.size_bytes, self.mtime_ns) == (found.size_bytes, found.mtime_ns)


class FolderIndex:
    """The index of one folder, in a file of the data folder; any number of processes may use it at once."""

    def __init__(self, data_dir: Path, root: str, *, in_place: bool = False) -> None:
        name = sha256(root.encode()).hexdigest()[:32]
        self._root = root
        self._in_place = in_place
        self._path = data_dir / FOLDER / f"{name}.sqlite"

    def update(self, files: Iterable[FoundFile], *, now_us: int) -> int | None:
        """Take in what a walk finds; returns the head.

        The walk comes before the lock: other processes read the index meanwhile.
        """
        with self._open() as connection:
            _note_found(connection, files)
            with _writing(connection):
                connection.execute("update folder set in_place = ?", [self._in_place])
                _Changes(connection, now_us).write()
                return _head(connection)

    def update_file(self, key: str, found: FoundFile | None, *, now_us: int) -> IndexedFile | None:
        """Take in how one file is now, or that it is gone; returns it."""
        with self._open() as connection, _writing(connection):
            known = _find(connection, "key = ?", key)
            if known is None:
                return None
            if found is None:
                _write(connection, replace(known, gone=True))
                return None
            if known.is_as(found) and not known.gone:
                return known
            renewed = _renew(known, found, position=_next_position(connection, now_us), now_us=now_us)
            _write(connection, renewed)
            return renewed

    def find(self, key: str) -> IndexedFile | None:
        """Return the file of a message, gone or not."""
        with self._open() as connection:
            return _find(connection, "key = ?", key)

    def has_files(self) -> bool:
        """Tell whether the last walk found any file."""
        with self._open() as connection:
            return _head(connection) is not None

    def list_page(self, *, start: int, end: int, limit: int) -> list[IndexedFile]:
        """Return files by their position, the newest first."""
        where = "position >= ? and position < ? and not gone order by position desc limit ?"
        with self._open() as connection:
            return list(_rows(connection, where, start, end, limit))

    def list_paths(self) -> Iterator[bytes]:
        with self._open() as connection:
            for (path,) in connection.execute("select path from file where not gone"):
                yield path

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
            "insert into folder select ?, ? where not exists (select 1 from folder)",
            [self._root, self._in_place],
        )
        connection.execute(f"pragma user_version = {_VERSION}")


def list_roots(data_dir: Path) -> dict[str, bool]:
    """Return the folders that have an index, and whether they are read in place."""
    found: dict[str, bool] = {}
    for path in sorted((data_dir / FOLDER).glob("*.sqlite")):
        with closing(sqlite3.connect(path, timeout=_BUSY_S)) as connection:
            if connection.execute("pragma user_version").fetchone()[0] == _VERSION:
                for root, in_place in connection.execute("select root, in_place from folder"):
                    found[root] = bool(in_place)
    return found


def _note_found(connection: sqlite3.Connection, files: Iterable[FoundFile]) -> None:
    connection.execute(_FOUND)
    connection.execute("begin")
    connection.executemany(
        # A folder that changes while it is listed may tell a name twice.
        "insert or replace into found values (?, ?, ?, ?)",
        ((file.path, file.size_bytes, file.mtime_ns, file.inode) for file in files),
    )
    connection.execute("commit")


class _Changes:
    """What differs between the index and the tree that was found; the latest file gets the top position."""

    def __init__(self, connection: sqlite3.Connection, now_us: int) -> None:
        self._connection = connection
        self._now_us = now_us
        self._position = _next_position(connection, now_us)

    def write(self) -> None:
        self._connection.execute(_MOVABLE)
        self._connection.execute(_FILL_MOVABLE)
        self._connection.execute(_MARK_GONE)
        self._connection.execute(_CHANGED)
        for file in self._list_changed():
            _write(self._connection, self._place(file))
            self._position += 1

    def _list_changed(self) -> Iterator[FoundFile]:
        select = "select rowid, path, size_bytes, mtime_ns, inode from changed where rowid > ? limit ?"
        last = 0
        while batch := self._connection.execute(select, [last, _BATCH]).fetchall():
            yield from (FoundFile(*found) for _, *found in batch)
            last = batch[-1][0]

    def _place(self, file: FoundFile) -> IndexedFile:
        """Return the row of a file that is new, changed, moved or back."""
        row = _find(self._connection, "path = ?", file.path) or self._take_moved(file)
        if row is not None:
            return _renew(row, file, position=self._position, now_us=self._now_us)
        key = _free_key(self._connection, file.path)
        return IndexedFile(file.path, key, self._position, file.size_bytes, file.mtime_ns, file.inode)

    def _take_moved(self, file: FoundFile) -> IndexedFile | None:
        """Return the row of a file that was elsewhere before."""
        select = "select rowid, key from movable where inode = ? and size_bytes = ? and mtime_ns = ?"
        looks = (file.inode, file.size_bytes, file.mtime_ns)
        moved = self._connection.execute(select, looks).fetchone()
        if moved is None:
            return None
        self._connection.execute("delete from movable where rowid = ?", [moved[0]])
        return _find(self._connection, "key = ?", moved[1])


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


def _free_key(connection: sqlite3.Connection, path: bytes) -> str:
    """Return the key of a new file; its path may be the key of a file that was moved away."""
    key = path_key(path)
    number = 2
    while _find(connection, "key = ?", key) is not None:
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


def _find(connection: sqlite3.Connection, where: str, value: object) -> IndexedFile | None:
    return next(iter(_rows(connection, where, value)), None)


def _rows(connection: sqlite3.Connection, where: str, *arguments: object) -> Iterator[IndexedFile]:
    for row in connection.execute(f"select {_COLUMNS} from file where {where}", arguments):  # noqa: S608 - our own text
        yield IndexedFile(*row[:-1], gone=bool(row[-1]))


def _write(connection: sqlite3.Connection, row: IndexedFile) -> None:
    """Write a row by its key; a file that was moved leaves its old path."""
    connection.execute("delete from file where key = ?", [row.key])
    connection.execute(
        f"insert into file ({_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - our own text
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
        ),
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
