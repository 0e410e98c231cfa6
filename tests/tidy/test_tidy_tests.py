"""The tests keep their own rules: each asserts, and none is skipped without saying how to run it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository import TESTS, Function, functions_of, list_under, parse, shown

pytestmark = pytest.mark.once

TEST_FILES = [path for path in list_under(TESTS, ".py") if path.name.startswith("test_")]
# `expect` is the browser's; `eventually` asks again and fails at its deadline.
_FAILING = {"raises", "warns", "fail", "expect", "eventually"}
_SKIPS = {"skip", "skipif", "xfail", "importorskip"}


def _called_name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _asserts(function: Function) -> bool:
    """Tell whether a test can fail by itself: an assert, an expected error, or a named check."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = _called_name(node)
            if name in _FAILING or name.startswith(("check_", "assert_", "compare")):
                return True
    return False


def test_every_test_asserts_something() -> None:
    silent = [
        f"{shown(path, function.lineno)} {function.name}"
        for path in TEST_FILES
        for function in functions_of(path)
        if function.name.startswith("test_") and not _asserts(function)
    ]
    assert not silent


def test_every_test_file_holds_a_test() -> None:
    empty = [
        shown(path)
        for path in TEST_FILES
        if not any(function.name.startswith("test_") for function in functions_of(path))
    ]
    assert not empty


def _skips_without_a_variable(path: Path) -> Iterator[str]:
    nodes = list(ast.walk(parse(path)))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    called = {id(call.func) for call in calls}
    marks = [node for node in nodes if isinstance(node, ast.Attribute) and id(node) not in called]
    for mark in marks:
        if ast.unparse(mark) in {"pytest.mark.skip", "pytest.mark.xfail"}:
            yield shown(path, mark.lineno)
    for call in calls:
        is_skip = _called_name(call) in _SKIPS and "pytest" in ast.unparse(call.func)
        if is_skip and "HEADGATE_" not in ast.unparse(call):
            yield shown(path, call.lineno)


def test_a_skipped_test_names_the_variable_that_runs_it() -> None:
    skips = {place for path in list_under(TESTS, ".py") for place in _skips_without_a_variable(path)}
    assert sorted(skips) == []


def test_no_two_test_files_have_one_name() -> None:
    names = Counter(path.name for path in TEST_FILES)
    assert [name for name, count in names.items() if count > 1] == []


def _sleeps_outside_of_loops(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the sleeps that do not poll: a loop asks again, a bare sleep hopes."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.While | ast.For | ast.AsyncFor):
            continue
        if isinstance(child, ast.Call) and ast.unparse(child.func) == "time.sleep":
            yield child
        yield from _sleeps_outside_of_loops(child)


def test_no_test_sleeps_for_a_while_and_hopes() -> None:
    sleeping = [
        shown(path, call.lineno) for path in TEST_FILES for call in _sleeps_outside_of_loops(parse(path))
    ]
    assert not sleeping
