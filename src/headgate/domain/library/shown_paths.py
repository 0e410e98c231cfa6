"""Paths from inside archives as people see them: readable, and harmless wherever they end up.

What could lead somewhere is percent-escaped: `../evil` shows as `%2E%2E/evil`, `/etc/passwd` as
`%2Fetc/passwd`.
"""

from __future__ import annotations

import re

MAX_SHOWN_LENGTH = 1_000
MAX_COMPONENT_LENGTH = 255

_KEPT_BEFORE_CUT = 3 / 4

# Wide and non-breaking spaces are common in real names; other separators and controls are not printable.
_PRINTABLE_SPACES = frozenset("\u00a0\u3000")
_PLAIN = re.compile(r"[\w+=,;@()\[\]{}!#$&' ~^-][\w+=,;@()\[\]{}!#$&'. ~^/-]*", re.ASCII)
_RESERVED = re.compile(
    r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\.|$| +\.| +$)", re.IGNORECASE
)
_DRIVE = re.compile(r"[A-Za-z]:")
_ESCAPE_LOOKALIKE = re.compile(r"%(?=[0-9A-Fa-f]{2})")
_ODD_PLAIN = re.compile(r"//|/\.|/$|[. ](?:/|$)|(?:^|/)(?:con|prn|aux|nul|com[0-9]|lpt[0-9])", re.IGNORECASE)


def shown_path(raw: str) -> str:
    """Return a path for display: relative, printable, of limited length, without `..` or reserved names."""
    if len(raw) <= MAX_COMPONENT_LENGTH and _PLAIN.fullmatch(raw) and not _ODD_PLAIN.search(raw):
        return raw
    path = raw.replace("\\", "/")
    prefix = "%2F" if path.startswith("/") else ""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    shown = prefix + "/".join(_shown_component(part, first=not index) for index, part in enumerate(parts))
    return _cut(shown, MAX_SHOWN_LENGTH) or "%2E"


def is_unsafe(raw: str) -> bool:
    """Tell whether a path would leave the folder it is extracted to, or be cut short by a NUL."""
    if ".." not in raw and "\0" not in raw and ":" not in raw and raw[:1] not in {"/", "\\"}:
        return False
    path = raw.replace("\\", "/")
    return (
        path.startswith("/")
        or "\0" in path
        or _DRIVE.match(path) is not None
        or any(part.rstrip(" ") == ".." for part in path.split("/"))
    )


def _shown_component(part: str, *, first: bool) -> str:
    if not part.strip(". "):
        return _escaped(part)
    shown = "".join(
        character if character.isprintable() or character in _PRINTABLE_SPACES else _escaped(character)
        for character in _ESCAPE_LOOKALIKE.sub("%25", part)
    )
    if _RESERVED.match(part) or (first and _DRIVE.match(part)):
        shown = shown.replace(":", "%3A", 1) if _DRIVE.match(part) else _escaped(shown[0]) + shown[1:]
    if part[-1] in ". ":
        shown = shown[:-1] + _escaped(part[-1])
    return _cut(shown, MAX_COMPONENT_LENGTH)


def _escaped(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))


def _cut(text: str, length: int) -> str:
    """Shorten a text in the middle, so that the ending of a file's name stays."""
    if len(text) <= length:
        return text
    before = int(length * _KEPT_BEFORE_CUT)
    # A cut must not leave a slash-dot-dot behind: the ellipsis joins what it stands between.
    return f"{text[:before]}…{text[len(text) - (length - before - 1) :]}"
