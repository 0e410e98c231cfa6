"""HTML pages, and what belongs to no version of the API: static files, events, health."""

from headgate.web.pages import account, channels, entrance, jobs, library, service

ROUTES = [
    library.routes,
    channels.routes,
    jobs.routes,
    account.routes,
    entrance.routes,
    service.routes,
]
