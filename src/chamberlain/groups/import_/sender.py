# SPDX-License-Identifier: Apache-2.0
"""Request groups and teams of rows, and check their requests."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from chamberlain.cli.import_.dispatch import Busy, Later
from chamberlain.cli.import_.requests import look_at_request
from chamberlain.cli.import_.results import Outcome, RowResult
from chamberlain.cli.import_.sender import KeyedRow, Previewed, busy, previewed, refusal_of
from chamberlain.cli.import_.table import BodyRow, column_of_property
from chamberlain_client import errors
from chamberlain_client.asynchronous.groups import AsyncGroups
from chamberlain_client.asynchronous.transport import AsyncTransport


@dataclass(frozen=True, slots=True)
class GroupSender:
    """Sends rows of groups and teams.

    Raises errors that concern all of them, such as a missing sign-in.
    """

    transport: AsyncTransport
    note: Callable[[str, RowResult], None]

    async def send(self, keyed: KeyedRow[BodyRow]) -> RowResult | Later | Busy:
        """Request the group of a row, and note its acceptance."""
        row = keyed.row
        try:
            accepted = await AsyncGroups(self.transport).create(row.body, idempotency_key=keyed.key)
        except errors.ChamberlainError as error:
            return self._refused(row, error)
        answer = RowResult(
            row.line,
            row.name,
            Outcome.ACCEPTED,
            request_id=str(accepted.request_id),
            detail="It has to be approved." if accepted.approval_required else None,
        )
        if accepted.replayed:
            # The service replays its first response. The request may have ended since.
            state = await look_at_request(self.transport, answer)
            if not isinstance(state, RowResult):
                self.note(keyed.key, answer)
                return answer
            answer = replace(state, outcome=Outcome.PRESENT) if state.outcome.is_well else state
        if answer.outcome.is_well:
            self.note(keyed.key, answer)
        return answer

    async def preview(self, row: BodyRow) -> Previewed | Later | Busy:
        """Run a row as a dry run."""
        try:
            plan = await AsyncGroups(self.transport).create(row.body, dry_run=True)
        except errors.ChamberlainError as error:
            answer = self._refused(row, error)
            return previewed(row, None, answer) if isinstance(answer, RowResult) else answer
        return previewed(row, plan, None)

    async def look(self, result: RowResult) -> RowResult | Later | Busy:
        """Read the state of an accepted row; Later until it is finished."""
        return await look_at_request(self.transport, result)

    def _refused(self, row: BodyRow, error: errors.ChamberlainError) -> RowResult | Later | Busy:
        if isinstance(error, errors.Conflict) and error.code in {"nameTaken", "addressTaken"}:
            taken = RowResult(row.line, row.name, Outcome.CONFLICT, code=error.code, detail=error.detail)
            return replace(taken, object_id=error.conflicting_id)
        return busy(error) or refusal_of(row, error, lambda pointer: column_of_property(pointer, row.body))
