"""`headgate user`, as a person types it."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from headgate.cli.main import app


def user(database_url: str, folder: Path, *arguments: str, typed: str = "") -> Result:
    environment = {"HEADGATE_DATABASE_URL": database_url, "HEADGATE_DATA_DIR": str(folder)}
    return CliRunner().invoke(app, ["user", *arguments], input=typed, env=environment, prog_name="headgate")


def test_users_are_added_listed_changed_and_removed(database_url: str, tmp_path: Path) -> None:
    secret = "correct horse battery\n"
    added = user(database_url, tmp_path, "add", "Ada", "--role", "admin", "--password-stdin", typed=secret)
    assert added.exit_code == 0, added.stderr
    assert user(database_url, tmp_path, "add", "Bo", "--password-stdin", typed=secret).exit_code == 0
    again = user(database_url, tmp_path, "add", "bo", "--password-stdin", typed=secret)
    assert again.exit_code == 1
    assert "already" in again.stderr
    listed = json.loads(user(database_url, tmp_path, "list", "--json").stdout)
    assert [(line["name"], line["role"]) for line in listed] == [("Ada", "admin"), ("Bo", "member")]
    assert user(database_url, tmp_path, "password", "Bo", "--password-stdin", typed=secret).exit_code == 0
    assert user(database_url, tmp_path, "remove", "Bo", "--yes").exit_code == 0
    assert len(json.loads(user(database_url, tmp_path, "list", "--json").stdout)) == 1


def test_the_last_administrator_stays(database_url: str, tmp_path: Path) -> None:
    secret = "correct horse battery\n"
    user(database_url, tmp_path, "add", "Ada", "--role", "admin", "--password-stdin", typed=secret)
    removed = user(database_url, tmp_path, "remove", "Ada", "--yes")
    assert removed.exit_code == 1
    assert "last administrator" in removed.stderr
    assert user(database_url, tmp_path, "role", "Ada", "member").exit_code == 1


def test_weak_passwords_and_unknown_names_are_refused(database_url: str, tmp_path: Path) -> None:
    weak = user(database_url, tmp_path, "add", "Ada", "--password-stdin", typed="short\n")
    assert weak.exit_code == 1
    assert "Error:" in weak.stderr
    unknown = user(database_url, tmp_path, "remove", "Nobody", "--yes")
    assert unknown.exit_code == 1
    assert "no user 'Nobody'" in unknown.stderr
