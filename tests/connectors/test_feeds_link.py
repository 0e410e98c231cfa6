"""Reading feeds over HTTP: validators, redirects, failures, bounds, and who may be asked at all."""

from __future__ import annotations

import base64
import logging
import socket
import ssl
import zlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from feed_documents import atom, rss
from web_server import Reply, WebServer, zipped

from headgate.connectors.feeds import FeedBounds, FeedsConnector
from headgate.connectors.protocol import Link
from headgate.domain.errors import Absent, Gone, Malformed, RateLimited, Transient, WorkError
from headgate.kernel.clock import RealClock
from headgate.testing.memory import VolatileMemory

FEED = rss("<title>One</title><guid>1</guid>")
BOUNDS = FeedBounds(timeout_s=5, max_bytes=1_000_000, user_agent="Headgate tests", allow_private=True)


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    async with WebServer() as running:
        yield running


async def open_link(bounds: FeedBounds = BOUNDS) -> Link:
    return await FeedsConnector(bounds, RealClock()).open("anonymous", {}, VolatileMemory())


@pytest.fixture
async def link() -> AsyncIterator[Link]:
    opened = await open_link()
    yield opened
    await opened.close()


async def failure_of(link: Link, url: str) -> WorkError:
    """Return what listing an address ends with."""
    with pytest.raises(Exception) as caught:
        await link.list(url, {})
    return FeedsConnector(BOUNDS, RealClock()).classify(caught.value)


async def test_a_feed_is_listed_and_asked_for_honestly(server: WebServer, link: Link) -> None:
    listed = await link.list(server.say("/feed", FEED), {})
    assert [entry.key for entry in listed.entries] == ["1"]
    assert (listed.title, listed.unchanged, listed.complete, listed.more) == ("A site", False, False, False)
    assert server.seen[0].headers["user-agent"] == "Headgate tests"
    assert server.seen[0].headers["accept-encoding"] == "gzip, deflate"


async def test_validators_go_back_as_they_came(server: WebServer, link: Link) -> None:
    modified = "Sat, 01 Jun 2024 10:00:00 GMT"
    url = server.say("/feed", Reply(FEED, headers={"ETag": 'W/"x"', "Last-Modified": modified}))
    first = await link.list(url, {})
    second = await link.list(url, first.cursor)
    assert server.seen[1].headers["if-none-match"] == 'W/"x"'
    assert server.seen[1].headers["if-modified-since"] == modified
    assert second.unchanged
    assert second.cursor == first.cursor


async def test_the_same_document_is_unchanged_without_validators(server: WebServer, link: Link) -> None:
    url = server.say("/feed", FEED)
    first = await link.list(url, {})
    assert (await link.list(url, first.cursor)).unchanged


async def test_a_document_that_broke_off_is_asked_for_whole_again(server: WebServer, link: Link) -> None:
    url = server.say("/feed", Reply(FEED[:-20], headers={"ETag": '"x"'}))
    listed = await link.list(url, {})
    assert listed.warnings
    assert "etag" not in listed.cursor


async def test_unchanged_without_having_been_asked_is_no_answer(server: WebServer, link: Link) -> None:
    assert type(await failure_of(link, server.say("/feed", Reply(status=304)))) is Malformed


@pytest.mark.parametrize("coding", ["gzip", "deflate", "raw deflate"])
async def test_packed_answers_are_unpacked(server: WebServer, link: Link, coding: str) -> None:
    packer = zlib.compressobj(wbits=-15)
    packed = {
        "gzip": zipped([FEED]),
        "deflate": zlib.compress(FEED),
        "raw deflate": packer.compress(FEED) + packer.flush(),
    }
    url = server.say(
        "/feed", Reply(packed[coding], headers={"Content-Encoding": coding.removeprefix("raw ")})
    )
    assert len((await link.list(url, {})).entries) == 1


async def test_a_packed_answer_of_any_size_comes_out_whole(server: WebServer, link: Link) -> None:
    document = rss(*(f"<title>{'x' * 500}</title><guid>{n}</guid>" for n in range(1500)))
    url = server.say("/feed", Reply(zipped([document]), headers={"Content-Encoding": "gzip"}))
    listed = await link.list(url, {})
    assert (len(listed.entries), listed.warnings) == (1500, ())


