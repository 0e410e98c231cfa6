"""Signing in and out."""

from __future__ import annotations

from collections.abc import Mapping

from headgate.connectors.protocol import Question, SignedIn
from headgate.domain.errors import AuthFailed
from headgate.testing.conformance.harness import ConnectorUnderTest, expect
from headgate.testing.memory import VolatileMemory

_MAX_QUESTIONS = 20


class LoginConformance:
    """A login asks one thing at a time, and ends with what opens the account."""

    async def test_a_login_ends_with_secrets_that_open_the_account(
        self, under_test: ConnectorUnderTest
    ) -> None:
        _, signed_in = await _sign_in(under_test, await under_test.login_answers())
        error = await _error_of_opening(under_test, signed_in.secrets)
        expect(error is None, f"an account that has signed in can be used: {error!r}")

    async def test_a_wrong_answer_fails_the_login(self, under_test: ConnectorUnderTest) -> None:
        answers = await under_test.login_answers()
        asked, _ = await _sign_in(under_test, answers)
        expect(asked, "a login that asks nothing lets anybody in")
        error = await _error_of_login(under_test, {**answers, asked[-1].name: "wrong"})
        expect(isinstance(error, AuthFailed), f"a wrong answer is AuthFailed, not {error!r}")

    async def test_after_a_logout_only_a_login_opens_the_account(
        self, under_test: ConnectorUnderTest
    ) -> None:
        answers = await under_test.login_answers()
        _, signed_in = await _sign_in(under_test, answers)
        for _ in range(2):
            await under_test.connector.logout(under_test.account, signed_in.secrets)
        error = await _error_of_opening(under_test, signed_in.secrets)
        expect(isinstance(error, AuthFailed), f"an account that has signed out is AuthFailed, not {error!r}")
        _, again = await _sign_in(under_test, answers)
        expect(await _error_of_opening(under_test, again.secrets) is None, "a login opens it again")


async def _sign_in(
    under_test: ConnectorUnderTest, answers: Mapping[str, str]
) -> tuple[list[Question], SignedIn]:
    """Answer each question when it is asked; return what was asked, and the end."""
    given: dict[str, str] = {}
    asked: list[Question] = []
    for _ in range(_MAX_QUESTIONS):
        step = await under_test.connector.login(under_test.account, {}, given)
        if isinstance(step, SignedIn):
            return asked, step
        expect(step.name not in given, f"{step.name!r} is asked for again")
        expect(step.prompt, f"{step.name!r} must say what is asked for")
        expect(not step.choices or answers[step.name] in step.choices, f"{step.name!r}: not a choice")
        asked.append(step)
        given[step.name] = answers[step.name]
    raise AssertionError("the login never ends")


async def _error_of_login(under_test: ConnectorUnderTest, answers: Mapping[str, str]) -> Exception | None:
    try:
        await _sign_in(under_test, answers)
    except AssertionError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a library raises is to be classified
        return under_test.connector.classify(error)
    return None


async def _error_of_opening(under_test: ConnectorUnderTest, secrets: Mapping[str, str]) -> Exception | None:
    """Return what using the account ends with: some platforms notice only at the first call."""
    try:
        link = await under_test.connector.open(under_test.account, secrets, VolatileMemory())
        try:
            await link.discover()
        finally:
            await link.close()
    except Exception as error:  # noqa: BLE001 - whatever a library raises is to be classified
        return under_test.connector.classify(error)
    return None
