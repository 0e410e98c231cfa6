"""Metrics of the jobs."""

from __future__ import annotations

from functools import cache

from headgate.kernel.metrics import counter, duration, gauge

QUEUE_DEPTH = gauge("queue_depth", "Jobs in the queue.", ("kind", "status"))
QUEUE_OLDEST = gauge("queue_oldest_seconds", "Age of the oldest job in the queue.", ("kind", "status"))
JOB_SECONDS = duration("job", "How long jobs run.", ("kind",))
JOBS_ENDED = counter("jobs_ended", "Jobs by what came of them.", ("kind", "outcome"))
JOB_ERRORS = counter("job_errors", "Failed attempts by class of error.", ("kind", "error_class"))
DEAD_LETTERS = gauge("dead_letters_open", "Open dead letters.", ("error_class",))
ENGINE_RESTARTS = counter("engine_restarts", "How often a runner's engine was rebuilt.", ("runner",))
BREAKERS = gauge("breakers", "Breakers that are not closed.", ("of", "state"))
PUSHES_WAITING = gauge("push_notifications_waiting", "Notifications that have yet to be pushed.")
TICKS = counter("ticks", "Ticks of the scheduler.")


# Looking a label up costs as much as the rest of a short job's bookkeeping.
seconds_of = cache(JOB_SECONDS.labels)
ended_of = cache(JOBS_ENDED.labels)
