"""`headgate config`: the settings, and where each came from."""

from __future__ import annotations

from itertools import groupby

import typer

from headgate.cli.output import AsJson, print_json, print_table
from headgate.kernel.settings import SECTIONS, config_path, list_values, load_settings

app = typer.Typer(no_args_is_help=True, help="Show the settings and where they come from.")


@app.command()
def show(*, as_json: AsJson = False) -> None:
    """Show each setting with its value and origin; secrets are masked."""
    values = list(list_values(load_settings()))
    if as_json:
        print_json({"config_file": config_path(), "settings": values})
        return
    for section, members in groupby(values, key=lambda value: value.section):
        heading = f"[{section}] {SECTIONS[section].__doc__}"
        rows = [(member.variable, member.value or "–", member.origin) for member in members]
        print_table(["variable", "value", "origin"], rows, title=heading)
    typer.echo(f"Settings file: {config_path()}" + ("" if config_path().exists() else " (not there)"))


@app.command()
def path() -> None:
    """Print where the settings file is, or would be."""
    typer.echo(str(config_path()))
