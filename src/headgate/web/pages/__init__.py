"""HTML pages, and what belongs to no version of the API: static files, events, health."""

from headgate.web.pages import (
    account,
    accounts,
    channels,
    entrance,
    feed_lists,
    following,
    jobs,
    library,
    notifications,
    push,
    reminder_plans,
    reminders,
    runs,
    series,
    series_add,
    service,
    sources,
    telling,
)

ROUTES = [
    library.routes,
    channels.routes,
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
    jobs.routes,
    account.routes,
    telling.routes,
    push.routes,
    entrance.routes,
    service.routes,
]
