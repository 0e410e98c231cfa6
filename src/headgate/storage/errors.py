"""How work with the database can fail, and what a failure says."""

from __future__ import annotations

import psycopg

from headgate.domain.errors import HeadgateError, Transient, WorkError


class DatabaseAway(Transient):
    """The connection to the database was lost in the middle of the work."""


class Refused(WorkError):
    """The database does not take what was to be written, and would not take it the next time either."""

    retryable = False


class Collided(HeadgateError):
    """The database ended the transaction, by a deadlock or a time limit: nothing of it was written."""


COLLISIONS = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
    psycopg.errors.QueryCanceled,
)
"""Deadlocks, and the server's limits on statements and locks."""


def is_away(error: BaseException) -> bool:
    """Tell whether an error says that the server was not to be had or went away."""
    if not isinstance(error, psycopg.OperationalError):
        return isinstance(error, DatabaseAway)
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))


def is_refusal(error: psycopg.Error) -> bool:
    """Tell whether a row is to blame: not the server's state, nor a statement that is wrong for every row."""
    if isinstance(error, psycopg.OperationalError):
        # Too large for an index or a page.
        return error.sqlstate is not None and error.sqlstate.startswith("54")
    return not isinstance(error, psycopg.ProgrammingError | psycopg.InterfaceError)
