"""The state of stored content in words, the same for commands, pages and `headgate doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from headgate.domain.words.times import relative, size_text
from headgate.ingest.storing.audit import AuditReport
from headgate.storage.blobs.verify import Audit


@dataclass(frozen=True)
class AuditWords:
    """What an audit says to people; `troubled` if they should know."""

    progress: str
    findings: str
    remedy: str
    troubled: bool


def describe_audit(report: AuditReport, now: datetime) -> AuditWords:
    """Say when stored files were verified, what was found, and what to do."""
    lost = report.damaged.files
    return AuditWords(
        progress=_progress(report.audit, now),
        findings=_findings(report),
        remedy=(
            "Their messages are gone, so they cannot be fetched again. Post them again, or restore a backup."
            if lost
            else ""
        ),
        troubled=bool(report.damaged.blobs),
    )


def _progress(audit: Audit | None, now: datetime) -> str:
    if audit is None:
        return "Stored files have never been verified."
    if audit.ended_at is not None:
        return (
            f"Verified {relative(audit.ended_at, now)}: {_files(audit.checked)},"
            f" {size_text(audit.checked_bytes)}."
        )
    return (
        f"Verified {audit.checked:,} of {_files(audit.total)}, {size_text(audit.checked_bytes)} of"
        f" {size_text(audit.total_bytes)}, up to {relative(audit.noted_at, now)}; `headgate audit` continues."
    )


def _findings(report: AuditReport) -> str:
    audit, damaged = report.audit, report.damaged
    if damaged.blobs == 0:
        if audit is None or audit.damaged == 0:
            return "No damage is known."
        return f"{_files(audit.damaged)} had been damaged; none is now."
    found = f"{_files(damaged.blobs)} damaged or missing ({size_text(damaged.size_bytes)})"
    return (
        f"{found}, {damaged.files:,} of the library lost." if damaged.files else f"{found}, being replaced."
    )


def _files(count: int) -> str:
    return f"{count:,} {'file' if count == 1 else 'files'}"
