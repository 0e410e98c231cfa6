"""The code keeps its own rules: layers, sizes, names, and whose clock it is."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository import ROOT, SOURCE, functions_of, list_under, parse, shown

pytestmark = pytest.mark.once

MAX_LINES_OF_A_FILE = 400
MAX_LINES_OF_A_FUNCTION = 60

BANNED_WORDS = {"manager", "helper", "util", "utility", "common", "misc", "data", "info"}
# `data dir` is what every program calls that folder; `data_received` is asyncio's own name.
ALLOWED_PHRASES = ("data_dir", "data_settings", "data_received")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_CLOCK_IN_SQL = re.compile(
    r"\b(now|clock_timestamp|statement_timestamp|transaction_timestamp|headgate_real_now)\s*\("
    r"|\b(current_timestamp|current_date|current_time|localtime|localtimestamp)\b",
    re.IGNORECASE,
)
# Leases, lanes and the engine's own rows are in real time, whatever the product's clock says.
REAL_TIME_FILES = {
    "clock_repair.sql",
    "downloads.sql",
    "intents.sql",
    "lanes.sql",
    "leases.sql",
    "sending.sql",
    "engine.sql",
    "engine_status.sql",
    "fetch_lines.sql",
    "files.sql",
    "listeners.sql",
    "room.sql",
    "vitals.sql",
}


def test_upper_layers_import_lower_ones_and_neighbours_never() -> None:
    # In a process of its own: it configures logging and silences loggers that exist.
    command = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(cache_dir=None))"
    done = subprocess.run(
        [sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_a_file_has_one_subject_and_so_few_lines() -> None:
    long = {
        shown(path): lines
        for path in list_under(SOURCE, ".py", ".sql", ".html", ".js")
        # The first migration holds every table.
        if path.name not in {"schema.sql", "0001_initial.sql"}
        and (lines := len(path.read_text("utf-8").splitlines())) > MAX_LINES_OF_A_FILE
    }
    assert not long


def test_a_function_fits_a_screen() -> None:
    long = {
        shown(path, function.lineno): lines
        for path in list_under(SOURCE, ".py")
        for function in functions_of(path)
        if (lines := (function.end_lineno or 0) - function.lineno + 1) > MAX_LINES_OF_A_FUNCTION
    }
    assert not long


def _words(name: str) -> list[str]:
    words = [word.lower() for word in _WORD.findall(name)]
    phrase = "_".join(words)
    for allowed in ALLOWED_PHRASES:
        phrase = phrase.replace(allowed, "")
    return [word for word in phrase.split("_") if word]


def _says_nothing(name: str, *, is_function: bool = False) -> bool:
    words = _words(name)
    as_verb = is_function and words[:1] == ["process"]
    return as_verb or any(word in BANNED_WORDS or word.removesuffix("s") in BANNED_WORDS for word in words)


def _empty_names(path: Path) -> Iterator[str]:
    for part in path.relative_to(SOURCE).with_suffix("").parts:
        if _says_nothing(part):
            yield shown(path)
    for node in ast.walk(parse(path)):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (is_function or isinstance(node, ast.ClassDef)) and _says_nothing(
            node.name, is_function=is_function
        ):
            yield f"{shown(path, node.lineno)} {node.name}"


def test_names_say_what_a_thing_is() -> None:
    assert [name for path in list_under(SOURCE, ".py") for name in _empty_names(path)] == []


@pytest.mark.parametrize(
    ("name", "empty"),
    [
        ("QueueManager", True),
        ("string_utils", True),
        ("get_info", True),
        ("process_page", True),
        ("spawn_process", False),
        ("replace_data_dir", False),
        ("DataSettings", False),
        ("information", False),
    ],
)
def test_the_rule_for_names_means_whole_words(name: str, *, empty: bool) -> None:
    assert _says_nothing(name, is_function=True) is empty


def test_every_folder_and_module_says_what_it_is_for() -> None:
    silent = [shown(path) for path in list_under(SOURCE, ".py") if not ast.get_docstring(parse(path))]
    without = [
        shown(folder)
        for folder in {path.parent for path in list_under(SOURCE, ".py")}
        if not (folder / "__init__.py").exists()
    ]
    assert (silent, without) == ([], [])


def test_queries_take_the_time_as_a_parameter() -> None:
    reading = [
        f"{shown(path, number)} {line.strip()}"
        for path in list_under(SOURCE / "storage", ".sql")
        if path.parent.name != "migrations" and path.name not in {*REAL_TIME_FILES, "schema.sql"}
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if _CLOCK_IN_SQL.search(line.partition("--")[0])
    ]
    assert not reading


def test_files_in_real_time_ask_for_it_in_the_one_way_that_a_simulator_can_replace() -> None:
    direct = [
        f"{shown(path, number)} {line.strip()}"
        for path in list_under(SOURCE / "storage", ".sql")
        if path.name in REAL_TIME_FILES
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        for match in _CLOCK_IN_SQL.finditer(line.partition("--")[0])
        if match[1] != "headgate_real_now"
    ]
    assert not direct


def test_the_engines_tables_are_named_in_its_own_sql_alone() -> None:
    """Everything else asks the view `live_job`."""
    storage = SOURCE / "storage"
    own = (storage / "jobs", storage / "migrations", storage / "schema.sql", storage / "describe.sql")
    strangers = [
        shown(path)
        for path in list_under(storage, ".sql")
        if not any(path.is_relative_to(place) for place in own)
        and re.search(r"\bpgqueuer", path.read_text(encoding="utf-8"))
    ]
    assert strangers == []
