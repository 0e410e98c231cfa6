"""The XML of 3MF files, read as a stream and without entities."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

import numpy as np

from headgate.ingest.pictures.meshes.mesh import MAX_TRIANGLES, Triangles, check_count
from headgate.ingest.pictures.problems import PictureProblem

Matrix = tuple[float, ...]
"""Twelve numbers, as `transform` lists them."""

_MAX_PLACED = 10_000
_MATRIX_NUMBERS = 12


@dataclass(frozen=True)
class Placed:
    """An object at its place; `path` is empty for one of the same file."""

    object_id: str
    path: str
    matrix: Matrix | None


@dataclass
class Mesh:
    """Corners, three numbers each, and triangles, three corners each."""

    corners: array[float] = field(default_factory=lambda: array("f"))
    ids: array[int] = field(default_factory=lambda: array("q"))

    def triangles(self) -> Triangles:
        places = np.frombuffer(self.corners, dtype=np.float32).reshape(-1, 3)
        ids = np.frombuffer(self.ids, dtype=np.int64)
        if len(ids) and (ids.min() < 0 or ids.max() >= len(places)):
            raise PictureProblem("damaged", "a triangle of corners that are not there")
        return places[ids].reshape(-1, 3, 3)


@dataclass
class Model:
    """What one XML file holds."""

    meshes: dict[str, Mesh] = field(default_factory=dict[str, Mesh])
    components: dict[str, list[Placed]] = field(default_factory=dict[str, list[Placed]])
    items: list[Placed] = field(default_factory=list[Placed])


class ModelReader:
    """Reads a model block by block."""

    def __init__(self) -> None:
        self._model = Model()
        self._mesh = Mesh()
        self._object_id = ""
        self._placed = 0
        self._parser = _strict_parser()
        self._parser.StartElementHandler = self._start

    def feed(self, block: bytes) -> None:
        try:
            self._parser.Parse(block, False)
        except (expat.ExpatError, KeyError, ValueError, OverflowError) as error:
            raise PictureProblem("damaged", f"XML: {error}") from None

    def close(self) -> Model:
        try:
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise PictureProblem("damaged", f"XML: {error}") from None
        return self._model

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "vertex":
            self._mesh.corners.extend(
                (float(attributes["x"]), float(attributes["y"]), float(attributes["z"]))
            )
        elif name == "triangle":
            ids = self._mesh.ids
            ids.extend((int(attributes["v1"]), int(attributes["v2"]), int(attributes["v3"])))
            if len(ids) > 3 * MAX_TRIANGLES:
                check_count(len(ids) // 3)
        else:
            self._start_other(name.rpartition(":")[2], attributes)

    def _start_other(self, name: str, attributes: dict[str, str]) -> None:
        if name == "object":
            self._object_id = attributes["id"]
        elif name == "mesh":
            self._mesh = self._model.meshes[self._object_id] = Mesh()
        elif name == "component":
            self._model.components.setdefault(self._object_id, []).append(self._place(attributes))
        elif name == "item":
            self._model.items.append(self._place(attributes))

    def _place(self, attributes: dict[str, str]) -> Placed:
        self._placed += 1
        if self._placed > _MAX_PLACED:
            raise PictureProblem("too_complex", f"more than {_MAX_PLACED} placed objects")
        path = next((text for name, text in attributes.items() if name.rpartition(":")[2] == "path"), "")
        return Placed(attributes["objectid"], path.lstrip("/"), _matrix(attributes.get("transform", "")))


def parse_relations(content: bytes) -> list[tuple[str, str]]:
    """Return type and target of the relations of a package."""
    found: list[tuple[str, str]] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name.rpartition(":")[2] == "Relationship":
            found.append((attributes.get("Type", ""), attributes.get("Target", "")))

    parser = _strict_parser()
    parser.StartElementHandler = start
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise PictureProblem("damaged", f"XML: {error}") from None
    return found


def _strict_parser() -> expat.XMLParserType:
    """Return a parser that refuses document types, and with them entities of every kind."""

    def refuse(*_: object) -> NoReturn:
        raise PictureProblem("damaged", "XML with a document type")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    return parser


def _matrix(text: str) -> Matrix | None:
    numbers = tuple(float(word) for word in text.split())
    if not numbers:
        return None
    if len(numbers) != _MATRIX_NUMBERS:
        raise ValueError("a transform has twelve numbers")
    return numbers