async def test_a_feed_that_moved_for_good_says_where(server: WebServer, link: Link) -> None:
    server.say("/old", Reply(status=301, headers={"Location": "/newer"}))
    server.say("/newer", Reply(status=308, headers={"Location": server.url("/new")}))
    server.say("/new", FEED)
    assert (await link.list(server.url("/old"), {})).moved_to == server.url("/new")


async def test_a_feed_that_is_elsewhere_for_now_has_not_moved(server: WebServer, link: Link) -> None:
    server.say("/old", Reply(status=301, headers={"Location": "/newer"}))
    server.say("/newer", Reply(status=302, headers={"Location": "/new"}))
    server.say("/new", FEED)
    listed = await link.list(server.url("/old"), {})
    assert (len(listed.entries), listed.moved_to) == (1, "")


async def test_redirects_in_a_circle_end(server: WebServer, link: Link) -> None:
    error = await failure_of(link, server.say("/a", Reply(status=302, headers={"Location": "/a"})))
    assert type(error) is Malformed
    assert "redirects more than 10 times" in str(error)
    assert len(server.seen) == 11


@pytest.mark.parametrize("location", ["ftp://example.org/feed", "file:///etc/passwd", "http://[", "gopher:x"])
async def test_redirects_lead_to_the_web_alone(server: WebServer, link: Link, location: str) -> None:
    url = server.say("/a", Reply(status=302, headers={"Location": location}))
    assert type(await failure_of(link, url)) is Malformed


