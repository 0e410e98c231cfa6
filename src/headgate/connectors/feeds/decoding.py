"""From bytes to text: what encoding a document really has, whatever it and its server say."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from headgate.domain.errors import Malformed

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# A document without a mark begins with `<` or `{`, and is wide where zeros stand beside it.
_WIDE = re.compile(rb"[<{]\0[^\0]\0|(\0[<{]\0[^\0])")
_DECLARED = re.compile(rb"\s{0,64}<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}[\"']([\w.:-]{1,40})[\"']")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
# Python knows stranger codecs, some of them slow on purpose; these are those of the web.
_OF_THE_WEB = re.compile(
    r"(utf-?(8|16|32)|iso-?8859|latin|windows-?\d|cp\d|koi8|gb|big5|euc|shift_?jis|s-?jis|iso-?2022|us-ascii"
    r"|ascii|mac|tis-?620)",
    re.IGNORECASE,
)
# Their texts look like ASCII, so that UTF-8 would take them.
_STATEFUL = re.compile(r"iso-?2022|utf-?(16|32)", re.IGNORECASE)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_LOOKED_AT = 1024
_MAX_CONTROLS = 0.1


@dataclass(frozen=True)
class Text:
    """A document's text, and what was wrong with its encoding."""

    text: str
    warnings: tuple[str, ...] = ()


def decode(body: bytes, content_type: str) -> Text:
    """Return the text of a document without control characters; raise `Malformed` if it is none."""
    text, warnings = _decode(body, content_type)
    start = text[:_LOOKED_AT]
    if len(_CONTROLS.findall(start)) > _MAX_CONTROLS * len(start):
        raise Malformed("this is a file of another kind (a picture, an archive, a program?), not a feed")
    cleaned, found = _CONTROLS.subn("", text)
    if found:
        warnings = (*warnings, f"{found} control characters were left out")
    return Text(cleaned, warnings)


def _decode(body: bytes, content_type: str) -> tuple[str, tuple[str, ...]]:
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return _leniently(body[len(mark) :], encoding)
    if wide := _WIDE.match(body):
        return _leniently(body, "utf-16-be" if wide[1] else "utf-16-le")
    named = _named(body, content_type)
    for encoding in (*(name for name in named if _STATEFUL.match(name)), "utf-8", *named):
        text = _strictly(body, encoding)
        if text is not None:
            return text, ()
    # Mostly UTF-8 with some bad bytes, or one of the many that never say that they are of Western Windows.
    text = body.decode("utf-8", "replace")
    if text.count("\ufffd") * 20 > sum(byte > 127 for byte in body[:65536]):
        text = body.decode("windows-1252", "replace")
    return text, ("the encoding of the document is broken: some letters may be wrong",)


def _leniently(body: bytes, encoding: str) -> tuple[str, tuple[str, ...]]:
    text = _strictly(body, encoding)
    if text is not None:
        return text, ()
    return body.decode(encoding, "replace"), (
        "the encoding of the document is broken: some letters are lost",
    )


def _strictly(body: bytes, encoding: str) -> str | None:
    try:
        return body.decode(encoding)
    except (UnicodeError, LookupError):
        return None


def _named(body: bytes, content_type: str) -> list[str]:
    declared = _DECLARED.match(body)
    charset = _CHARSET.search(content_type[:200])
    names = [declared[1].decode("ascii", "replace") if declared else "", charset[1] if charset else ""]
    return ["gb18030" if name.lower() == "gb2312" else name for name in names if _OF_THE_WEB.match(name)]
