"""What people read is plain: pages, --help, the API, the guides, and errors, which name no command."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import typer
from fastapi import FastAPI
from repository import ROOT, SOURCE, list_under, parse, shown
from typer.testing import CliRunner

from headgate.cli.main import COMMANDS, app, load_command
from headgate.web.api import ROUTES as API_ROUTES
from headgate.web.door import install

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


# Phrases that read as translated, and words with a plainer one.
CLUMSY = re.compile(
    r"how you are told|look now|look for it|take away|bring a whole|as its rhythm|of what is left"
    r"|messages in it|messages scanned|next fires?|looked at|so long until|made up for"
    r"|\b(?:mend|whoever|nobody|anew|remainder)\b",
    re.IGNORECASE,
)
# Words of the code that people should not meet; each has a plain one in the glossary.
BANNED = re.compile(
    CLUMSY.pattern + r"|dead letter|\bfires?\b|\bmiss(?:es)?\b|\b(?-i:HOT|WARM|COLD)\b|\btiers?\b"
    r"|\b(?:lens(?:es)?|sightings?|sweep|swept|watch|watches|prepare|hole|holes)\b",
    re.IGNORECASE,
)
# Names that people type: commands, options and their values.
TYPED = re.compile(r"`[^`]*`|--[a-z-]+", re.IGNORECASE)
_CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
DOCS = ROOT / "docs"
# They explain the code, in its words.
FOR_DEVELOPERS = {"reading-streams", "jobs", "lanes", "connectors", "testing", "benchmarks"}
DEVELOPERS = {"bench", "sim"}
_MARKUP = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", re.DOTALL)


_ERRORS = {"UserError", "NotFound", "Forbidden"}


def _error_texts(path: Path) -> Iterator[ast.Constant]:
    """Yield the messages and remedies of errors for people."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _ERRORS:
            yield from _texts_of(node)


def test_errors_have_no_clumsy_words() -> None:
    assert not [
        shown(path, text.lineno)
        for path in list_under(SOURCE, ".py")
        for text in _error_texts(path)
        if CLUMSY.search(TYPED.sub(" ", str(text.value)))
    ]


def test_pages_have_plain_words() -> None:
    found = {
        shown(path): BANNED.findall(_MARKUP.sub(" ", path.read_text("utf-8")))
        for path in list_under(SOURCE, ".html")
    }
    assert not {path: words for path, words in found.items() if words}


def _prose(path: Path) -> str:
    """Return the text of a guide without what people type, and without its part for developers."""
    text = _CODE_BLOCK.sub(" ", path.read_text("utf-8")).partition("\nFor developers:")[0]
    return TYPED.sub(" ", text)


@pytest.mark.parametrize("path", list_under(DOCS / "guides", ".md"), ids=lambda path: path.stem)
def test_guides_have_plain_words(path: Path) -> None:
    banned = CLUMSY if path.stem in FOR_DEVELOPERS else BANNED
    assert not banned.findall(_prose(path))


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/glossary.md", "docs/configuration.md"])
def test_what_people_read_first_has_no_clumsy_words(name: str) -> None:
    assert not CLUMSY.findall(TYPED.sub(" ", (ROOT / name).read_text("utf-8")))


def _described(value: Any, name: str = "") -> Iterator[str]:
    """Go through paths, names and descriptions of the API."""
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield key.replace("_", " ").replace("-", " ")
            yield from _described(inner, key)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _described(inner, name)
    elif isinstance(value, str) and name in {"description", "enum"}:
        yield value


def test_the_description_of_the_api_has_plain_words() -> None:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    install(app, API_ROUTES)
    found = {text: BANNED.findall(text) for text in _described(app.openapi())}
    assert not {text: words for text, words in found.items() if words}


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
