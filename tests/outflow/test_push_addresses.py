"""Addresses to push to: secrets that are recognised, sealed, tested, and shown to nobody."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

import pytest
from notification_bench import FAST, NewsBench

from headgate.connectors.apprise_out import AppriseOut, scrub
from headgate.domain.errors import UserError
from headgate.storage.notifications import notifications
from headgate.storage.secrets import get_secret, open_vault


async def test_an_address_is_sealed_and_only_its_service_is_shown(telling: NewsBench) -> None:
    user = await telling.user()
    address = await telling.address(user, "  My   phone ")
    shown = await telling.shown_address(address)
    assert (shown.name, shown.shown, shown.enabled) == ("My phone", "JSON (json://•••)", True)
    everything = str(await telling.rows("select * from push_address")) + str(
        await telling.rows("select owner, name, encode(ciphertext, 'escape') from secret")
    )
    assert "token-4711" not in everything
    assert "secret-word" not in everything

    async def unsealed(owner: str) -> str | None:
        async with telling.database.transaction() as tx:
            vault = await open_vault(tx, telling.data_dir)
            return await get_secret(tx, vault, owner=owner, name="url")

    assert await unsealed(f"push:{address}") == telling.receiver.url


@pytest.mark.parametrize("url", ["", "nonsense", "nonsense://x", "tgram://", "http:/x", "x" * 5000])
async def test_what_is_no_address_is_refused_with_a_remedy(telling: NewsBench, url: str) -> None:
    user = await telling.user()
    with pytest.raises(UserError) as refused:
        await telling.addresses.add(telling.database, url, name="phone", user_id=user)
    assert refused.value.remedy
    assert await telling.values("select count(*) from secret") == [0]


async def test_names_are_the_users_own_and_each_once(telling: NewsBench) -> None:
    ada, bob = await telling.user("ada"), await telling.user("bob")
    phone = await telling.address(ada, "Phone")
    await telling.address(ada, "Tablet")
    await telling.address(bob, "phone")
    with pytest.raises(UserError, match="already"):
        await telling.address(ada, "pHONE")
    with pytest.raises(UserError, match="already"):
        await telling.do(lambda tx: telling.addresses.rename(tx, phone, "tablet", user_id=ada))
    with pytest.raises(UserError, match="no such address"):
        await telling.do(lambda tx: telling.addresses.rename(tx, phone, "mine", user_id=bob))
    await telling.do(lambda tx: telling.addresses.rename(tx, phone, "Watch", user_id=ada))
    listed = await telling.do(lambda tx: telling.addresses.list_all(tx, user_id=ada))
    assert [address.name for address in listed] == ["Tablet", "Watch"]


async def test_an_address_goes_with_its_secret_and_its_pace(telling: NewsBench) -> None:
    user = await telling.user()
    address = await telling.address(user)
    await telling.addresses.test(telling.database, address, user_id=user)
    assert await telling.values("select count(*) from lane") == [1]
    await telling.do(lambda tx: telling.addresses.remove(tx, address, user_id=user))
    for table in ("push_address", "secret", "lane"):
        assert await telling.values(f"select count(*) from {table}") == [0]
    with pytest.raises(UserError, match="no such address"):
        await telling.do(lambda tx: telling.addresses.remove(tx, address, user_id=user))


async def test_the_secrets_of_users_who_are_gone_are_forgotten(telling: NewsBench) -> None:
    await telling.address(await telling.user("ada"))
    await telling.address(await telling.user("bob"))
    await telling.rows("delete from app_user where name = 'ada'")
    await telling.do(lambda tx: notifications.prune(tx, before=telling.now, limit=10))
    assert await telling.values("select count(*) from secret") == [1]


async def test_a_test_message_tells_what_became_of_it(telling: NewsBench) -> None:
    user = await telling.user()
    address = await telling.address(user)
    outcome = await telling.addresses.test(telling.database, address, user_id=user)
    assert (outcome.state, outcome.error) == ("sent", "")
    assert [message["title"] for message in telling.receiver.taken] == ["Headgate"]
    telling.receiver.answers = [403]
    outcome = await telling.addresses.test(telling.database, address, user_id=user)
    assert outcome.state == "failed"
    assert "403" in outcome.error
    assert (await telling.shown_address(address)).error == outcome.error
    with pytest.raises(UserError, match="no such address"):
        await telling.addresses.test(telling.database, address, user_id=await telling.user("bob"))


async def test_tests_keep_the_pace_of_the_address(telling: NewsBench) -> None:
    user = await telling.user()
    address = await telling.address(user)
    capped = replace(FAST, pace=replace(FAST.pace, daily_cap=2))
    slow = replace(telling.addresses, plan=capped)
    for _ in range(2):
        await slow.test(telling.database, address, user_id=user)
    with pytest.raises(UserError, match=r"Try again in \d+ seconds"):
        await slow.test(telling.database, address, user_id=user)
    assert telling.receiver.calls == 2


async def test_a_test_that_works_lets_out_what_an_open_breaker_holds(telling: NewsBench) -> None:
    user, series, source = await telling.user(), await telling.series(), await telling.source()
    await telling.follow(user, series)
    address = await telling.address(user)
    later = telling.now.replace(hour=20)
    await telling.rows("update push_address set failures = 5, opened = 1, open_until = $1", later)
    await telling.publish(series, source, "45")
    await telling.pass_time(60)
    assert telling.receiver.taken == []
    await telling.addresses.test(telling.database, address, user_id=user)
    await telling.work()
    assert len(telling.receiver.taken) == 2


class Listening(logging.Handler):
    """Keeps what is logged, as the root logger hears it."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(record.getMessage())


@pytest.fixture
def everything_logged() -> Iterator[list[str]]:
    root, listening = logging.getLogger(), Listening()
    level = root.level
    root.setLevel(logging.DEBUG)
    root.addHandler(listening)
    yield listening.heard
    root.removeHandler(listening)
    root.setLevel(level)


async def test_nothing_of_an_address_reaches_a_log(
    telling: NewsBench, everything_logged: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    pusher = AppriseOut()
    for url in (telling.receiver.url, "json://token-4711:x@@/nonsense", "nonsense://token-4711"):
        with pytest.raises(UserError) if "nonsense" in url else contextlib.nullcontext():
            pusher.recognise(url)
    telling.receiver.answers = [500]
    address = await telling.address(await telling.user())
    (user,) = await telling.values("select user_id from push_address")
    await telling.addresses.test(telling.database, address, user_id=UUID(str(user)))
    logging.getLogger("somewhere").debug("this is heard")
    assert "this is heard" in everything_logged
    written = "\n".join(everything_logged) + "".join(capfd.readouterr())
    assert "token-4711" not in written
    assert "secret-word" not in written


def test_a_reason_is_shown_without_any_part_of_the_address() -> None:
    url = "tgram://123456:ABC-def%2Fx/-1001?format=text"
    text = "Failed at https://api.telegram.org/bot123456:ABC-def/x/sendMessage for -1001 (tgram)"
    scrubbed = scrub(text, url)
    assert not any(secret in scrubbed for secret in ("123456", "ABC-def", "-1001"))
    assert scrubbed.startswith("Failed at https://api.telegram.org/")
