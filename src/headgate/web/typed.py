"""What people type, made harmless."""

from __future__ import annotations

from fastapi import Request
from starlette.datastructures import FormData

_MAX_FIELDS = 10_000
_MAX_FIELD_BYTES = 8 * 1000 * 1000
"""Room for the ids of a hundred thousand groups; what a whole request may have is limited before."""
AROUND_A_FILE_BYTES = 64 * 1024
"""What a form needs beside the file that it carries."""


async def read_form(request: Request) -> FormData:
    """Return the fields of a form; it is read once, whoever asks first."""
    return await request.form(max_fields=_MAX_FIELDS, max_part_size=_MAX_FIELD_BYTES)


def local_path(target: str) -> str:
    """Return an address on this site, or the first page if it leads elsewhere."""
    if not target.startswith("/") or target.startswith(("//", "/\\")) or not target.isprintable():
        return "/"
    return target
