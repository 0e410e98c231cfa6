"""The JSON API for programs: `/api/v1`, described by `/api/openapi.json`."""

from headgate.web.api import (
    account,
    channels,
    chapters,
    description,
    feeds,
    follows,
    items,
    listings,
    media,
    notifications,
    platform_accounts,
    push_addresses,
    reminder_runs,
    reminders,
    runs,
    series,
    targets,
)

ROUTES = [
    items.routes,
    channels.routes,
    series.routes,
    chapters.routes,
    listings.routes,
    feeds.routes,
    follows.routes,
    notifications.routes,
    push_addresses.routes,
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
