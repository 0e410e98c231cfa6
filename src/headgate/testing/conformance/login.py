"""Signing in and out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from headgate.connectors.login_steps import (
    MAX_STATE_LENGTH,
    Ask,
    LoginAttempt,
    LoginStep,
    Question,
    Shown,
    SignedIn,
    Waiting,
)
from headgate.connectors.protocol import Connector
from headgate.domain.errors import AuthFailed
from headgate.testing.conformance.harness import ConnectorUnderTest, expect
from headgate.testing.memory import VolatileMemory

_MAX_STEPS = 20


class LoginConformance:
    """A login goes step by step, keeps nothing in memory, and ends with what opens the account."""

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
        error = await _error_of_login(under_test, {**answers, _decisive(asked).name: "wrong"})
        expect(isinstance(error, AuthFailed), f"a wrong answer is AuthFailed, not {error!r}")

    async def test_after_a_wrong_answer_the_right_one_signs_in(self, under_test: ConnectorUnderTest) -> None:
        answers = await under_test.login_answers()
        walk = _Walk(under_test)
        step = await walk.start()
        while isinstance(step, Ask):
            before = replace(walk.attempt)
            wrong = {question.name: _wrong(question, answers) for question in step.questions}
            try:
                await walk.answer(step, wrong)
            except AssertionError:
                raise
            except Exception:  # noqa: BLE001, S110 - what it is has a check of its own
                pass
            walk.attempt = before
            step = await walk.answer(step, answers)
        expect(isinstance(step, SignedIn), "a wrong answer must not spoil the state of before")

    async def test_any_process_can_take_the_next_step_of_a_login(
        self, under_test: ConnectorUnderTest
    ) -> None:
        asked, _ = await _sign_in(under_test, await under_test.login_answers(), under_test.new_connector)
        expect(asked, "the login asked something")

    async def test_actions_lead_on_and_leave_the_login_possible(self, under_test: ConnectorUnderTest) -> None:
        answers = await under_test.login_answers()
        walk = _Walk(under_test)
        step = await walk.start()
        for action in getattr(step, "actions", ()):
            expect(action.name and action.label, "an action has a name and says what it does")
            other = _Walk(under_test)
            first = await other.start()
            following = await other.act(action.name)
            expect(not isinstance(following, SignedIn), f"{action.name!r} must not sign in without proof")
            if isinstance(first, Ask) and isinstance(following, Ask) and _names(first) == _names(following):
                await other.finish(following, {**answers, **await under_test.answers_after(action.name)})

    async def test_what_is_shown_is_asked_about_until_it_was_used(
        self, under_test: ConnectorUnderTest
    ) -> None:
        walk = _Walk(under_test, under_test.new_connector)
        shown = await walk.until_shown(await under_test.login_answers())
        again = await walk.poll()
        expect(_shown_by(again) == shown, "what was not used and still works stays as it is")
        await under_test.use_shown(shown)
        following = await walk.poll()
        expect(_shown_by(following) != shown, "what was used leads on")
        await walk.finish(following, await under_test.login_answers())

    async def test_what_has_expired_is_replaced(self, under_test: ConnectorUnderTest) -> None:
        walk = _Walk(under_test)
        shown = await walk.until_shown(await under_test.login_answers())
        await under_test.let_expire(shown)
        renewed = _shown_by(await walk.poll())
        expect(renewed is not None and renewed.value != shown.value, "a new one is shown")

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


@dataclass
class _Walk:
    """One login, step by step; `renew` gives each step a connector that remembers nothing."""

    under_test: ConnectorUnderTest
    renew: Callable[[], Awaitable[Connector]] | None = None
    attempt: LoginAttempt = field(default_factory=LoginAttempt)
    asked: list[Question] = field(default_factory=list[Question])

    async def start(self) -> LoginStep:
        self.attempt = LoginAttempt(account=self.under_test.account)
        return await self.take()

    async def take(self) -> LoginStep:
        connector = await self.renew() if self.renew else self.under_test.connector
        step = await connector.login(self.attempt)
        if isinstance(step, Waiting):
            expect(step.prompt and step.ask_again_s > 0, "a step that waits says why, and when to ask again")
        if not isinstance(step, SignedIn):
            expect(len(step.state) <= MAX_STATE_LENGTH, "the state of a step is too long")
            self.attempt = replace(self.attempt, state=step.state, action="")
        return step

    async def poll(self) -> LoginStep:
        return await self.take()

    async def act(self, name: str) -> LoginStep:
        self.attempt = replace(self.attempt, action=name)
        return await self.take()

    async def answer(self, step: Ask, answers: Mapping[str, str]) -> LoginStep:
        expect(step.questions, "a step that asks has a question")
        given: dict[str, str] = {}
        for question in step.questions:
            expect(question.prompt, f"{question.name!r} must say what is asked for")
            answer = answers.get(question.name, "")
            expect(answer or question.optional, f"the test has no answer to {question.name!r}")
            given[question.name] = answer
        self.asked += step.questions
        self.attempt = replace(self.attempt, answers={**self.attempt.answers, **given})
        return await self.take()

    async def finish(self, step: LoginStep, answers: Mapping[str, str]) -> SignedIn:
        for _ in range(_MAX_STEPS):
            if isinstance(step, SignedIn):
                return step
            if isinstance(step, Ask):
                repeated = _names(step) & {question.name for question in self.asked}
                expect(not repeated, f"{sorted(repeated)} is asked for again")
                step = await self.answer(step, answers)
            else:
                if step.shown is not None:
                    await self.under_test.use_shown(step.shown)
                step = await self.poll()
        raise AssertionError("the login never ends")

    async def until_shown(self, answers: Mapping[str, str]) -> Shown:
        """Go on until something is shown, by the action that leads there if need be."""
        step = await self.start()
        leads = self.under_test.shown_after()
        for _ in range(_MAX_STEPS):
            if (shown := _shown_by(step)) is not None:
                return shown
            expect(not isinstance(step, SignedIn), "the login shows something")
            if leads in {action.name for action in getattr(step, "actions", ())}:
                step = await self.act(leads)
            else:
                step = await self.answer(step, answers) if isinstance(step, Ask) else await self.poll()
        raise AssertionError("the login never shows anything")


def _shown_by(step: LoginStep) -> Shown | None:
    return step.shown if isinstance(step, Waiting) else None


def _names(step: Ask) -> set[str]:
    return {question.name for question in step.questions}


def _decisive(asked: list[Question]) -> Question:
    """Return the question whose answer proves who somebody is: the last that takes any text."""
    return [question for question in asked if not question.choices and not question.optional][-1]


def _wrong(question: Question, answers: Mapping[str, str]) -> str:
    return answers.get(question.name, "") if question.choices or question.optional else "wrong"


async def _sign_in(
    under_test: ConnectorUnderTest,
    answers: Mapping[str, str],
    renew: Callable[[], Awaitable[Connector]] | None = None,
) -> tuple[list[Question], SignedIn]:
    """Answer the questions as they are asked; return what was asked, and the end."""
    walk = _Walk(under_test, renew)
    signed_in = await walk.finish(await walk.start(), answers)
    return walk.asked, signed_in


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
