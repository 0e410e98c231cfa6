"""HTML pages, and what belongs to no version of the API: static files, events, health."""

from headgate.web.pages import (
    account,
    accounts,
    channels,
    entrance,
    jobs,
    library,
    reminder_plans,
    reminders,
    runs,
    service,
)

ROUTES = [
    library.routes,
    channels.routes,
    # Before the reminders: `new` stands where they have an id.
    reminder_plans.routes,
    reminders.routes,
    runs.routes,
    accounts.routes,
    jobs.routes,
    account.routes,
    entrance.routes,
    service.routes,
]
