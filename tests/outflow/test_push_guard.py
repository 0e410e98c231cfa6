"""Where pushes connect to, decided at the connection: names that move, redirects, and roles that change."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
from notification_bench import NewsBench
from receiver import Receiver

from headgate.connectors.apprise_out import NOT_FOR_MEMBERS
from headgate.connectors.push_guard import Barred, guarded
from headgate.domain.errors import UserError
from headgate.outflow.notifications.push_out import PushOutcome
from headgate.storage.access.users import Role

NAME = "push.example"
OUTSIDE = "93.184.215.14"
PATIENCE_S = 30
Resolver = Callable[..., list[Any]]


class MovingName:
    """A resolver that sends one name elsewhere each time it is asked, and in the end to one place."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked = 0
        self._real = socket.getaddrinfo

    def __call__(self, host: Any, port: Any, *arguments: Any, **options: Any) -> list[Any]:
        if host != NAME:
            return self._real(host, port, *arguments, **options)
        self.asked += 1
        where = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (where, port or 0))]


async def add(telling: NewsBench, url: str, *, owner: Role = "member", adder: Role = "admin") -> Any:
    user = await telling.user(role=owner)
    return await telling.addresses.add(telling.database, url, name="phone", user_id=user, role=adder), user


async def push(telling: NewsBench, address: Any, user: Any) -> PushOutcome:
    return await telling.addresses.test(telling.database, address, user_id=user)


def named(receiver: Receiver) -> str:
    return f"json://{NAME}:{receiver.port}/x?rto=5"


async def test_a_name_that_moves_inside_after_it_was_added_is_not_connected_to(
    telling: NewsBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver = MovingName(OUTSIDE, "127.0.0.1")
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    address, user = await add(telling, named(telling.receiver))
    assert await push(telling, address, user) == PushOutcome("failed", NOT_FOR_MEMBERS)
    assert telling.receiver.calls == 0
    assert resolver.asked >= 2


async def test_an_administrators_name_may_lead_inside(
    telling: NewsBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", MovingName("127.0.0.1"))
    address, user = await add(telling, named(telling.receiver), owner="admin")
    assert (await push(telling, address, user)).state == "sent"


async def test_who_is_no_administrator_any_more_pushes_as_a_member(telling: NewsBench) -> None:
    address, user = await add(telling, telling.receiver.url, owner="admin")
    assert (await push(telling, address, user)).state == "sent"
    await telling.rows("update app_user set role = 'member'")
    assert await push(telling, address, user) == PushOutcome("failed", NOT_FOR_MEMBERS)
    assert telling.receiver.calls == 1


async def test_what_acts_on_the_machine_is_refused_at_the_push_as_well(telling: NewsBench) -> None:
    address, user = await add(telling, "syslog://", owner="admin")
    await telling.rows("update app_user set role = 'member'")
    assert await push(telling, address, user) == PushOutcome("failed", NOT_FOR_MEMBERS)


async def test_an_address_that_was_added_with_less_than_the_owners_role_stays_so(
    telling: NewsBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lesser token of an administrator adds a name, and the name moves inside."""
    monkeypatch.setattr(socket, "getaddrinfo", MovingName(OUTSIDE, "127.0.0.1"))
    address, user = await add(telling, named(telling.receiver), owner="admin", adder="member")
    assert await push(telling, address, user) == PushOutcome("failed", NOT_FOR_MEMBERS)
    assert telling.receiver.calls == 0


async def test_notifications_go_out_within_the_owners_role(
    telling: NewsBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", MovingName(OUTSIDE, "127.0.0.1"))
    _, user = await add(telling, named(telling.receiver))
    series, source = await telling.series(), await telling.source()
    await telling.follow(user, series)
    await telling.publish(series, source, "45")
    await telling.work()
    await telling.pass_time(3600)
    assert telling.receiver.calls == 0
    assert NOT_FOR_MEMBERS in await telling.values("select distinct error from push_address")


@pytest.mark.parametrize("asks", ["", "&redirect=yes"])
async def test_a_service_cannot_send_a_push_elsewhere(telling: NewsBench, asks: str) -> None:
    telling.receiver.answers = [307]
    telling.receiver.location = f"http://127.0.0.1:{telling.receiver.port}/inside"
    address, user = await add(telling, telling.receiver.url + asks, owner="admin")
    assert (await push(telling, address, user)).state == "failed"
    assert (telling.receiver.calls, telling.receiver.taken) == (1, [])


@pytest.mark.parametrize("where", [("127.0.0.1", 9), ("localhost", 9), ("10.0.0.1", 9)])
def test_the_guard_sees_every_way_to_connect(where: tuple[str, int]) -> None:
    with guarded() as guard:
        with socket.socket() as stream, pytest.raises(Barred):
            stream.connect(where)
        with socket.socket() as stream, pytest.raises(Barred):
            stream.connect_ex(where)
        with socket.socket(type=socket.SOCK_DGRAM) as datagram, pytest.raises(Barred):
            datagram.sendto(b"x", where)
        with socket.socket(socket.AF_UNIX) as local, pytest.raises(Barred):
            local.connect("/run/headgate-test.sock")
    assert len(guard.refused) == 4


class SlowNames:
    """A resolver that does not answer until it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.answered = threading.Semaphore(0), threading.Event()
        monkeypatch.setattr(socket, "getaddrinfo", self)

    def __call__(self, *_: Any, **__: Any) -> list[Any]:
        self.asked.release()
        self.answered.wait()
        return []


async def test_no_transaction_is_open_while_a_name_is_resolved(
    telling: NewsBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, names = await telling.user(role="member"), SlowNames(monkeypatch)
    add = telling.addresses.add(telling.database, "json://slow.example/", name="a", user_id=user)
    adding = asyncio.create_task(add)
    open_transactions = (
        "select count(*) from pg_stat_activity"
        " where datname = current_database() and state like 'idle in transaction%'"
    )
    try:
        assert await asyncio.to_thread(names.asked.acquire)
        assert await telling.values(open_transactions) == [0]
    finally:
        names.answered.set()
        await adding


async def test_names_that_many_people_try_do_not_hold_up_other_work(
    telling: NewsBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = [await telling.user(f"user {n}", role="member") for n in range(40)]
    names = SlowNames(monkeypatch)
    adding = [
        asyncio.create_task(
            telling.addresses.add(telling.database, "json://slow.example/", name="a", user_id=user)
        )
        for user in users
    ]
    try:
        # Everybody is told that there is no answer in time; the threads still wait for one.
        await asyncio.wait(adding)
        async with asyncio.timeout(PATIENCE_S):
            assert await asyncio.gather(*(asyncio.to_thread(int, "7") for _ in range(40))) == [7] * 40
    finally:
        names.answered.set()
        await asyncio.gather(*adding, return_exceptions=True)


async def test_one_user_checks_a_few_names_at_once(
    telling: NewsBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, addresses = await telling.user(role="member"), telling.addresses
    names = SlowNames(monkeypatch)
    adding = [
        asyncio.create_task(
            addresses.add(telling.database, f"json://slow{n}.example/", name=f"a{n}", user_id=user)
        )
        for n in range(5)
    ]
    try:
        first = asyncio.as_completed(adding)
        for _ in range(3):
            with pytest.raises(UserError, match="being checked"):
                await next(first)
    finally:
        names.answered.set()
        await asyncio.gather(*adding, return_exceptions=True)
