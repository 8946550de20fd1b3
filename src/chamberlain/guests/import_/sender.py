# SPDX-License-Identifier: Apache-2.0
"""Change the assignments of rows, and check their requests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from msgspec import UNSET, UnsetType

from chamberlain.cli.import_.dispatch import Busy, Later
from chamberlain.cli.import_.requests import look_at_request
from chamberlain.cli.import_.results import Outcome, RowResult
from chamberlain.cli.import_.sender import KeyedRow, Previewed, busy, refusal_of
from chamberlain.guests.import_.columns import FIELDS, AssignmentRow
from chamberlain_client import errors
from chamberlain_client.asynchronous.guests import AsyncManagedGroups, AsyncManagedSites
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.models import DryRunAssignment


@dataclass(frozen=True, slots=True)
class AssignmentSender:
    """Sends rows of assignments.

    Raises errors that concern all of them, such as a missing sign-in.
    """

    transport: AsyncTransport
    note: Callable[[str, RowResult], None]

    async def send(self, keyed: KeyedRow[AssignmentRow]) -> RowResult | Later | Busy:
        """Change the assignment of a row, and note it.

        A repeated change does no harm.
        """
        row = keyed.row
        subjects = self._subjects(row)
        try:
            before = await subjects.get(row.id)
            after = await subjects.assign(
                row.id, template_id=_field(row, "templateId"), policy_id=_field(row, "policyId")
            )
        except errors.ChamberlainError as error:
            return _refused(row, error)
        is_present = after.assignment_request_id == before.assignment_request_id
        answer = RowResult(
            row.line,
            row.name,
            Outcome.PRESENT if is_present else Outcome.ACCEPTED,
            object_id=row.id,
            request_id=None if after.assignment_request_id is None else str(after.assignment_request_id),
            detail="It was already assigned." if is_present else None,
        )
        self.note(keyed.key, answer)
        return answer

    async def preview(self, row: AssignmentRow) -> Previewed | Later | Busy:
        """Run a row as a dry run."""
        try:
            plan = await self._subjects(row).assign(
                row.id, template_id=_field(row, "templateId"), policy_id=_field(row, "policyId"), dry_run=True
            )
        except errors.ChamberlainError as error:
            answer = _refused(row, error)
            return _previewed(row, None, answer.detail or "") if isinstance(answer, RowResult) else answer
        return _previewed(row, plan, "")

    async def look(self, result: RowResult) -> RowResult | Later | Busy:
        """Read the state of a row's request; Later until it has ended."""
        if result.request_id is None:
            return replace(result, outcome=Outcome.ACTIVE)
        found = await look_at_request(self.transport, result)
        return replace(found, object_id=result.object_id) if isinstance(found, RowResult) else found

    def _subjects(self, row: AssignmentRow) -> AsyncManagedGroups | AsyncManagedSites:
        return AsyncManagedGroups(self.transport) if row.column == "group" else AsyncManagedSites(self.transport)


def _field(row: AssignmentRow, name: str) -> str | UnsetType:
    return row.body.get(name, UNSET)


def _refused(row: AssignmentRow, error: errors.ChamberlainError) -> RowResult | Later | Busy:
    if isinstance(error, errors.NotFound):
        return RowResult(row.line, row.name, Outcome.REFUSED, code=error.code, detail=error.detail)
    return busy(error) or refusal_of(row, error, _column)


def _column(pointer: str) -> str:
    name = pointer.removeprefix("/")
    return name.removesuffix("Id") if name in FIELDS.values() else name


def _previewed(row: AssignmentRow, plan: DryRunAssignment | None, refused: str) -> Previewed:
    record: Mapping[str, object] = {
        "line": row.line,
        "name": row.name,
        "templateId": plan and plan.template_id and str(plan.template_id),
        "policyId": plan and plan.policy_id and str(plan.policy_id),
        "approvalRequired": False,
        "steps": [step.name for step in plan.effects] if plan else [],
        "removals": len(plan.removals) if plan else 0,
        "refused": refused,
    }
    return Previewed(row.line, record)
