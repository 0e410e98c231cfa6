"""The command line's shell: help, options, errors and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from headgate import __version__
from headgate.cli import errors
from headgate.cli.main import COMMANDS, app, load_command
from headgate.domain.errors import UserError
from headgate.storage.errors import Collided

pytestmark = pytest.mark.once

HEAVY = ("psycopg", "pydantic", "fastapi", "asyncpg", "prometheus_client")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The variables of a person who has set nothing."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HEADGATE_")}
    return kept | {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "share"), "NO_COLOR": "1"}


def _run(*arguments: str, environment: dict[str, str], **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from headgate.cli.main import run; run()", *arguments],
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_help_lists_every_command_without_loading_one() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == errors.OK
    assert [name for name in COMMANDS if f" {name} " not in result.output] == []


def test_the_help_needs_no_heavy_library(environment: dict[str, str]) -> None:
    program = (
        "import sys\nfrom headgate.cli.main import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print('HEAVY', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "HEAVY []" in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_listed_command_can_be_loaded_and_has_its_own_help(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        load_command(name).main(["--help"], prog_name=f"headgate {name}")
    assert ending.value.code == errors.OK
    assert f"Usage: headgate {name}" in capsys.readouterr().out


def test_the_version_is_printed(environment: dict[str, str]) -> None:
    result = _run("--version", environment=environment)
    assert (result.returncode, result.stdout) == (errors.OK, f"headgate {__version__}\n")


def test_a_mistyped_command_is_a_usage_error_with_a_suggestion(environment: dict[str, str]) -> None:
    result = _run("confg", environment=environment)
    assert result.returncode == errors.USAGE
    assert "Did you mean 'config'?" in result.stderr


def test_a_wrong_setting_is_one_sentence_and_code_3(environment: dict[str, str]) -> None:
    result = _run("config", "show", environment=environment, HEADGATE_WEB_PORT="many")
    assert result.returncode == errors.SETTINGS_WRONG
    assert result.stdout == ""
    assert result.stderr.startswith("Error: HEADGATE_WEB_PORT should be a valid integer")
    assert "Traceback" not in result.stderr


def test_the_help_of_a_command_works_also_with_wrong_settings(environment: dict[str, str]) -> None:
    result = _run("config", "show", "--help", environment=environment, HEADGATE_WEB_PORT="many")
    assert result.returncode == errors.OK


def test_debug_adds_the_traceback(environment: dict[str, str]) -> None:
    result = _run("--debug", "config", "show", environment=environment, HEADGATE_WEB_PORT="many")
    assert result.returncode == errors.SETTINGS_WRONG
    assert "Traceback" in result.stderr
    assert "Error: HEADGATE_WEB_PORT" in result.stderr


def test_a_reader_that_leaves_early_is_no_error_worth_a_word(environment: dict[str, str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-c", "from headgate.cli.main import run; run()", "config", "show"],
        env=environment,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert (result.returncode, result.stderr) == (errors.OUTPUT_CLOSED, "")


def test_the_data_folder_of_the_option_is_used(environment: dict[str, str], tmp_path: Path) -> None:
    result = _run("--data-dir", str(tmp_path / "here"), "config", "path", environment=environment)
    assert result.stdout.strip() == str(tmp_path / "here" / "headgate.toml")


def test_the_settings_file_of_the_option_is_used(environment: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "other.toml"
    file.write_text("[web]\nport = 9000\n")
    result = _run("--config", str(file), "config", "show", "--json", environment=environment)
    values = {value["variable"]: value for value in json.loads(result.stdout)["settings"]}
    assert values["HEADGATE_WEB_PORT"]["value"] == "9000"
    assert values["HEADGATE_WEB_PORT"]["origin"] == f"file {file}"


def test_a_settings_file_that_is_not_there_is_a_usage_error(environment: dict[str, str]) -> None:
    result = _run("--config", "/nonexistent.toml", "config", "path", environment=environment)
    assert result.returncode == errors.USAGE


def _explained(error: Exception, *, debug: bool = False) -> int:
    with pytest.raises(typer.Exit) as ending, errors.explained_errors(debug=debug):
        raise error
    return ending.value.exit_code


def test_a_user_error_is_told_with_its_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    assert _explained(UserError("The door is shut.", remedy="Knock.")) == errors.FAILED
    assert capsys.readouterr().err == "Error: The door is shut.\n  Knock.\n"


def test_a_database_that_is_away_has_its_own_code(capsys: pytest.CaptureFixture[str]) -> None:
    from headgate.storage.errors import DatabaseAway

    error = DatabaseAway("no route to postgresql://me:hunter2@host/db")
    assert _explained(error) == errors.DATABASE_AWAY
    told = capsys.readouterr().err
    assert told.startswith("Error: The database cannot be reached: no route to")
    assert "hunter2" not in told


def test_a_fault_of_ours_is_one_line_and_code_70(capsys: pytest.CaptureFixture[str]) -> None:
    assert _explained(KeyError("oops")) == errors.FAULT
    told = capsys.readouterr().err
    assert told.startswith("Error: Something went wrong: KeyError: 'oops'.\n")
    assert "--debug" in told


def test_a_change_that_gave_way_to_another_is_to_be_run_again() -> None:
    code, lines = errors.explain(Collided("deadlock detected"))
    assert (code, lines[-1]) == (errors.FAILED, "Nothing was done: run it again.")


def test_an_error_that_comes_alone_out_of_a_task_group_is_told_as_itself() -> None:
    group = ExceptionGroup("outer", [ExceptionGroup("inner", [UserError("The door is shut.")])])
    assert errors.explain(group) == (errors.FAILED, ["The door is shut."])


@pytest.mark.parametrize(("typed", "offered"), [("do", "doctor"), ("config s", "show")])
def test_the_shell_can_complete_commands(environment: dict[str, str], typed: str, offered: str) -> None:
    line = f"headgate {typed}"
    asked = {"_HEADGATE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    assert offered in _run(environment=environment, **asked).stdout.split()


def test_a_command_that_ends_itself_is_left_alone() -> None:
    assert _explained(typer.Exit(5)) == 5
