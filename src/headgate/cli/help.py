"""The type column of `--help`: what to type, and nothing for a switch."""

from __future__ import annotations

from typing import Any

from typer.core import TyperArgument, TyperOption

_NAMES = {
    "<bool>": "",
    "<str>": "TEXT",
    "<list[str]>": "TEXT",
    "<int>": "N",
    "<int range>": "N",
    "<float>": "N",
    "<float range>": "N",
    "<path>": "PATH",
    "<file>": "FILE",
    "<directory>": "FOLDER",
}


def install_plain_types() -> None:
    """Let Typer's help name types as people do; it offers no setting for that."""
    TyperOption.display_type_rich = _option_type
    TyperArgument.display_type_rich = _argument_type


def _option_type(self: TyperOption, ctx: Any) -> str:
    return self.metavar if self.metavar is not None else _name(self.display_type(ctx))


def _argument_type(self: TyperArgument, ctx: Any) -> str:
    """The name of an argument says what it is; only choices are worth a column."""
    shown = self.display_type(ctx)
    return "" if self.metavar is not None or shown in _NAMES else _name(shown)


def _name(shown: str) -> str:
    return _NAMES.get(shown, shown.removeprefix("<").removesuffix(">"))
