"""Nothing in the repository ties it to one machine or one mirror."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository import list_files, shown

pytestmark = pytest.mark.once

# Spelt in pieces, so that this file passes its own test.
REGISTRY_HOSTS = [
    ".".join(parts)
    for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"))
]
_LOCAL_PATH = re.compile(r"(?<![\w.~:/])/(?:work|home|root|Users)/\w")


def _texts() -> Iterator[tuple[Path, str]]:
    for path in list_files():
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def test_no_package_registry_is_named() -> None:
    naming = [(shown(path), host) for path, text in _texts() for host in REGISTRY_HOSTS if host in text]
    assert naming == []


def test_no_path_of_somebodys_machine_is_written_down() -> None:
    local = [
        f"{shown(path)}: {match[0]}"
        for path, text in _texts()
        if path.parent.name != "requirements"
        for match in _LOCAL_PATH.finditer(text)
    ]
    assert local == []
