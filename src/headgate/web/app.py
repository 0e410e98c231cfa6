"""Puts the web part together."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.middleware.body_limit import RequestBodyLimitMiddleware

from headgate import __version__
from headgate.access.passwords import Passwords
from headgate.storage import events
from headgate.web import api, pages
from headgate.web.door import install
from headgate.web.errors import install_errors
from headgate.web.events import EventHub
from headgate.web.http.assets import load_assets
from headgate.web.http.headers import Outside
from headgate.web.http.health import Readiness
from headgate.web.parts import Site, WebParts
from headgate.web.render import Renderer

_MAX_BODY_BYTES = 1024 * 1024


def create_app(
    parts: WebParts, *, hub: EventHub | None = None, passwords: Passwords | None = None
) -> FastAPI:
    """Return the application; its door is closed for whatever does not say otherwise.

    The documentation pages of FastAPI stay off: they load scripts from elsewhere.
    """
    app = FastAPI(
        title="Headgate",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    assets = load_assets()
    site = Site(
        parts=parts,
        assets=assets,
        renderer=Renderer(assets, parts.clock),
        passwords=passwords or Passwords(),
        hub=hub or EventHub(),
        readiness=Readiness(parts),
    )
    app.state.site = site
    parts.listener.subscribe(events.CHANNEL, site.hub.hear)
    install(app, [*pages.ROUTES, *api.ROUTES])
    install_errors(app)
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=_MAX_BODY_BYTES)
    app.add_middleware(Outside, settings=parts.settings, clock=parts.real_clock)
    return app
