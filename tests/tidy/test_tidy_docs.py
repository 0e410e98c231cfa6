"""The documentation is true: links resolve, settings and exit codes are all there."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import get_args

import pytest
from repository import ROOT, SOURCE, list_under, shown

from headgate.cli import errors
from headgate.cli.main import COMMANDS
from headgate.domain.streams.channel_settings import ChannelSettings
from headgate.domain.streams.filters import Verdict

pytestmark = pytest.mark.once

MAX_WORDS_OF_THE_README = 600
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)
_MODULE = re.compile(
    r"`(?:headgate/)?(?P<path>(?:access|app|catalogue|cli|connectors|dev|domain|intake|jobs|lanes|outflow|storage|testing|web)/[\w/]+\.(?:py|sql))`"
)
_CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMAND_LINE = (ROOT / "docs/guides/command-line.md").read_text(encoding="utf-8")


def _anchors(path: Path) -> set[str]:
    """Return the anchors that a page's headings get."""
    text = _CODE_BLOCK.sub("", path.read_text(encoding="utf-8"))
    headings = (match["text"].lower() for match in _HEADING.finditer(text))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings}


def _is_dead(page: Path, target: str) -> bool:
    if target.startswith(("https://", "http://", "mailto:")):
        return False
    name, _, anchor = target.partition("#")
    path = (page.parent / name).resolve() if name else page
    return not path.exists() or bool(anchor and anchor not in _anchors(path))


def test_every_link_in_the_docs_leads_somewhere() -> None:
    dead = [
        f"{shown(page)} -> {match['target']}"
        for page in list_under(ROOT, ".md")
        for match in _LINK.finditer(_CODE_BLOCK.sub("", page.read_text(encoding="utf-8")))
        if _is_dead(page, match["target"])
    ]
    assert not dead


def test_every_module_that_the_docs_name_is_there() -> None:
    missing = [
        f"{shown(page)}: {match['path']}"
        for page in [ROOT / "CONTRIBUTING.md", *list_under(ROOT / "docs", ".md")]
        if "decisions" not in page.parts
        for match in _MODULE.finditer(page.read_text(encoding="utf-8"))
        if not (SOURCE / match["path"]).exists()
    ]
    assert not missing


def test_every_page_of_the_docs_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs/index.md"
    linked = {
        (index.parent / match["target"].partition("#")[0]).resolve()
        for match in _LINK.finditer(index.read_text(encoding="utf-8"))
    }
    assert [shown(page) for page in list_under(ROOT / "docs", ".md") if page not in {*linked, index}] == []


def test_the_readme_is_short_and_begins_with_the_two_commands() -> None:
    assert len(README.split()) < MAX_WORDS_OF_THE_README
    first_block = _CODE_BLOCK.search(README)
    assert first_block is not None
    assert [line.split("#")[0].strip() for line in first_block[0].splitlines()[1:-1]] == [
        "make run",
        "make test",
    ]
    assert len(README[: first_block.start()].splitlines()) < 10


def test_the_page_of_settings_is_up_to_date() -> None:
    rendered = runpy.run_path(str(ROOT / "scripts/generate"))["render_configuration"]()
    written = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    assert written == rendered, "run `make schema`"


def test_every_setting_of_channels_and_every_verdict_is_documented() -> None:
    guide = (ROOT / "docs/guides/settings-of-channels.md").read_text(encoding="utf-8")
    names = [*ChannelSettings.model_fields, *get_args(Verdict)]
    assert [name for name in names if f"`{name}`" not in guide] == []


def test_every_exit_code_is_documented() -> None:
    codes = [value for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)]
    assert len(codes) == len(set(codes))
    assert [code for code in codes if f"| {code} |" not in COMMAND_LINE] == []


def test_every_command_is_documented() -> None:
    assert [name for name in COMMANDS if f"`headgate {name}" not in COMMAND_LINE] == []


def test_the_changelog_says_what_is_coming() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "\n## [Unreleased]\n" in changelog
