"""3MF files: the picture that they bring along, or their mesh.

A 3MF file is a zip with a relation to its thumbnail and XML with objects, which a build list places. Slicers
put objects into files of their own, so components may name another file.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from zlib import error as ZlibError  # noqa: N812

import numpy as np

from headgate.ingest.pictures.meshes.mesh import Triangles, check_count
from headgate.ingest.pictures.meshes.model_xml import Matrix, Model, ModelReader, parse_relations
from headgate.ingest.pictures.problems import PictureProblem

_MAX_ENTRIES = 20_000
_MAX_THUMBNAIL_BYTES = 30_000_000
_MAX_RELATION_BYTES = 1_000_000
_MAX_XML_BYTES = 500_000_000
_MAX_FILES = 500
_MAX_DEPTH = 8
_MAX_PLACED = 10_000
_BLOCK_BYTES = 1 << 20
_MODEL = "3D/3dmodel.model"
_THUMBNAILS = (
    "Metadata/plate_1.png",
    "Metadata/thumbnail.png",
    "Metadata/thumbnail.jpeg",
    "Auxiliaries/.thumbnails/thumbnail_3mf.png",
    "Thumbnails/thumbnail.png",
    "3D/Thumbnails/thumbnail.png",
)
"""Where slicers keep it; the relation often names a smaller one."""


def read_thumbnail(path: Path) -> bytes:
    """Return the bytes of the embedded picture; they are as untrusted as the file."""
    with _opened(path) as package:
        names = {name.casefold(): name for name in package.namelist()}
        wanted = (*_THUMBNAILS, *_related(package, "thumbnail"))
        found = [names[name.casefold()] for name in wanted if name.casefold() in names]
        sizes = {name: package.getinfo(name).file_size for name in found}
        usable = [name for name in found if 0 < sizes[name] <= _MAX_THUMBNAIL_BYTES]
        if not usable:
            raise PictureProblem("no_thumbnail")
        # The largest is the sharpest; the order decides between equals.
        return _content(package, max(usable, key=lambda name: sizes[name]), _MAX_THUMBNAIL_BYTES)


def read_three_mf(path: Path) -> Triangles:
    """Return the triangles of everything that the file would print."""
    with _opened(path) as package:
        start = next(iter(_related(package, "3dmodel")), _MODEL)
        models = _Models(package)
        pieces = list(models.built(start))
    check_count(sum(len(piece) for piece in pieces))
    return np.concatenate(pieces)


class _Models:
    """The XML files of a package, each read once."""

    def __init__(self, package: zipfile.ZipFile) -> None:
        self._package = package
        self._read: dict[str, Model] = {}
        self._left_bytes = _MAX_XML_BYTES
        self._triangles = 0
        self._placed_objects = 0

    def built(self, name: str) -> Iterator[Triangles]:
        model = self._model(name)
        for item in model.items:
            yield from self._placed(item.path or name, item.object_id, item.matrix, depth=0)
        if not model.items:
            for object_id in model.meshes:
                yield from self._placed(name, object_id, None, depth=0)

    def _placed(self, name: str, object_id: str, matrix: Matrix | None, *, depth: int) -> Iterator[Triangles]:
        if depth > _MAX_DEPTH:
            raise PictureProblem("damaged", "objects inside each other without an end")
        self._placed_objects += 1
        if self._placed_objects > _MAX_PLACED:
            raise PictureProblem("too_complex", f"more than {_MAX_PLACED} placed objects")
        model = self._model(name)
        if object_id in model.meshes:
            mesh = model.meshes[object_id].triangles()
            self._triangles += len(mesh)
            if len(mesh):
                check_count(self._triangles)
                yield _moved(mesh, matrix)
        for part in model.components.get(object_id, ()):
            inner = self._placed(part.path or name, part.object_id, part.matrix, depth=depth + 1)
            yield from (_moved(piece, matrix) for piece in inner)

    def _model(self, name: str) -> Model:
        if name not in self._read:
            if len(self._read) >= _MAX_FILES:
                raise PictureProblem("too_large", "too many model files")
            self._read[name] = self._parse(name)
        return self._read[name]

    def _parse(self, name: str) -> Model:
        reader = ModelReader()
        with _entry(self._package, name) as file:
            while block := file.read(_BLOCK_BYTES):
                self._left_bytes -= len(block)
                if self._left_bytes < 0:
                    raise PictureProblem("too_large", f"more than {_MAX_XML_BYTES} bytes of XML")
                reader.feed(block)
        return reader.close()


@contextmanager
def _opened(path: Path) -> Generator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as package:
            if len(package.infolist()) > _MAX_ENTRIES:
                raise PictureProblem("too_large", f"{len(package.infolist())} entries")
            yield package
    except (zipfile.BadZipFile, zipfile.LargeZipFile, ZlibError, EOFError, OSError) as error:
        raise PictureProblem("damaged", f"not a whole zip: {error}") from None
    except (NotImplementedError, RuntimeError) as error:  # an unknown method, or a password
        raise PictureProblem("unsupported_format", str(error)) from None


def _entry(package: zipfile.ZipFile, name: str) -> zipfile.ZipExtFile:
    try:
        return package.open(name)  # pyright: ignore[reportReturnType]
    except KeyError:
        raise PictureProblem("damaged", f"{name} is not in the file") from None


def _content(package: zipfile.ZipFile, name: str, max_bytes: int) -> bytes:
    """Return an entry, whatever size its header claims."""
    with _entry(package, name) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise PictureProblem("too_large", f"{name} is larger than it claims")
    return content


def _related(package: zipfile.ZipFile, kind: str) -> list[str]:
    """Return the entries that the package names for a kind of use."""
    if "_rels/.rels" not in package.namelist():
        return []
    relations = parse_relations(_content(package, "_rels/.rels", _MAX_RELATION_BYTES))
    return [
        posixpath.normpath(target).lstrip("/")
        for related, target in relations
        if related.rpartition("/")[2].casefold() == kind
    ]


def _moved(triangles: Triangles, matrix: Matrix | None) -> Triangles:
    """Return triangles where a matrix of four rows puts them: three of turning, one of moving."""
    if matrix is None:
        return triangles
    columns = [
        triangles[..., 0] * matrix[axis]
        + triangles[..., 1] * matrix[3 + axis]
        + triangles[..., 2] * matrix[6 + axis]
        + matrix[9 + axis]
        for axis in range(3)
    ]
    return np.stack(columns, axis=-1).astype(np.float32)
