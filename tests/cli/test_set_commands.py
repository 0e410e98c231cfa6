"""`headgate library join|separate|retry|dismiss` refuse what the actions refuse, in the same words."""

from __future__ import annotations

from uuid import uuid4

import pytest
from ledger import Ledger


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("join",), "Choose at least two items to join."),
        (("separate",), "There is no item"),
        (("retry",), "There is no such item."),
        (("dismiss",), "This item has no open problem."),
    ],
)
def test_an_unknown_item_is_refused(ledger: Ledger, command: tuple[str, ...], words: str) -> None:
    assert words in ledger.refused("library", *command, str(uuid4()))
