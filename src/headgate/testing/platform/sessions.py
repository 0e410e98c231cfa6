"""Open sessions of accounts, as a platform sees them that allows one place at a time.

What counts is use: a connection is used when it is opened and when a call begins. Two are in use at once if
one is opened while another is open, or if a call begins on one that is not the newest. A stopped process
cannot close its connections; that they are open is no fault, but it must not use them when it goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headgate.testing.platform.places import SimAccount


@dataclass(eq=False)
class Session:
    """One connection of an account, and the process that it belongs to."""

    account: SimAccount
    owner: object
    open: bool = True


@dataclass
class Sessions:
    """All connections of exclusive accounts that were opened, newest last."""

    stalled: Callable[[object], bool] = lambda _: False
    """Whether a process is stopped, or has not had a chance to do anything since."""
    duplicated: list[str] = field(default_factory=list[str])
    """What went wrong, for judges."""
    opened: int = 0
    _newest: dict[str, Session] = field(default_factory=dict[str, Session])
    _open: list[Session] = field(default_factory=list[Session])

    def begin(self, account: SimAccount, owner: object) -> Session:
        """Open a connection; another that is open is one too many, unless its process is stopped."""
        for other in self._open:
            if other.account is account and not self.stalled(other.owner):
                self._destroy(account, f"{owner} opened it while {other.owner} had it open")
        session = Session(account, owner)
        self.opened += 1
        self._newest[account.name] = session
        self._open.append(session)
        return session

    def use(self, session: Session, kind: str) -> None:
        """A call begins."""
        newest = self._newest[session.account.name]
        if session.open and newest is not session:
            what = f"{session.owner} called {kind} after {newest.owner} had opened it"
            self._destroy(session.account, what)

    def end(self, session: Session) -> None:
        session.open = False
        if session in self._open:
            self._open.remove(session)

    def lose(self, owner: object) -> None:
        """A process died, and its connections with it."""
        for session in [one for one in self._open if one.owner == owner]:
            self.end(session)

    def _destroy(self, account: SimAccount, what: str) -> None:
        account.destroyed = True
        self.duplicated.append(f"the session of {account.name} was in use twice: {what}")
