"""HTML pages, and what belongs to no version of the API: static files, events, health."""

from headgate.web.pages import (
    channel_settings,
    channels,
    item_actions,
    items,
    jobs,
    service,
)
from headgate.web.pages.access import account, entrance
from headgate.web.pages.accounts import accounts, found_channels, logins
from headgate.web.pages.labels import item_labels, label_names, label_rules
from headgate.web.pages.library import (
    chapters,
    drawer,
    filters,
    group_rules,
    groups,
    saved_views,
    selection,
    send_rules,
    sends,
    shelf,
)
from headgate.web.pages.notifications import following, notifications, push, settings
from headgate.web.pages.reminders import reminder_plans, reminders, runs
from headgate.web.pages.series import feed_lists, series, series_add, sources

ROUTES = [
    shelf.routes,
    filters.routes,
    saved_views.routes,
    drawer.routes,
    groups.routes,
    group_rules.routes,
    selection.routes,
    sends.routes,
    chapters.routes,
    send_rules.routes,
    items.routes,
    item_actions.routes,
    item_labels.routes,
    label_names.routes,
    label_rules.routes,
    channels.routes,
    # Before the channels' own pages: `add` stands where they have an id.
    found_channels.routes,
    channel_settings.routes,
    # Before the series: `add` and `import` stand where they have an id.
    series_add.routes,
    feed_lists.routes,
    series.routes,
    sources.routes,
    following.routes,
    notifications.routes,
    # Before the reminders: `new` stands where they have an id.
    reminder_plans.routes,
    reminders.routes,
    runs.routes,
    accounts.routes,
    logins.routes,
    jobs.routes,
    account.routes,
    settings.routes,
    push.routes,
    entrance.routes,
    service.routes,
]
