"""What people read is plain: no command where there may be no terminal."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository import SOURCE, list_under, parse, shown

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
