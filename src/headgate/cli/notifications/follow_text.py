"""Follows in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from headgate.storage.notifications.follows import Follow, Switches

NoInApp = Annotated[bool, typer.Option("--no-in-app", help="Do not put it into the list on the pages.")]
NoPush = Annotated[bool, typer.Option("--no-push", help="Do not push it out to addresses.")]
PerOption = Annotated[
    Literal["chapter", "source"],
    typer.Option("--per", help="Tell a chapter once, or once of each source that has it."),
]
LanguagesOption = Annotated[
    list[str] | None,
    typer.Option("--language", metavar="TAG", help="Only in this language (en, pt-br); may be repeated."),
]


def switches_of(
    *, no_in_app: bool, no_push: bool, per: Literal["chapter", "source"], languages: Sequence[str] | None
) -> Switches:
    return Switches(not no_in_app, not no_push, per, tuple(languages or ()))


def kind_of(follow: Follow) -> str:
    if follow.search is not None:
        return "search"
    return "series" if follow.series_id is not None else "channel"


def switches_in_words(follow: Follow) -> str:
    """Say how somebody hears of what they follow."""
    ways = " and ".join([*(["in the list"] if follow.in_app else []), *(["by push"] if follow.push else [])])
    per = "" if follow.per == "chapter" else ", once a source"
    languages = f", only in {', '.join(follow.languages)}" if follow.languages else ""
    return f"{ways}{per}{languages}"
