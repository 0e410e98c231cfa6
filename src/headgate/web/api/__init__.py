"""The JSON API for programs: `/api/v1`, described by `/api/openapi.json`."""

from headgate.web.api import (
    account,
    channels,
    description,
    items,
    media,
    platform_accounts,
    reminder_runs,
    reminders,
    runs,
    targets,
)

ROUTES = [
    items.routes,
    channels.routes,
    targets.routes,
    media.routes,
    # Before the reminders: what stands where theirs have an id would be taken for one.
    reminder_runs.routes,
    reminders.routes,
    runs.routes,
    platform_accounts.routes,
    account.routes,
    description.routes,
]
