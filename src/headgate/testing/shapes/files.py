"""Shapes as the files that slicers read: STL, binary and as text, 3MF and OBJ."""

from __future__ import annotations

import io
import zipfile

import numpy as np

from headgate.testing.shapes.surfaces import Triangles

_HEADER_BYTES = 80
_DATE = (2026, 1, 1, 12, 0, 0)
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_RELATIONS = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Target="/3D/3dmodel.model" Id="rel0" '
    'Type="http://schemas.microsoft.com/3dmanufacturing/2013/01/3dmodel"/>%s</Relationships>'
)
_THUMBNAIL_RELATION = (
    '<Relationship Target="/Metadata/thumbnail.png" Id="rel1" '
    'Type="http://schemas.openxmlformats.org/package/2006/relationships/metadata/thumbnail"/>'
)
_TYPES = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="model" ContentType="application/vnd.ms-package.3dmanufacturing-3dmodel+xml"/>'
    '<Default Extension="png" ContentType="image/png"/></Types>'
)


def binary_stl(triangles: Triangles) -> bytes:
    records = np.zeros(len(triangles), dtype=_RECORD)
    records["corners"] = triangles
    records["normal"] = _normals(triangles)
    return bytes(_HEADER_BYTES) + np.uint32(len(triangles)).tobytes() + records.tobytes()


def ascii_stl(triangles: Triangles, *, name: str = "shape") -> bytes:
    lines = [f"solid {name}"]
    for normal, corners in zip(_normals(triangles).tolist(), triangles.tolist(), strict=True):
        lines += [f"  facet normal {_numbers(normal)}", "    outer loop"]
        lines += [f"      vertex {_numbers(corner)}" for corner in corners]
        lines += ["    endloop", "  endfacet"]
    return "\n".join([*lines, f"endsolid {name}", ""]).encode()


def obj(triangles: Triangles, *, name: str = "shape") -> bytes:
    corners, ids = _indexed(triangles)
    lines = [f"o {name}", *(f"v {_numbers(corner)}" for corner in corners.tolist())]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in ids.tolist()]
    return "\n".join([*lines, ""]).encode()


def three_mf(triangles: Triangles, *, thumbnail: bytes = b"") -> bytes:
    """Return a 3MF package; `thumbnail` is the bytes of a PNG picture."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        _add(package, "[Content_Types].xml", _TYPES.encode())
        _add(package, "_rels/.rels", (_RELATIONS % (_THUMBNAIL_RELATION if thumbnail else "")).encode())
        if thumbnail:
            _add(package, "Metadata/thumbnail.png", thumbnail)
        _add(package, "3D/3dmodel.model", _model(triangles).encode())
    return buffer.getvalue()


def _model(triangles: Triangles) -> str:
    corners, ids = _indexed(triangles)
    vertices = "".join(f'<vertex x="{x:.6g}" y="{y:.6g}" z="{z:.6g}"/>' for x, y, z in corners.tolist())
    faces = "".join(f'<triangle v1="{a}" v2="{b}" v3="{c}"/>' for a, b, c in ids.tolist())
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<model unit="millimeter" xml:lang="en-US" '
        'xmlns="http://schemas.microsoft.com/3dmanufacturing/core/2015/02"><resources>'
        '<object id="1" type="model"><mesh>'
        f"<vertices>{vertices}</vertices><triangles>{faces}</triangles></mesh></object></resources>"
        '<build><item objectid="1"/></build></model>'
    )


def _add(package: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add with a fixed date, so that the same shape gives the same bytes."""
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    package.writestr(entry, content)


def _indexed(triangles: Triangles) -> tuple[Triangles, np.ndarray[tuple[int, ...], np.dtype[np.intp]]]:
    corners, ids = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
    return corners, ids.reshape(-1, 3)


def _normals(triangles: Triangles) -> Triangles:
    with np.errstate(all="ignore"):  # files that are broken on purpose have corners that are no numbers
        normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        lengths = np.linalg.norm(normals, axis=-1, keepdims=True)
        return (normals / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _numbers(values: list[float]) -> str:
    return " ".join(f"{value:.6g}" for value in values)
