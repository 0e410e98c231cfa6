"""What becomes of a job that failed: wait, try again, or give up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from headgate.domain.errors import Elsewhere, RateLimited, WorkError

JITTER = 0.2
MAX_WAIT_S = 6 * 3600.0
ELSEWHERE_S = 30.0


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how soon a kind of job is tried again."""

    max_attempts: int = 3
    first_delay_s: float = 5.0
    factor: float = 2.0
    longest_delay_s: float = 3600.0
    attempts_by_class: dict[str, int] = field(default_factory=dict[str, int])
    """Other numbers of attempts for some error classes."""

    def delay_s(self, attempt: int) -> float:
        """Return the pause after a failed attempt, the first being 1: 5 s, 10 s, 20 s."""
        return min(self.first_delay_s * self.factor ** (attempt - 1), self.longest_delay_s)


@dataclass(frozen=True)
class RetryDecision:
    """What to do with a failed job, and why."""

    action: Literal["wait", "retry", "die"]
    reason: str
    delay_s: float = 0.0


def judge_failure(error: BaseException, *, attempt: int, policy: RetryPolicy) -> RetryDecision:
    """Decide by the error's class; unknown errors count as transient."""
    if isinstance(error, RateLimited):
        return RetryDecision("wait", "the pace asks for it", min(error.retry_after_s, MAX_WAIT_S))
    if isinstance(error, Elsewhere):
        return RetryDecision("wait", "another worker can do it", ELSEWHERE_S)
    if isinstance(error, WorkError) and not error.retryable:
        return RetryDecision("die", "trying again would not help")
    name = type(error).__name__
    if attempt >= policy.attempts_by_class.get(name, policy.max_attempts):
        return RetryDecision("die", f"{attempt} attempts failed")
    return RetryDecision("retry", f"attempt {attempt} failed", policy.delay_s(attempt))
