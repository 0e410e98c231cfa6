"""Settings: where values come from, what is refused, and what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from headgate.kernel.logs import MASK
from headgate.kernel.settings import (
    SECTIONS,
    Settings,
    SettingsError,
    SettingValue,
    config_path,
    list_values,
    load_settings,
    variable_of,
)

pytestmark = pytest.mark.once


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "headgate.toml"


def _load(environment: dict[str, str] | None = None, *, file: Path | None = None) -> Settings:
    return load_settings(environment or {}, config_file=file or Path("/nonexistent/headgate.toml"))


def _shown(settings: Settings, variable: str) -> SettingValue:
    return next(value for value in list_values(settings) if value.variable == variable)


def test_nothing_has_to_be_set() -> None:
    settings = _load()
    assert settings.web.port == 8420
    assert settings.database.url is None
    assert {value.origin for value in list_values(settings)} == {"default"}


def test_a_value_comes_from_the_environment_then_the_file_then_the_default(file: Path) -> None:
    file.write_text('[web]\nport = 9000\nhost = "127.0.0.2"\n')
    settings = _load({"HEADGATE_WEB_PORT": "9001"}, file=file)
    assert (settings.web.port, settings.web.host, settings.web.session_days) == (9001, "127.0.0.2", 30)
    assert _shown(settings, "HEADGATE_WEB_PORT").origin == "environment"
    assert _shown(settings, "HEADGATE_WEB_HOST").origin == f"file {file}"
    assert _shown(settings, "HEADGATE_WEB_SESSION_DAYS").origin == "default"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HEADGATE_WEB_PORT", "many"),
        ("HEADGATE_WEB_PORT", "0"),
        ("HEADGATE_WEB_PUBLIC_URL", "headgate.example"),
        ("HEADGATE_JOBS_TICK_S", "-1"),
        ("HEADGATE_INTAKE_EVERY_NTH", "0"),
        ("HEADGATE_INTAKE_IDLE_THRESHOLD", "often"),
        ("HEADGATE_INTAKE_SKIP_WINDOW_S", "-1"),
        ("HEADGATE_INTAKE_OFTEN_S", "nan"),
        ("HEADGATE_INTAKE_NORMAL_S", "120"),
        ("HEADGATE_INTAKE_RARELY_S", "inf"),
        ("HEADGATE_JOBS_MAX_ATTEMPTS", ""),
        ("HEADGATE_LOG_LEVEL", "loud"),
        ("HEADGATE_DEMO_SPEED", "0"),
        ("HEADGATE_DATABASE_POOL_SIZE", "1"),
    ],
)
def test_a_wrong_value_names_its_variable_value_and_origin(variable: str, value: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        _load({variable: value})
    message = str(refusal.value)
    assert message.startswith(f"{variable} ")
    assert message.endswith(f"(it is {value!r}); set in: environment.")


def test_a_wrong_value_in_the_file_names_the_file(file: Path) -> None:
    file.write_text("[web]\nport = 70000\n")
    with pytest.raises(SettingsError, match=rf"HEADGATE_WEB_PORT .* set in: file {file}\."):
        _load(file=file)


def test_all_faults_are_told_at_once(file: Path) -> None:
    file.write_text("[web]\nport = 70000\n")
    with pytest.raises(SettingsError) as refusal:
        _load({"HEADGATE_LOG_LEVEL": "loud", "HEADGATE_NONSENSE": "1"}, file=file)
    assert len(str(refusal.value).splitlines()) == 3


def test_a_wrong_secret_is_not_repeated() -> None:
    with pytest.raises(SettingsError) as refusal:
        _load({"HEADGATE_DATABASE_URL": "mysql://me:hunter2@host/db"})
    assert "HEADGATE_DATABASE_URL must begin with postgresql://" in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


def test_an_unknown_variable_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        SettingsError, match=r"no setting HEADGATE_WEB_PROT\. Did you mean HEADGATE_WEB_PORT\?"
    ):
        _load({"HEADGATE_WEB_PROT": "9000"})


def test_an_unknown_variable_far_from_all_others_gets_no_suggestion() -> None:
    with pytest.raises(SettingsError) as refusal:
        _load({"HEADGATE_ZZZ": "1"})
    assert str(refusal.value) == "There is no setting HEADGATE_ZZZ."


def test_variables_of_others_and_of_the_tests_are_left_alone() -> None:
    environment = {"PATH": "/bin", "HEADGATE_TEST_DATABASE_URL": "x", "HEADGATE_CONFIG": "/nonexistent"}
    assert _load(environment).web.port == 8420


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[web]\nprot = 1\n", r"no setting `prot` in section \[web\] .* Did you mean port\?"),
        ("[databse]\npool_size = 4\n", r"there is no section \[databse\]\. Did you mean database\?"),
        ("port = 1\n", r"`port` stands outside of any \[section\]"),
        ("[web\n", r"headgate\.toml cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_wrong(file: Path, content: str, message: str) -> None:
    file.write_text(content)
    with pytest.raises(SettingsError, match=message):
        _load(file=file)


def test_a_file_that_is_no_text_is_refused(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="cannot be read"):
        _load(file=file)


def test_the_database_address_is_shown_without_its_password() -> None:
    settings = _load({"HEADGATE_DATABASE_URL": "postgresql://me:hunter2@host/db"})
    shown = _shown(settings, "HEADGATE_DATABASE_URL")
    assert (shown.value, shown.secret) == (f"postgresql://me:{MASK}@host/db", True)
    assert "hunter2" not in repr(settings)
    assert settings.database.url == SecretStr("postgresql://me:hunter2@host/db")


def test_an_empty_database_address_means_the_embedded_server() -> None:
    assert _load({"HEADGATE_DATABASE_URL": ""}).database.url is None


def test_paths_are_expanded_and_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _load({"HEADGATE_DATA_DIR": "~/kept"}).data.dir == tmp_path / "kept"
    assert _load({"HEADGATE_DATA_DIR": "kept"}).data.dir == Path.cwd() / "kept"


def test_addresses_of_platforms_are_web_addresses_without_a_slash_at_the_end() -> None:
    settings = _load({"HEADGATE_MANGADEX_API": "http://127.0.0.1:9/"})
    assert settings.mangadex.api == "http://127.0.0.1:9"
    with pytest.raises(SettingsError, match="HEADGATE_MANGADEX_AUTH must begin with http://"):
        _load({"HEADGATE_MANGADEX_AUTH": "auth.mangadex.org"})


def test_the_settings_file_is_in_the_data_folder_unless_named(tmp_path: Path) -> None:
    assert config_path({"HEADGATE_DATA_DIR": str(tmp_path)}) == tmp_path / "headgate.toml"
    named = {"HEADGATE_DATA_DIR": str(tmp_path), "HEADGATE_CONFIG": "/etc/other.toml"}
    assert config_path(named) == Path("/etc/other.toml")


def test_the_data_folder_follows_the_systems_wish(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert _load().data.dir == tmp_path / "headgate"


def test_settings_do_not_change_once_read(tmp_path: Path) -> None:
    settings = _load()
    with pytest.raises(ValidationError):
        settings.web.port = 1
    moved = settings.replace_data_dir(tmp_path)
    assert (moved.data.dir, moved.web) == (tmp_path, settings.web)


def test_levels_are_read_in_any_case() -> None:
    assert _load({"HEADGATE_LOG_LEVEL": "DEBUG"}).log.level == "debug"


def test_every_setting_says_what_it_does() -> None:
    fields = {
        variable_of(section, name): field.description
        for section, model in SECTIONS.items()
        for name, field in model.model_fields.items()
    }
    assert [variable for variable, text in fields.items() if not (text or "").endswith(".")] == []
