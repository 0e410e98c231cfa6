"""`headgate account`: signing in and out, and what happens to the channels."""

from __future__ import annotations

from datetime import timedelta

from ledger import LOGIN, Ledger


def test_no_account_says_what_to_do(ledger: Ledger) -> None:
    assert "`headgate account add PLATFORM`" in ledger.said("account", "list")


def test_an_account_is_added_when_its_login_has_succeeded(ledger: Ledger) -> None:
    assert "the code is wrong" in ledger.refused("account", "add", "simulated", "atlas", "--answer", "code=1")
    assert ledger.values("select name from account") == []
    assert "atlas is signed in" in ledger.said("account", "add", "simulated", "atlas", *LOGIN)
    assert ledger.values("select state from account") == ["active"]
    assert ledger.values("select name from secret") == ["session"]
    assert "already" in ledger.refused("account", "add", "simulated", "atlas", *LOGIN)


def test_without_a_terminal_a_missing_answer_is_named(ledger: Ledger) -> None:
    sentence = ledger.refused("account", "add", "simulated", "atlas")
    assert "The login asks for 'code'" in sentence
    assert "--answer code=VALUE" in sentence


def test_an_account_can_be_signed_in_later(ledger: Ledger) -> None:
    ledger.said("account", "add", "simulated", "atlas", "--no-login")
    assert ledger.values("select state from account") == ["needs_login"]
    ledger.said("account", "login", "atlas", *LOGIN)
    assert ledger.rows("select state, state_reason from account") == [{"state": "active", "state_reason": ""}]


def test_an_unknown_platform_or_account_is_told_with_what_there_is(ledger: Ledger) -> None:
    assert "Available: discord, feeds, folder, mangadex, matrix, simulated." in ledger.refused(
        "account", "add", "fax", "atlas"
    )
    ledger.follow("attic")
    assert "There is no account 'atlsa'. Did you mean 'atlas'?" in ledger.refused("account", "login", "atlsa")


def test_the_list_shows_state_pace_and_calls(ledger: Ledger) -> None:
    ledger.follow("attic")
    ledger.rows("insert into lane_day select id::text, 'heads', $1, 1234 from account", ledger.now.date())
    lines = [line.split() for line in ledger.said("account", "list").splitlines()]
    assert ["atlas", "simulated", "active", "1", "0", "no"] in lines
    assert ["atlas", "heads", "240", "240", "0", "1,234"] in lines
    (account,) = ledger.document("account", "list")
    assert {"day": ledger.now.date().isoformat(), "kind": "heads", "calls": 1234} in account["calls"]
    assert {lane["kind"] for lane in account["lanes"]} >= {"heads", "read"}


def test_signing_out_passes_channels_on_and_forgets_the_session(ledger: Ledger) -> None:
    ledger.follow("attic", "fieldnotes")
    ledger.said("account", "add", "simulated", "beacon", *LOGIN)
    ledger.said("channel", "add", "beacon", "attic")
    assert "--yes" in ledger.refused("account", "logout", "atlas")
    assert ledger.said("account", "logout", "simulated/atlas", "--yes") == (
        "atlas is signed out; 1 channel is read by others now; 1 channel waits for its next login.\n"
    )
    reader = (
        "select a.name from channel c join stream s on s.channel_id = c.id"
        " join account a on a.id = s.reader_id order by c.key"
    )
    assert ledger.values(reader) == ["beacon", "atlas"]
    assert ledger.values("select count(*) from secret") == [1]


def test_a_scan_of_a_channel_whose_reader_is_signed_out_says_so(ledger: Ledger) -> None:
    ledger.follow("attic")
    ledger.said("account", "logout", "atlas", "--yes")
    assert "`headgate account login atlas`" in ledger.run("channel", "scan", "attic").stderr


