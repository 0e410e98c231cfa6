"""The repository's own files, as the tidy tests see them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "headgate"
TESTS = ROOT / "tests"

# For a copy without git's own folder, or one that belongs to somebody else.
_IGNORED = {".git", ".venv", ".hypothesis", ".pytest_cache", ".ruff_cache", "__pycache__", "vendor", "demo"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def list_files() -> tuple[Path, ...]:
    """Return the files that git keeps or would keep; without git, those that look like it."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        paths = {path for path in ROOT.rglob("*") if not _IGNORED.intersection(path.relative_to(ROOT).parts)}
    else:
        paths = {ROOT / name for name in listed.stdout.split("\0") if name}
    return tuple(sorted(path for path in paths if path.is_file()))


def list_under(folder: Path, *suffixes: str) -> list[Path]:
    """Return the files of a folder with one of the suffixes."""
    return [path for path in list_files() if path.is_relative_to(folder) and path.suffix in suffixes]


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def functions_of(path: Path) -> Iterator[Function]:
    """Go through all functions and methods of a module."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def shown(path: Path, line: int | None = None) -> str:
    """Return a place as an editor understands it."""
    name = str(path.relative_to(ROOT))
    return name if line is None else f"{name}:{line}"
