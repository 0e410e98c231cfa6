"""What every connector must keep: one suite, for fakes and real servers alike.

Subclass `ConnectorConformance` in a test module and give it a fixture `under_test` that yields a
`ConnectorUnderTest`. What the manifest does not claim is skipped; what it claims is held to.
"""

from headgate.testing.conformance.errors import ErrorConformance
from headgate.testing.conformance.files import FileConformance
from headgate.testing.conformance.harness import ConnectorUnderTest
from headgate.testing.conformance.listings import ListingConformance
from headgate.testing.conformance.live import LiveConformance
from headgate.testing.conformance.login import LoginConformance
from headgate.testing.conformance.messages import MessageConformance
from headgate.testing.conformance.reading import ReadingConformance
from headgate.testing.conformance.sending import SendingConformance


class ConnectorConformance(
    ReadingConformance,
    MessageConformance,
    LiveConformance,
    FileConformance,
    SendingConformance,
    ListingConformance,
    LoginConformance,
    ErrorConformance,
):
    """The whole suite."""


__all__ = ["ConnectorConformance", "ConnectorUnderTest"]
