"""Secrets at rest."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headgate.domain.errors import UserError
from headgate.storage import secrets
from headgate.storage.database import Database
from headgate.storage.queries import QueryFile
from headgate.storage.vault import KEY_FILE, Sealed, make_vault, read_vault

PLAIN = "123456:telegram-session"

Q = QueryFile("look", "-- name: stored\nselect ciphertext from secret")


def test_the_key_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    make_vault(tmp_path)
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    make_vault(tmp_path)
    (tmp_path / KEY_FILE).chmod(0o640)
    with pytest.raises(UserError, match="chmod 600"):
        read_vault(tmp_path)


def test_processes_that_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        vaults = list(pool.map(make_vault, [tmp_path] * 8))
    assert {vault.key_id for vault in vaults} == {vaults[0].key_id}


@pytest.mark.parametrize("text", ["", "\n", "nonsense", "abc !!!", "abc AAAA"])
def test_a_damaged_key_file_is_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / KEY_FILE
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(UserError, match=r"secret\.key"):
        read_vault(tmp_path)


def test_a_secret_opens_only_in_its_place(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    sealed = vault.seal(PLAIN, owner="account 1", name="session")
    assert vault.unseal(sealed, owner="account 1", name="session") == PLAIN
    for owner, name in (("account 2", "session"), ("account 1", "other"), ("account 1:session", "")):
        with pytest.raises(UserError, match="changed outside"):
            vault.unseal(sealed, owner=owner, name=name)
    damaged = Sealed(sealed.key_id, sealed.ciphertext[:-1] + b"\x00")
    with pytest.raises(UserError, match="changed outside"):
        vault.unseal(damaged, owner="account 1", name="session")


def test_the_same_secret_never_looks_the_same(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    assert vault.seal(PLAIN, owner="a", name="b") != vault.seal(PLAIN, owner="a", name="b")


async def test_the_database_holds_nothing_readable(database: Database, tmp_path: Path) -> None:
    async with database.transaction() as tx:
        vault = await secrets.open_vault(tx, tmp_path)
        await secrets.put_secret(tx, vault, "old", owner="a", name="session")
        await secrets.put_secret(tx, vault, PLAIN, owner="a", name="session")
        stored = await tx.column(Q["stored"])
        assert await secrets.get_secret(tx, vault, owner="a", name="session") == PLAIN
        assert await secrets.get_secret(tx, vault, owner="a", name="none") is None
        assert await secrets.list_secret_names(tx, "a") == ["session"]
        assert await secrets.delete_secret(tx, owner="a", name="session")
    assert len(stored) == 1
    assert PLAIN.encode() not in bytes(stored[0])


async def test_a_lost_key_file_is_said_and_not_replaced(database: Database, tmp_path: Path) -> None:
    async with database.transaction() as tx:
        vault = await secrets.open_vault(tx, tmp_path)
        await secrets.put_secret(tx, vault, PLAIN, owner="a", name="session")
        (tmp_path / KEY_FILE).unlink()
        with pytest.raises(UserError, match="missing"):
            await secrets.open_vault(tx, tmp_path)
    assert not (tmp_path / KEY_FILE).exists()


async def test_a_new_key_takes_over_and_the_old_one_can_go(database: Database, tmp_path: Path) -> None:
    old, new = make_vault(tmp_path / "old"), make_vault(tmp_path / "new")
    key_file = tmp_path / "new" / KEY_FILE
    async with database.transaction() as tx:
        for name in ("one", "two"):
            await secrets.put_secret(tx, old, f"{PLAIN} {name}", owner="a", name=name)
        with pytest.raises(UserError, match="not in the key file"):
            await secrets.get_secret(tx, new, owner="a", name="one")
        key_file.write_text(key_file.read_text() + (tmp_path / "old" / KEY_FILE).read_text())
        both = await secrets.open_vault(tx, tmp_path / "new")
        assert await secrets.get_secret(tx, new, owner="a", name="two") == f"{PLAIN} two"
        assert await secrets.seal_anew(tx, both) == 0


async def test_a_fingerprint_outlives_the_key_and_confirms_no_guess(
    database: Database, tmp_path: Path
) -> None:
    async with database.transaction() as tx:
        vault = await secrets.open_vault(tx, tmp_path)
        first = await secrets.fingerprint(tx, vault, "https://me:pw@host/")
        assert await secrets.fingerprint(tx, vault, "https://me:other@host/") != first
        path = tmp_path / KEY_FILE
        path.write_text(f"00000000 {base64.b64encode(bytes(32)).decode()}\n{path.read_text()}")
        await secrets.open_vault(tx, tmp_path)
        path.write_text(path.read_text().splitlines()[0])
        renewed = await secrets.open_vault(tx, tmp_path)
        assert await secrets.fingerprint(tx, renewed, "https://me:pw@host/") == first
        await secrets.delete_secret(tx, owner="instance", name="fingerprint")
        # Another installation: who knows the address cannot tell that it is the same.
        assert await secrets.fingerprint(tx, renewed, "https://me:pw@host/") != first
