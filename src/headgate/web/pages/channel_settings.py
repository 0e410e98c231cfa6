"""One channel: what it downloads now, and its settings for downloads; and those of all channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import Form, Response
from fastapi.responses import RedirectResponse

from headgate.catalogue.downloads import show_downloads
from headgate.domain.errors import NotFound, UserError
from headgate.domain.words.file_words import FETCH_CHOICES, ON_DELETE_CHOICES
from headgate.domain.words.times import size_text
from headgate.intake.channels.settings import (
    EffectiveSetting,
    SettingsLayer,
    change_settings,
    get_settings,
    list_inherited,
)
from headgate.storage.channels.channel_overview import NamedChannel, find_channels
from headgate.storage.database import Tx
from headgate.web.callers import Caller, CurrentCaller
from headgate.web.door import ADMIN, SIGNED_IN, Routes
from headgate.web.parts import CurrentSite, Site

routes = Routes()

_MEGABYTE = 1_000_000
_DEFAULTS: dict[str, Any] = {"fetch": "all", "fetch_max_bytes": 0, "on_delete": "keep"}


@dataclass(frozen=True)
class SettingsForm:
    """The fields of the form as they are filled in; empty: inherited."""

    fetch: str = ""
    fetch_max_mb: str = ""
    on_delete: str = ""

    @classmethod
    def of(cls, stored: dict[str, Any]) -> SettingsForm:
        limit = stored.get("fetch_max_bytes")
        return cls(
            fetch=stored.get("fetch", ""),
            fetch_max_mb="" if limit is None else f"{limit / _MEGABYTE:.6f}".rstrip("0").rstrip("."),
            on_delete=stored.get("on_delete", ""),
        )

    def read(self) -> dict[str, object]:
        """Return the changes of settings; None for what is inherited."""
        return {
            "fetch": self.fetch or None,
            "fetch_max_bytes": _read_limit(self.fetch_max_mb),
            "on_delete": self.on_delete or None,
        }


@routes.get("/channels/settings", door=SIGNED_IN)
async def show_settings(site: CurrentSite, caller: CurrentCaller) -> Response:
    """Show the settings for downloads of all channels."""
    return await _page(site, caller, None)


@routes.post("/channels/settings", door=ADMIN)
async def set_settings(
    site: CurrentSite,
    caller: CurrentCaller,
    fetch: Annotated[str, Form(max_length=20)] = "",
    fetch_max_mb: Annotated[str, Form(max_length=30)] = "",
    on_delete: Annotated[str, Form(max_length=20)] = "",
) -> Response:
    return await _change(site, caller, None, SettingsForm(fetch, fetch_max_mb, on_delete))


@routes.get("/channels/{channel_id}", door=SIGNED_IN)
async def show_channel(site: CurrentSite, caller: CurrentCaller, channel_id: UUID) -> Response:
    """Show a channel: what it downloads, and by which settings."""
    return await _page(site, caller, channel_id)


@routes.post("/channels/{channel_id}/settings", door=ADMIN)
async def set_channel_settings(
    site: CurrentSite,
    caller: CurrentCaller,
    channel_id: UUID,
    fetch: Annotated[str, Form(max_length=20)] = "",
    fetch_max_mb: Annotated[str, Form(max_length=30)] = "",
    on_delete: Annotated[str, Form(max_length=20)] = "",
) -> Response:
    return await _change(site, caller, channel_id, SettingsForm(fetch, fetch_max_mb, on_delete))


async def _change(site: Site, caller: Caller, channel_id: UUID | None, form: SettingsForm) -> Response:
    try:
        async with site.transaction() as tx:
            if channel_id is not None:
                await _get_channel(tx, channel_id)
            await change_settings(tx, SettingsLayer(channel_id), form.read(), now=site.parts.clock.now())
    except NotFound:
        raise
    except UserError as error:
        return await _page(site, caller, channel_id, form=form, problem=str(error))
    return RedirectResponse(f"{_path(channel_id)}?saved=1#settings", status_code=303)


async def _page(
    site: Site,
    caller: Caller,
    channel_id: UUID | None,
    *,
    form: SettingsForm | None = None,
    problem: str = "",
) -> Response:
    layer = SettingsLayer(channel_id)
    async with site.transaction() as tx:
        channel = None if channel_id is None else await _get_channel(tx, channel_id)
        stored = await get_settings(tx, layer)
        inherited = await list_inherited(tx, layer)
        downloads = await show_downloads(tx, channel_id)
    page = site.renderer.render(
        "channel.html",
        caller=caller,
        channel=channel,
        path=_path(channel_id),
        action=f"/channels/{channel_id}/settings" if channel_id else "/channels/settings",
        form=form or SettingsForm.of(stored),
        problem=problem,
        inherited={name: _inherited_text(name, inherited[name]) for name in _DEFAULTS},
        fetch_choices=FETCH_CHOICES,
        on_delete_choices=ON_DELETE_CHOICES,
        downloads=downloads,
        progress_of=site.hub.downloads.get,
    )
    page.status_code = 422 if problem else 200
    return page


async def _get_channel(tx: Tx, channel_id: UUID) -> NamedChannel:
    found = [one for one in await find_channels(tx, str(channel_id)) if one.id == channel_id]
    if not found or found[0].kind == "listing":
        raise NotFound("There is no such channel.", command="headgate channel list")
    return found[0]


def _path(channel_id: UUID | None) -> str:
    return f"/channels/{channel_id or 'settings'}"


def _inherited_text(name: str, setting: EffectiveSetting) -> str:
    """Say what applies to a channel that sets nothing itself, and where that comes from."""
    value = _DEFAULTS[name] if setting.value is None else setting.value
    if name == "fetch":
        shown = FETCH_CHOICES[value]
    elif name == "on_delete":
        shown = ON_DELETE_CHOICES[value]
    else:
        shown = size_text(value) if value else "no limit"
    if setting.origin == "default":
        return f"Default: {shown[0].lower()}{shown[1:]}"
    return f"As for {setting.origin}: {shown[0].lower()}{shown[1:]}"


def _read_limit(text: str) -> int | None:
    text = text.strip()
    if not text:
        return None
    try:
        megabytes = float(text)
    except ValueError:
        megabytes = -1.0
    if not 0 <= megabytes < 2**40:
        raise UserError("The largest download must be a number of megabytes, or 0 for no limit.")
    return round(megabytes * _MEGABYTE)