def test_a_removed_account_leaves_its_channels(ledger: Ledger) -> None:
    ledger.follow("attic")
    assert "--yes" in ledger.refused("account", "remove", "atlas")
    assert ledger.said("account", "remove", "atlas", "--yes") == (
        "atlas is removed; 1 channel has no reader any more.\n"
    )
    assert ledger.rows("select reader_id from stream") == [{"reader_id": None}]
    assert ledger.values("select owner from lane union all select owner from secret") == []
    assert "no account" in ledger.said("channel", "list")


def test_the_list_counts_sends_from_the_lane(ledger: Ledger) -> None:
    ledger.follow("attic")
    ledger.rows("select lane_take(owner, kind, 3, 600.0) from lane where kind = 'send'")
    lines = [line.split() for line in ledger.said("account", "list").splitlines()]
    assert ["atlas", "send", "40", "40", "3", "3"] in lines


def test_removing_an_account_names_the_reminders_that_it_sends(ledger: Ledger) -> None:
    ledger.said("account", "add", "simulated", "atlas", *LOGIN)
    ledger.said("target", "refresh", "atlas")
    plan = ("--title", "Water", "--account", "atlas", "--target", "group-01", "--text", "Dear {group}")
    ledger.said("reminder", "create", *plan, "--daily", "09:00", "--zone", "UTC")
    assert "These reminders then send nothing: 'Water'." in ledger.refused("account", "remove", "atlas")
    assert "'Water'" in ledger.said("account", "remove", "atlas", "--yes")
    assert "Its account was removed. Choose another one." in ledger.said("reminder", "list")


def test_channels_are_listed_again_when_a_person_asks(ledger: Ledger) -> None:
    ledger.follow("attic")
    ledger.rows("update account set discover_at = $1", ledger.now + timedelta(hours=6))
    assert ledger.said("account", "discover", "atlas") == "The channels of atlas are listed again now.\n"
    (due_at,) = ledger.values("select discover_at from account")
    assert due_at < ledger.now + timedelta(hours=1)
    assert "There is no account 'atlsa'." in ledger.refused("account", "discover", "atlsa")


def test_a_channel_that_its_account_does_not_see_is_shown_as_such(ledger: Ledger) -> None:
    ledger.follow("attic")
    ledger.rows("update channel set gone_at = $1", ledger.now - timedelta(hours=3))
    assert "not visible, noticed 3 h ago" in " ".join(ledger.said("channel", "list").split())


def test_a_qr_code_is_drawn_polled_and_signs_in(ledger: Ledger) -> None:
    done = ledger.run("account", "add", "simulated", "atlas", "--choose", "qr")
    assert done.exit_code == 0, done.output
    assert "Scan this code" in done.stderr
    assert "▀" in done.stderr
    assert "simulated://login/atlas/1" in done.stderr
    assert "atlas is signed in" in done.stdout
    assert ledger.values("select owner from secret where owner like 'login:%'") == []


def test_an_account_without_a_name_gets_the_platforms(ledger: Ledger) -> None:
    said = ledger.said("account", "add", "simulated", "--answer", "account=atlas", *LOGIN)
    assert said.startswith("atlas is signed in")
    assert ledger.values("select name from account") == ["atlas"]


def test_a_new_code_replaces_the_first(ledger: Ledger) -> None:
    arguments = ("account", "add", "simulated", "atlas", "--choose", "resend")
    assert "the code is wrong" in ledger.refused(*arguments, "--answer", "code=12345")
    ledger.said(*arguments, "--answer", "code=12346")


def test_a_login_that_fails_leaves_nothing_behind(ledger: Ledger) -> None:
    ledger.refused("account", "add", "simulated", "atlas", "--answer", "code=1")
    assert ledger.values("select id from account_login") == []
    assert ledger.values("select owner from secret") == []


def test_platforms_without_logins_take_no_accounts(ledger: Ledger) -> None:
    assert "need no account" in ledger.refused("account", "add", "feeds", "mine")
