"""The JSON API for programs: `/api/v1`, described by `/api/openapi.json`."""

from headgate.web.api import account, channels, description, items, media, reminders, targets

ROUTES = [
    items.routes,
    channels.routes,
    targets.routes,
    media.routes,
    reminders.routes,
    account.routes,
    description.routes,
]