@pytest.mark.parametrize(
    ("reply", "meaning"),
    [
        (Reply(status=410), Gone),
        (Reply(status=404), Absent),
        (Reply(status=401), Malformed),
        (Reply(status=403), Malformed),
        (Reply(status=400), Malformed),
        (Reply(status=500), Transient),
        (Reply(status=503), Transient),
        (Reply(status=204), Malformed),
        (Reply(FEED, declared_length=len(FEED) + 10), Transient),
        (Reply(b"zzz\r\nnonsense", headers={"Transfer-Encoding": "chunked"}), Transient),
        (Reply(b"no gzip", headers={"Content-Encoding": "gzip"}), Malformed),
        (Reply(b"?", headers={"Content-Encoding": "br"}), Malformed),
        (Reply(b"<html></html>"), Malformed),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else f"{value.status} {value.body[:8]}",
)
async def test_a_failure_is_one_feeds_own(
    server: WebServer, link: Link, reply: Reply, meaning: type[WorkError]
) -> None:
    error = await failure_of(link, server.say("/feed", reply))
    assert type(error) is meaning
    assert len(str(error)) > 10


@pytest.mark.parametrize(
    ("status", "retry_after", "waits_s"),
    [
        (429, "120", 120),
        (503, "7", 7),
        (429, "", 60),
        (429, "99999999", 86400),
        (429, "nonsense", 60),
        (429, "0", 1),
    ],
)
async def test_a_server_that_asks_to_wait_is_left_alone(
    server: WebServer, link: Link, status: int, retry_after: str, waits_s: float
) -> None:
    headers = {"Retry-After": retry_after} if retry_after else {}
    error = await failure_of(link, server.say("/feed", Reply(status=status, headers=headers)))
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == waits_s


async def test_a_date_to_wait_for_is_counted_on_the_servers_clock(server: WebServer, link: Link) -> None:
    said, until = (
        format_datetime(datetime(2020, 1, 1, 10, minute, tzinfo=UTC), usegmt=True) for minute in (0, 5)
    )
    url = server.say("/feed", Reply(status=503, headers={"Date": said, "Retry-After": until}))
    error = await failure_of(link, url)
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == 300


@pytest.mark.parametrize(
    ("control", "rest_s"),
    [
        ("public, max-age=7200", 7200),
        ("max-age=60", 5400),
        ("no-cache, max-age=7200", 5400),
        ("max-age=9999999", 86400),
    ],
)
async def test_the_longest_rest_that_is_asked_for_counts(
    server: WebServer, link: Link, control: str, rest_s: float
) -> None:
    document = rss("<title>One</title><guid>1</guid>", head="<ttl>90</ttl>")
    url = server.say("/feed", Reply(document, headers={"Cache-Control": control, "ETag": '"1"'}))
    first = await link.list(url, {})
    second = await link.list(url, first.cursor)
    assert (first.rest_s, second.rest_s, second.unchanged) == (rest_s, rest_s, True)


async def test_a_body_without_an_end_is_left_at_the_bound(server: WebServer, link: Link) -> None:
    error = await failure_of(link, server.say("/feed", Reply(b"<rss>" * 1000, repeats=True)))
    assert type(error) is Malformed
    assert "HEADGATE_FEEDS_MAX_BYTES" in str(error)


@pytest.mark.parametrize("times", [1, 2])
async def test_a_bomb_is_unpacked_up_to_the_bound_alone(server: WebServer, link: Link, times: int) -> None:
    bomb = bytes(50_000_000)
    for _ in range(times):
        bomb = zipped([bomb])
    headers = {"Content-Encoding": ", ".join(["gzip"] * times)}
    error = await failure_of(link, server.say("/feed", Reply(bomb, headers=headers)))
    assert "larger than 1,000,000 bytes" in str(error)


@pytest.mark.parametrize("body", [b"", b"<rss>"])
async def test_a_server_that_never_comes_to_an_end_is_not_waited_for(server: WebServer, body: bytes) -> None:
    hurried = await open_link(FeedBounds(timeout_s=0.3, allow_private=True))
    url = server.say("/feed", Reply(body, hangs=True, declared_length=len(body) + 1))
    error = await failure_of(hurried, url)
    await hurried.close()
    assert type(error) is Transient
    assert "0.3 s" in str(error)


async def test_nobody_there_and_unknown_names_may_come_back(server: WebServer, link: Link) -> None:
    assert type(await failure_of(link, "http://127.0.0.1:1/feed")) is Transient
    unknown = await failure_of(link, "http://no-such-name.invalid/feed")
    assert type(unknown) is Transient
    assert "no-such-name.invalid" in str(unknown)


async def test_a_server_without_a_certificate_is_not_trusted(server: WebServer, link: Link) -> None:
    error = await failure_of(link, server.say("/feed", FEED).replace("http:", "https:"))
    assert type(error) is Transient
    assert "safe connection" in str(error)


def certificate_for(name: str, folder: Path) -> Path:
    """Make a certificate that only who is told of it trusts; its key is in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2090, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "certificate.pem"
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


async def test_a_certificate_counts_for_the_name_in_the_address_though_the_guard_connects_by_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = certificate_for("localhost", tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    link = await open_link()
    async with WebServer(context) as private:
        private.say("/feed", FEED)
        listed = await link.list(private.url("/feed", host="localhost"), {})
        wrong_name = await failure_of(link, private.url("/feed"))
    await link.close()
    assert len(listed.entries) == 1
    assert "certificate" in str(wrong_name)


async def test_a_public_name_that_leads_inside_is_refused(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def inside(_host: str, port: int, **_: object) -> list[object]:
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", inside)
    guarded = await open_link(FeedBounds(timeout_s=5))
    server.say("/feed", FEED)
    error = await failure_of(guarded, server.url("/feed", host="feeds.example"))
    await guarded.close()
    assert "HEADGATE_FEEDS_ALLOW_PRIVATE" in str(error)
    assert server.seen == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "2130706433"])
async def test_this_machine_is_refused_by_default(server: WebServer, host: str) -> None:
    guarded = await open_link(FeedBounds(timeout_s=5))
    server.say("/feed", FEED)
    error = await failure_of(guarded, server.url("/feed", host=host))
    await guarded.close()
    assert type(error) is Malformed
    assert "HEADGATE_FEEDS_ALLOW_PRIVATE" in str(error)
    assert server.seen == []


async def test_a_password_in_the_address_works_and_is_never_shown(
    server: WebServer, link: Link, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    feed = rss("<title>One</title><guid isPermaLink='false'>1</guid><link>/1</link>")
    server.say("/feed", feed, Reply(status=500))
    url = server.url("/feed", login="me:s3cret")
    listed = await link.list(url, {})
    expected = base64.b64encode(b"me:s3cret").decode()
    assert server.seen[0].headers["authorization"] == f"Basic {expected}"
    error = await failure_of(link, url)
    shown = f"{listed} {error!r} {error.__cause__!r} {caplog.text}"
    assert "s3cret" not in shown
    assert expected not in shown


async def test_a_password_follows_a_redirect_on_its_own_host_alone(server: WebServer, link: Link) -> None:
    server.say("/here", Reply(status=301, headers={"Location": "/feed"}))
    server.say("/away", Reply(status=301, headers={"Location": server.url("/feed", host="localhost")}))
    server.say("/feed", FEED)
    here = await link.list(server.url("/here", login="me:s3cret"), {})
    away = await link.list(server.url("/away", login="me:s3cret"), {})
    assert here.moved_to == server.url("/feed", login="me:s3cret")
    assert away.moved_to == server.url("/feed", host="localhost")
    assert ["authorization" in one.headers for one in server.seen] == [True, True, True, False]


@pytest.mark.parametrize(
    "url", ["", "nonsense", "ftp://example.org/", "http://", "http://[", "mailto:a@b.c", "x" * 99999]
)
async def test_what_is_no_address_is_refused(link: Link, url: str) -> None:
    assert type(await failure_of(link, url)) is Malformed


@pytest.mark.parametrize(
    ("listing", "host"),
    [
        ("https://Example.ORG/feed", "example.org"),
        ("https://example.org:443/feed", "example.org"),
        ("http://me:pw@example.org:8080/feed?x=1", "example.org:8080"),
        ("https://bücher.example/feed", "xn--bcher-kva.example"),
        ("http://[::1]:81/feed", "[::1]:81"),
    ],
)
def test_the_host_of_a_feed_is_what_is_paced(listing: str, host: str) -> None:
    assert FeedsConnector(BOUNDS, RealClock()).host_of(listing) == host


async def test_a_feeds_address_finds_the_feed(server: WebServer, link: Link) -> None:
    found = await link.find(server.say("/feed", FEED))
    assert [(one.key, one.title, one.kind) for one in found] == [(server.url("/feed"), "A site", "listing")]


async def test_an_address_without_its_scheme_is_tried_both_ways(server: WebServer, link: Link) -> None:
    server.say("/feed", FEED)
    assert [one.key for one in await link.find(f"127.0.0.1:{server.port}/feed")] == [server.url("/feed")]


async def test_a_page_names_its_feeds_those_of_comments_last(server: WebServer, link: Link) -> None:
    page = (
        "<!doctype html><html><head><title>My &amp; site</title>"
        '<link rel="alternate" type="application/rss+xml" title="Comments" href="/comments">'
        '<LINK REL="Alternate" TYPE="application/atom+xml" HREF="posts.atom">'
        '<link rel="alternate" type="application/feed+json; charset=utf-8" title="JSON" href="/feed.json">'
        '<link rel="alternate" type="text/html" hreflang="de" href="/de">'
        '<link rel="alternate" type="application/rss+xml" href="javascript:alert(1)">'
        "</head><body></body></html>"
    )
    found = await link.find(server.say("/blog/", page))
    assert [(one.key, one.title) for one in found] == [
        (server.url("/blog/posts.atom"), "My & site"),
        (server.url("/feed.json"), "JSON"),
        (server.url("/comments"), "Comments"),
    ]


async def test_a_page_that_names_none_is_searched_in_few_places(server: WebServer, link: Link) -> None:
    url = server.say("/", "<html><body>Hi</body></html>")
    assert await link.find(url) == ()
    assert len(server.seen) == 6
    server.say("/atom.xml", atom("<title>One</title><id>1</id>"))
    assert [one.key for one in await link.find(url)] == [server.url("/atom.xml")]


@pytest.mark.parametrize(
    "query", ["", "one piece", "One Piece: chapter 5", "chapter", "no-such-name.invalid", "a@b"]
)
async def test_what_is_no_address_finds_nothing(link: Link, query: str) -> None:
    assert await link.find(query) == ()


def test_errors_of_the_library_are_put_in_plain_words() -> None:
    connector = FeedsConnector(BOUNDS, RealClock())
    leaky = connector.classify(ValueError("at https://me:s3cret@example.org/"))
    assert "s3cret" not in str(leaky)
    assert type(connector.classify(TimeoutError())) is Transient
