"""Options that make up messages together, in the order in which they were typed.

The parser collects each option by itself; which of them came first is only in its record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import typer
from typer.core import TyperCommand

from headgate.domain.errors import UserError

Piece = Literal["text", "media", "caption"]
_PIECES: tuple[Piece, ...] = ("text", "media", "caption")
_ORDER = "headgate.part_order"


class PartsCommand(TyperCommand):
    """A command that remembers in which order the messages were given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        ctx.meta[_ORDER] = [param.name for param in order if param.name in _PIECES]
        return super().parse_args(ctx, args)


@dataclass(frozen=True)
class TypedPart:
    """One message as it was typed: a text, or a file with its caption."""

    text: str = ""
    file: Path | None = None


def typed_parts(
    ctx: typer.Context, *, texts: Iterable[str], files: Iterable[Path], captions: Iterable[str]
) -> list[TypedPart]:
    """Return the messages in their order; a caption belongs to the file before it."""
    order = cast("list[Piece]", ctx.meta.get(_ORDER, []))
    return join_pieces(order, texts=iter(texts), files=iter(files), captions=iter(captions))


def join_pieces(
    order: Iterable[Piece], *, texts: Iterator[str], files: Iterator[Path], captions: Iterator[str]
) -> list[TypedPart]:
    parts: list[TypedPart] = []
    for piece in order:
        if piece == "text":
            parts.append(TypedPart(next(texts)))
        elif piece == "media":
            parts.append(TypedPart(file=next(files)))
        elif not parts or parts[-1].file is None or parts[-1].text:
            raise UserError(
                "A --caption belongs to the --media right before it.",
                remedy='For example: --media picture.jpg --caption "A view".',
            )
        else:
            parts[-1] = TypedPart(next(captions), parts[-1].file)
    return parts
