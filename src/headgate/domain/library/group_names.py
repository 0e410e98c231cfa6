"""What groups are called: by people, and before that by what was posted."""

from __future__ import annotations

from headgate.domain.errors import UserError
from headgate.domain.text import storable, typed_text

MAX_GROUP_NAME = 200
UNNAMED = "Album"


def album_name(*, caption: str, first_title: str) -> str:
    """Return the first line that was said with an album's first message, or the name of its first file."""
    lines = (typed_text(storable(line), max_length=MAX_GROUP_NAME) for line in caption.splitlines())
    return next((line for line in lines if line), "") or first_title[:MAX_GROUP_NAME] or UNNAMED


def check_group_name(typed: str) -> str:
    """Return a name as it is stored, or say what is wrong with it."""
    name = typed_text(storable(typed), max_length=MAX_GROUP_NAME + 1)
    if not 1 <= len(name) <= MAX_GROUP_NAME:
        raise UserError(f"A group needs a name of 1 to {MAX_GROUP_NAME} characters.", field="name")
    return name
