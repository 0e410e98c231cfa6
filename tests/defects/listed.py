"""The defects that `make mutants` puts back, read from the `.toml` files beside this one.

Each says in a sentence what goes wrong, which text to replace in which file, and which tests must then fail.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]


@dataclass(frozen=True)
class Change:
    """One text of one file, and what a mutant has in its place."""

    file: str
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Replace the text in a copy of the repository."""
        path = root / self.file
        path.write_text(path.read_text(encoding="utf-8").replace(self.old, self.new), encoding="utf-8")


@dataclass(frozen=True)
class Mutant:
    """A defect that can be put back, and the tests that claim to notice it."""

    name: str
    defect: str
    changes: tuple[Change, ...]
    tests: tuple[str, ...]
    area: str
    """The name of its file, without the ending."""


def list_mutants() -> list[Mutant]:
    """Return every mutant of every file, in the order of the files' names."""
    return [
        _mutant(row, path.stem)
        for path in sorted(FOLDER.glob("*.toml"))
        for row in tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])
    ]


def _mutant(row: dict[str, Any], area: str) -> Mutant:
    changes = (row, *row.get("also", ()))
    return Mutant(
        name=row["name"],
        defect=row["defect"],
        changes=tuple(Change(file=c["file"], old=c["old"], new=c["new"]) for c in changes),
        tests=tuple(row["tests"]),
        area=area,
    )
