"""The JSON API for programs: `/api/v1`, described by `/api/openapi.json`."""

from headgate.web.api import (
    account,
    channels,
    description,
    item_actions,
    items,
    logins,
    platform_accounts,
    stored,
)
from headgate.web.api.labels import labels, rules
from headgate.web.api.library import chapters as library_chapters
from headgate.web.api.library import group_rules, groups, library, search, send_rules, sends, views
from headgate.web.api.notifications import follows, notifications, push_addresses
from headgate.web.api.reminders import media, reminder_runs, reminders, runs, targets
from headgate.web.api.series import chapters, feeds, listings, series

ROUTES = [
    library.routes,
    views.routes,
    sends.routes,
    library_chapters.routes,
    send_rules.routes,
    items.routes,
    search.routes,
    item_actions.routes,
    groups.routes,
    group_rules.routes,
    stored.routes,
    labels.routes,
    rules.routes,
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
    logins.routes,
    account.routes,
    description.routes,
]
