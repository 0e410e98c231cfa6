"""A person who switches rules that send things on, and the judgement: each thing once, and while one is on.

Whatever rules do at the same time, and whoever dies over it, a target gets one copy of a thing by rules.
What a person sends, sends again or declares lost may add one each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from headgate.domain.errors import UserError
from headgate.kernel.ids import Ids
from headgate.kernel.randomness import Randomness
from headgate.outflow.library_sends import rules
from headgate.storage.database import Connection, Tx
from headgate.storage.errors import DatabaseAway
from headgate.storage.library_sends.rules import NewSendRule, StoredSendRule
from headgate.storage.queries import QueryFile
from headgate.testing.simulator.engine.database import StagedDatabase
from headgate.testing.simulator.engine.stage import Stage

EVERY_S = (0.5, 5.0)
MAX_RULES = 3
"""More than there are targets, so that two of them send to one."""
NO_BACKFILL = "Rule 0"
"""It sends only what arrives while it is on."""
QUERY = "kind=package"
"""All things of these plays are packages: every rule sends everything."""

Q = QueryFile(
    "send rules",
    """
-- name: targets
select id from target order by id

-- name: accounts
select id from account order by name

-- name: things
select id, caught_at from item

-- name: requests
select rule_id, item_id, target_id from send_request

-- name: rules
select id, name, target_id, enabled, enabled_at, backfill from send_rule
""",
)

Place = tuple[UUID, UUID]
"""A target, and a thing that it got or is to get."""


@dataclass
class OnSpan:
    """A time in which a rule was on."""

    since: datetime
    until: datetime | None = None


@dataclass
class RuleHistory:
    """When a rule was on."""

    spans: list[OnSpan] = field(default_factory=list[OnSpan])
    is_known: bool = True
    """No answer was lost, and what was there before was never asked for."""

    def covers(self, moment: datetime) -> bool:
        return any(
            span.since <= moment and (span.until is None or moment <= span.until) for span in self.spans
        )


class Thing(NamedTuple):
    """An item that can be sent."""

    id: UUID
    caught_at: datetime


class RuleRequest(NamedTuple):
    """What was asked for, by a rule or by a person."""

    rule_id: UUID | None
    item_id: UUID
    target_id: UUID

    @property
    def place(self) -> Place:
        return self.target_id, self.item_id


class RuleRow(NamedTuple):
    """A rule, as it is stored."""

    id: UUID
    name: str
    target_id: UUID
    enabled: bool
    enabled_at: datetime | None
    backfill: bool


@dataclass
class SendRuleKeeper:
    """Adds and switches rules, one transaction at a time."""

    stage: Stage
    database: StagedDatabase
    choices: Randomness
    ids: Ids
    histories: dict[UUID, RuleHistory] = field(default_factory=dict[UUID, RuleHistory])

    async def meddle(self) -> None:
        """Add or switch a rule every few seconds, for ever."""
        while True:
            await self.stage.sleep(self.choices.uniform(*EVERY_S))
            with suppress(DatabaseAway, UserError):
                await self._act()

    async def _act(self) -> None:
        async with self.database.transaction() as tx:
            known = await rules.list_rules(tx)
            targets, accounts = await tx.column(Q["targets"]), await tx.column(Q["accounts"])
        if len(known) < MAX_RULES and self.choices.chance(0.5):
            target, account = self.choices.choice(targets), self.choices.choice([None, *accounts])
            rule = NewSendRule(f"Rule {len(known)}", QUERY, target, account)
            async with self.database.transaction() as tx:
                added = await rules.add_rule(tx, rule, ids=self.ids, now=self.stage.now())
            await self._switch_on(added)
        elif known:
            rule = self.choices.choice(known)
            await (
                self._switch_off(rule) if rule.enabled and self.choices.chance(0.5) else self._switch_on(rule)
            )

    async def _switch_on(self, rule: StoredSendRule) -> None:
        """Switch a rule on, or have one that is on send what is there, too."""
        history = self.histories.setdefault(rule.id, RuleHistory())
        backfill = rule.name != NO_BACKFILL and (rule.enabled or self.choices.chance(0.4))
        now = self.stage.now()
        was_known, history.is_known = history.is_known, False
        async with self.database.transaction() as tx:
            await rules.switch_on(tx, rule.id, backfill=backfill, now=now)
        if not rule.enabled:
            history.spans.append(OnSpan(now))
        history.is_known = was_known and not backfill

    async def _switch_off(self, rule: StoredSendRule) -> None:
        history = self.histories.setdefault(rule.id, RuleHistory(is_known=False))
        was_known, history.is_known = history.is_known, False
        async with self.database.transaction() as tx:
            await rules.switch_off(tx, rule.id)
        for span in history.spans:
            span.until = span.until or self.stage.now()
        history.is_known = was_known


async def check_send_rules(
    director: Connection,
    keeper: SendRuleKeeper,
    arrived: Counter[Place],
    allowed: Counter[Place],
) -> list[str]:
    """Return what rules did wrong, now that all is at rest.

    `arrived` is how often each target got each thing; `allowed`, how often a person had a hand in it.
    """
    tx = Tx(director)
    things = await tx.all(Thing, Q["things"])
    requests = await tx.all(RuleRequest, Q["requests"])
    known = await tx.all(RuleRow, Q["rules"])
    failures = [*_check_once(requests, arrived, allowed)]
    if keeper.stage.steps:
        # A clock that was set back does not tell what came first; what is there is sent all the same.
        known = [rule for rule in known if rule.backfill]
    else:
        failures += _check_spans(keeper, things, requests)
    return [*failures, *_check_complete(known, things, requests)]


def _check_once(
    requests: Sequence[RuleRequest], arrived: Counter[Place], allowed: Counter[Place]
) -> Iterator[str]:
    asked = Counter((one.rule_id, one.item_id) for one in requests if one.rule_id is not None)
    yield from (f"a rule asked {times} times for one thing" for times in asked.values() if times > 1)
    by_hand = Counter(one.place for one in requests if one.rule_id is None)
    for place in {one.place for one in requests if one.rule_id is not None}:
        most = 1 + by_hand[place] + allowed[place]
        if arrived[place] > most:
            yield f"{place[0]} got a thing {arrived[place]} times: by rules, and {most - 1} times by a person"


def _check_complete(
    known: Sequence[RuleRow], things: Sequence[Thing], requests: Sequence[RuleRequest]
) -> Iterator[str]:
    """A rule that is on has asked for everything that arrived since, unless it was asked for already."""
    asked = {one.place for one in requests}
    for rule in known:
        for thing in things if rule.enabled and rule.enabled_at else ():
            due = rule.backfill or thing.caught_at >= (rule.enabled_at or thing.caught_at)
            if due and (rule.target_id, thing.id) not in asked:
                yield f"the rule {rule.name!r} did not send {thing.id}"


def _check_spans(
    keeper: SendRuleKeeper, things: Sequence[Thing], requests: Sequence[RuleRequest]
) -> Iterator[str]:
    """Without backfill, a rule sends what arrived while it was on and nothing else."""
    caught_at = {thing.id: thing.caught_at for thing in things}
    for request in requests:
        history = keeper.histories.get(request.rule_id) if request.rule_id else None
        if history is not None and history.is_known and not history.covers(caught_at[request.item_id]):
            yield f"a rule sent {request.item_id}, which arrived while it was off"
