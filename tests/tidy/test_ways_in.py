"""Commands, pages and the API only parse and render: what changes something is an action below them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

import pytest
from repository import SOURCE, list_under, parse

from headgate.storage.queries import list_query_files

pytestmark = pytest.mark.once

WAYS_IN = ("cli", "web")
_WRITES = re.compile(r"\b(insert\s+into|update\s+\w+|delete\s+from|pg_notify)\b", re.IGNORECASE)
_LOCKS = re.compile(r"\bfor\s+(no\s+key\s+)?update\b", re.IGNORECASE)
_COMMENT = re.compile(r"--[^\n]*")

Name = tuple[str, str]
"""A module under `headgate`, and a function in it."""


@cache
def _writing_queries() -> frozenset[Name]:
    return frozenset(
        (query.file, query.name)
        for file in list_query_files()
        for query in file
        if _WRITES.search(_LOCKS.sub("", _COMMENT.sub("", query.sql)))
    )


def _is_ending(node: ast.stmt) -> TypeGuard[ast.ClassDef]:
    """Tell whether a class writes what is left to the end of a transaction."""
    return isinstance(node, ast.ClassDef) and any(
        isinstance(part, ast.AsyncFunctionDef) and part.name == "finish" for part in node.body
    )


def _module(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def _used(node: ast.AST, path: Path) -> Iterator[Name]:
    """Go through the functions of other modules, and of its own, that a part of a module names."""
    names, modules = _imported(path)
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield names.get(part.id, (_module(path), part.id))
        elif (
            isinstance(part, ast.Attribute)
            and isinstance(part.value, ast.Name)
            and (module := modules.get(part.value.id))
        ):
            yield module, part.attr


@cache
def _imported(path: Path) -> tuple[dict[str, Name], dict[str, str]]:
    """Return what a module imports, by the name that it has there: functions, and modules."""
    names: dict[str, Name] = {}
    modules: dict[str, str] = {}
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("headgate."):
            module = str(node.module).removeprefix("headgate.")
            for alias in node.names:
                here = alias.asname or alias.name
                names[here] = (module, alias.name)
                modules[here] = f"{module}.{alias.name}"
    return names, modules


@cache
def _writing_functions() -> frozenset[Name]:
    """Return the functions of storage that write, themselves or through others."""
    writing: set[Name] = set()
    calls: dict[Name, set[Name]] = {}
    for path in list_under(SOURCE / "storage", ".py"):
        sql = str(path.relative_to(SOURCE / "storage").with_suffix(".sql"))
        for node in parse(path).body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_ending(node):
                continue
            function = (_module(path), node.name)
            calls[function] = set(_used(node, path))
            queries = set(re.findall(r'\bQ\["(\w+)"\]', ast.unparse(node).replace("'", '"')))
            if any((sql, query) in _writing_queries() for query in queries):
                writing.add(function)
    while more := {name for name, called in calls.items() if name not in writing and called & writing}:
        writing |= more
    return frozenset(writing)


def _writes_of(path: Path) -> set[str]:
    return {
        f"{module}.{name}"
        for module, name in _used(parse(path), path)
        if (module, name) in _writing_functions()
    }


def test_commands_pages_and_the_api_write_through_actions_alone() -> None:
    found = {
        str(path.relative_to(SOURCE)): writes
        for folder in WAYS_IN
        for path in list_under(SOURCE / folder, ".py")
        if (writes := _writes_of(path))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("function", "writes"),
    [
        (("storage.events", "publish"), True),
        (("storage.shelf.touched", "touch_items"), True),
        (("storage.reminders.media", "list_media"), False),
        (("storage.reminders.target_lists", "rename_list"), True),
        # Locks, and writes nothing.
        (("storage.reminders.target_lists", "lock_list"), False),
        # Writes through another function of its module.
        (("storage.channels.intake_settings", "set_channel"), True),
    ],
)
def test_what_writes_is_told_by_its_sql(function: Name, *, writes: bool) -> None:
    assert (function in _writing_functions()) is writes
