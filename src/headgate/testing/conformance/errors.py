"""The manifest, errors, and the end of a connection."""

from __future__ import annotations

from headgate.domain.errors import RateLimited, SlowMode, Transient
from headgate.testing.conformance.harness import ConnectorUnderTest, expect


class UnheardOf(Exception):
    """An exception that no library raises."""


class ErrorConformance:
    """The core acts on classes of errors alone, so each exception must have the right one."""

    async def test_every_exception_of_the_library_has_its_class(self, under_test: ConnectorUnderTest) -> None:
        for error, meaning in under_test.library_errors():
            ours = under_test.connector.classify(error)
            expect(
                type(ours) is meaning, f"{error!r} should mean {meaning.__name__}, not {type(ours).__name__}"
            )
            expect(str(ours), f"{error!r} must say what happened")
            if isinstance(ours, RateLimited | SlowMode):
                expect(ours.retry_after_s > 0, "a limit says how long to wait")

    async def test_an_unknown_exception_is_transient(self, under_test: ConnectorUnderTest) -> None:
        ours = under_test.connector.classify(UnheardOf("what is this"))
        expect(type(ours) is Transient, "what nobody knows may succeed if tried again")

    async def test_our_own_errors_stay_as_they_are(self, under_test: ConnectorUnderTest) -> None:
        error = RateLimited(retry_after_s=3)
        expect(under_test.connector.classify(error) is error, "an error of ours is not classified again")

    async def test_closing_twice_is_closing(self, under_test: ConnectorUnderTest) -> None:
        before = await under_test.link.discover()
        link = await under_test.reopen()
        await link.close()
        await link.close()
        expect(await under_test.link.discover() == before, "closing one connection leaves the other alone")

    async def test_the_manifest_makes_sense(self, under_test: ConnectorUnderTest) -> None:
        manifest = under_test.connector.manifest
        expect(manifest.platform and manifest.title and manifest.licence, "it says what it is")
        expect(manifest.page_size > 0 and manifest.heads_per_call > 0, "sizes are above zero")
        expect(manifest.lenses and manifest.settle_margin_s >= 0, "there is a lens, and a settle margin")
        expect(
            (manifest.live != "none") == ("live" in manifest.capabilities), "live is claimed in both places"
        )
        expect(
            (manifest.dedupe.kind == "none") == (manifest.dedupe.window_s == 0), "a dedupe kind has a window"
        )
