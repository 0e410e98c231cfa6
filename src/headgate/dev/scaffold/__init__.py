"""`headgate connector`: start a connector of your own, as a package that Headgate finds when installed."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from headgate.domain.errors import UserError

MAX_NAME_LENGTH = 30
FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "package.py": "src/{package}/__init__.py",
    "connector.py": "src/{package}/connector.py",
    "test_conformance.py": "tests/test_conformance.py",
}
"""The templates, and where each goes."""

app = typer.Typer(no_args_is_help=True, help="Write connectors to other platforms.")


@app.callback()
def connector() -> None:
    """Write connectors to other platforms."""


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of the platform: lower-case letters, digits and _.")],
    folder: Annotated[
        Path | None, typer.Option(help="Where to write it; by default a folder headgate-NAME here.")
    ] = None,
) -> None:
    """Create the package of a new connector, with its conformance test.

    It claims nothing yet and passes the suite. Add a capability to its manifest, and the suite says what is
    missing.
    """
    target = folder or Path(f"headgate-{name}")
    written = write_package(name, target)
    typer.echo(f"Created {target} with {len(written)} files. Next:")
    typer.echo(f"  cd {target} && pip install -e '.[test]' && pytest")


def write_package(name: str, folder: Path) -> list[Path]:
    """Write the package of a connector into a new or empty folder."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or len(name) > MAX_NAME_LENGTH:
        raise UserError(
            f"{name!r} cannot be the name of a connector.",
            remedy=f"Use up to {MAX_NAME_LENGTH} lower-case letters, digits and _, beginning with a letter.",
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is there already.", remedy="Choose another folder with --folder.")
    words = {"name": name, "package": f"headgate_{name}", "kind": _class_name(name)}
    templates = files("headgate.dev.scaffold") / "templates"
    written: list[Path] = []
    for template, place in FILES.items():
        path = folder / place.format(package=words["package"])
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (templates / f"{template}.tmpl").read_text(encoding="utf-8")
        path.write_text(Template(text).substitute(words), encoding="utf-8")
        written.append(path)
    return written


def _class_name(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
