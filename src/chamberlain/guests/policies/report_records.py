# SPDX-License-Identifier: Apache-2.0
"""Store the reports of policy runs, and read them for the e-mail."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.core.ids import GroupId, NoticeId, TenantId, UserId
from chamberlain.database.transactions import Record, Transaction
from chamberlain.guests.models import FindingKind, FindingSource, FindingState
from chamberlain.guests.policies import store
from chamberlain.guests.policies.events import finding_kind
from chamberlain.guests.policies.models import PolicyAction
from chamberlain.guests.policies.reports import (
    POLICY_REPORT,
    Findings,
    OpenFinding,
    Report,
    ReportLine,
    RunReport,
    build_report,
)
from chamberlain.guests.policies.store import NO_GUEST
from chamberlain.guests.policies.timers import PolicyRule, TimerKey
from chamberlain.guests.subjects import records as subject_records
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# Wait for the rest of an unfinished run. By then an interrupted run has caught up, or a throttled directory has
# answered.
REPORT_DELAY: Final = timedelta(minutes=5)
# Unsent reports without a lease. Locked ones are skipped.
PENDING: Final = """
SELECT n.tenant_id, n.subject_id, n.notice_id, n.job_id FROM chamberlain.notice n
JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, subject_id) USING (tenant_id, subject_id)
JOIN chamberlain.job j ON j.job_id = n.job_id
WHERE n.attempts = 0 AND n.told = '{}' AND j.lease_id IS NULL AND j.held_reason IS NULL
FOR UPDATE OF n, j SKIP LOCKED
"""
_REMINDER: Final = "reminder"
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class _Pending:
    notice_id: NoticeId
    job_id: int


async def save(tx: Transaction, runs: Sequence[RunReport], *, at: datetime) -> None:
    """Save the reports of runs. Each is about another group or site."""
    pending = await _pending(tx, runs)
    made = [run for run in runs if run.lines and run.place not in pending]
    await _create(tx, made, at)
    notices = {run.place: run.notice_id for run in made} | {place: each.notice_id for place, each in pending.items()}
    await _add_lines(tx, [(run.place[0], notices[run.place], line) for run in runs for line in run.lines])
    over = [pending[run.place].job_id for run in runs if run.is_over and run.place in pending]
    if over:
        await tx.execute(SQL["release"], over)


async def find(tx: Transaction, tenant_id: TenantId, subject_id: GroupId, notice_id: NoticeId) -> Report | None:
    """Read a report in its current state.

    Returns None for a deleted group or site.
    """
    subject = await subject_records.find(tx, tenant_id, subject_id)
    tasks = await store.read_timers(tx, await store.find(tx, [(tenant_id, subject_id)]))
    if subject is None or not tasks:
        return None
    lines = [_line(row) for row in await tx.fetch(SQL["lines"], tenant_id, notice_id)]
    rows = await tx.fetch(SQL["found"], tenant_id, subject_id, FindingState.OPEN, FindingSource.POLICY)
    return build_report(lines, subject, tasks[0], _findings(rows))


async def _pending(tx: Transaction, runs: Sequence[RunReport]) -> dict[tuple[TenantId, GroupId], _Pending]:
    if not runs:
        return {}
    rows = await tx.fetch(PENDING, [run.place[0] for run in runs], [run.place[1] for run in runs])
    return {
        (TenantId(row["tenant_id"]), GroupId(row["subject_id"])): _Pending(NoticeId(row["notice_id"]), row["job_id"])
        for row in rows
    }


async def _create(tx: Transaction, runs: Sequence[RunReport], at: datetime) -> None:
    if runs:
        await tx.execute(
            SQL["create"],
            [run.place[0] for run in runs],
            [run.notice_id for run in runs],
            [run.place[1] for run in runs],
            [run.trace_id for run in runs],
            [timedelta(0) if run.is_over else REPORT_DELAY for run in runs],
            POLICY_REPORT,
            at,
        )


async def _add_lines(tx: Transaction, lines: Sequence[tuple[TenantId, NoticeId, ReportLine]]) -> None:
    if lines:
        await tx.execute(
            SQL["add_lines"],
            [tenant_id for tenant_id, _, _ in lines],
            [notice_id for _, notice_id, _ in lines],
            [_REMINDER if line.taken is None else line.taken for _, _, line in lines],
            [line.rule for _, _, line in lines],
            [line.guest_id or NO_GUEST for _, _, line in lines],
        )


def _line(row: Record) -> ReportLine:
    rule, what = PolicyRule(row["rule"]), row["what"]
    guest_id = None if rule is PolicyRule.MINIMUM_OWNERS else UserId(row["guest_id"])
    return ReportLine(rule, guest_id, None if what == _REMINDER else PolicyAction(what))


def _findings(rows: Sequence[Record]) -> Findings:
    rules = {finding_kind(rule): rule for rule in PolicyRule}
    found: dict[TimerKey, OpenFinding] = {}
    for row in rows:
        guest_id = UserId(UUID(row["about"])) if row["about"] else None
        place = rules[FindingKind(row["kind"])], guest_id
        found[place] = OpenFinding(row["finding_id"], _number(row["observed"]), _number(row["wanted"]))
    return found


def _number(text: str | None) -> int | None:
    value = None if text is None else _decode(text)
    return value if isinstance(value, int) else None
