"""What people read is plain: pages, --help, and errors, which name no command on a page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from repository import SOURCE, list_under, parse, shown
from typer.testing import CliRunner

from headgate.cli.main import COMMANDS, app, load_command

pytestmark = pytest.mark.once


def _texts_of(tree: ast.AST) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node


def _remedies(path: Path) -> Iterator[ast.Constant]:
    """Yield the texts of what is passed as `remedy`."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.keyword) and node.arg == "remedy":
            yield from _texts_of(node.value)


def test_a_remedy_names_no_command() -> None:
    """`command` does, and only the CLI shows it."""
    assert not [
        shown(path, text.lineno)
        for path in list_under(SOURCE, ".py")
        for text in _remedies(path)
        if "headgate " in str(text.value)
    ]


# Words of the code that people should not meet; each has a plain one in the glossary.
BANNED = re.compile(
    r"how you are told|look now|look for it|take away|bring a whole|dead letter|as its rhythm|of what is left"
    r"|messages in it|messages scanned|next fires?|\bfires?\b|\bmiss(es)?\b|\b(HOT|WARM|COLD)\b"
    r"|\b(lens|sightings?|sweep|watch|prepare|remainder|mend|whoever|nobody)\b|looked at",
    re.IGNORECASE,
)
# Names that people type: commands, options and their values.
TYPED = re.compile(r"`[^`]*`|--[a-z-]+|hot\|warm\|cold\|auto", re.IGNORECASE)
DEVELOPERS = {"bench", "sim"}
_MARKUP = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", re.DOTALL)


def test_pages_have_plain_words() -> None:
    found = {
        shown(path): BANNED.findall(_MARKUP.sub(" ", path.read_text("utf-8")))
        for path in list_under(SOURCE, ".html")
    }
    assert not {path: words for path, words in found.items() if words}


def _commands(command: Any, path: list[str]) -> Iterator[tuple[list[str], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, [*path, name])


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - DEVELOPERS))
def test_help_has_plain_words_and_breaks_none(name: str) -> None:
    for path, command in _commands(load_command(name), [name]):
        shown_help = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "80"}).output
        flowing = " ".join(shown_help.replace("│", " ").split())
        assert "<bool>" not in shown_help, path
        text = TYPED.sub(" ", flowing.partition("Commands ")[0])
        assert not BANNED.search(text.partition("[OPTIONS]")[2]), (path, text)
        for parameter in command.params:
            named = parameter.display_type_rich(typer.Context(command))
            assert named in flowing, (path, parameter.name)
