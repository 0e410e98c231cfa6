"""The JSON API for programs: `/api/v1`, described by `/api/openapi.json`."""

from headgate.web.api import account, channels, description, items

ROUTES = [items.routes, channels.routes, account.routes, description.routes]
