"""What members may not push to: this machine, its files, and its network."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
from notification_bench import NewsBench

from headgate.connectors.apprise_out import MACHINE, AppriseOut, schemes_of
from headgate.domain.errors import UserError
from headgate.outflow.notifications.push_addresses import PushAddresses
from headgate.storage.access.users import Role

HERE = [
    "syslog://",
    "syslog://local0",
    "dbus://",
    "kde://",
    "glib://",
    "gnome://",
    "macosx://",
    "windows://",
]
FILES = [
    "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js?template=/etc/passwd",
    "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#x?template=http://10.0.0.1/",
    "fcm://project@key/device?keyfile=/etc/passwd",
    "vapid://me@example.org?KeyFile=/etc/passwd",
    "mailto://me:pw@example.org?pgppub=/etc/passwd",
]
INSIDE = [
    "json://127.0.0.1:9/x",
    "json://localhost/x",
    "json://nas/x",
    "json://printer.local/x",
    "jsons://10.1.2.3/x",
    "json://[::1]/x",
    "json://[fd00::1]/x",
    "json://[::ffff:192.168.1.1]/x",
    "json://2130706433/x",
    "gotify://192.168.1.5/token",
    "ntfy://192.168.1.5/topic",
    "mailto://me:pw@example.org?smtp=127.0.0.1",
    "mailto://me:pw@gmail.com?smtp=mail",
    "rsyslog://10.0.0.1",
    "apprise://10.0.0.1/token",
]
OUTSIDE = [
    "ntfy://my-topic",
    "ntfy://ntfy.sh/my-topic",
    "json://93.184.215.14/x",
    "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js",
    "tgram://123456789:abcdefg_hijklmnop/12315544/",
    "pushdeer://pushKeyPushKeyPushKey",
    "mailto://me:pw@gmail.com",
]


async def add(telling: NewsBench, addresses: PushAddresses, url: str, role: Role = "member") -> str:
    """Add an address for a new user, by default a member; returns what is shown of it."""
    user = await telling.user(role=role)
    added = await addresses.add(telling.database, url, name="phone", user_id=user)
    return (await telling.shown_address(added)).shown


def _services() -> list[Any]:
    plugins = import_module("apprise.manager_plugins")
    return list(plugins.NotificationManager().plugins())


def is_known(url: str) -> bool:
    """Some services are there only on their own system: elsewhere nobody can push to them."""
    try:
        AppriseOut().recognise(url)
    except UserError:
        return False
    return True


@pytest.mark.parametrize(
    ("urls", "said"),
    [(HERE, "acts on the machine"), (FILES, "reads a file"), (INSIDE, "local network")],
)
async def test_members_are_told_why_an_address_is_not_for_them(
    telling: NewsBench, urls: list[str], said: str
) -> None:
    user = await telling.user(role="member")
    for url in urls:
        with pytest.raises(UserError) as refused:
            await telling.addresses.add(telling.database, url, name="phone", user_id=user)
        not_here = url in HERE and not is_known(url)
        assert said in refused.value.message or not_here, f"{url}: {refused.value}"
        assert refused.value.remedy
    assert await telling.values("select count(*) from push_address") == [0]


@pytest.mark.parametrize("url", OUTSIDE)
async def test_what_is_reached_over_the_internet_is_for_everybody(telling: NewsBench, url: str) -> None:
    assert url.partition("://")[0] in await add(telling, telling.addresses, url)


@pytest.mark.parametrize("url", ["syslog://", "json://127.0.0.1:9/x", "json://nas/x"])
async def test_administrators_may_add_what_they_want(telling: NewsBench, url: str) -> None:
    assert url.partition("://")[0] in await add(telling, telling.addresses, url, "admin")


@pytest.mark.parametrize(("owner", "adder"), [("admin", "member"), ("member", "admin")])
async def test_an_address_needs_the_role_of_its_owner_and_of_its_adder(
    telling: NewsBench, owner: Role, adder: Role
) -> None:
    user = await telling.user(role=owner)
    with pytest.raises(UserError, match="local network"):
        await telling.addresses.add(
            telling.database, "json://127.0.0.1:9/", name="phone", user_id=user, role=adder
        )


async def test_the_setting_opens_the_network_but_not_the_machine(telling: NewsBench) -> None:
    addresses = replace(telling.addresses, allow_private=True)
    await add(telling, addresses, "json://127.0.0.1:9/x")
    with pytest.raises(UserError, match="acts on the machine"):
        await addresses.add(telling.database, "syslog://", name="log", user_id=telling.ids.new())


def test_every_service_that_needs_no_network_is_known_as_one() -> None:
    """One of a later Apprise that acts on the machine must not slip through."""
    hostless = set[str]()
    for kind in _services():
        if not any("{" in template.partition("://")[2] for template in kind.templates):
            hostless |= schemes_of(kind)
    assert hostless == MACHINE - {"syslog", "blink1"}
