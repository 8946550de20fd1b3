# SPDX-License-Identifier: Apache-2.0
"""Request mailboxes of rows, and check them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import msgspec

from chamberlain.cli.import_.dispatch import Busy, Later
from chamberlain.cli.import_.results import Outcome, RowResult
from chamberlain.cli.import_.sender import KeyedRow, Previewed, busy, busy_or_raise, previewed, refusal_of
from chamberlain.cli.import_.table import BodyRow
from chamberlain.mailboxes.import_.columns import column_of
from chamberlain_client import errors
from chamberlain_client.asynchronous.mailboxes import AsyncMailboxes
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import build_get
from chamberlain_client.models import ProvisioningState
from chamberlain_client.operations import READ_MAILBOX

# The service normalizes the case of these values.
_IDS = {"templateId", "primaryOwner", "secondaryOwner"}


def is_as_asked(record: Mapping[str, object], body: Mapping[str, object]) -> bool:
    """Return whether a mailbox has all properties of a body.

    It may have more, by its template.
    """
    return all(_same(name, record.get(name), wanted) for name, wanted in body.items())


def _same(name: str, found: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(_same("", found.get(key), value) for key, value in wanted.items())
    if name in _IDS:
        return str(found).lower() == str(wanted).lower()
    # True equals 1 in Python only.
    return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)


# States that free the name. They have no mailbox.
_OVER = {ProvisioningState.REJECTED, ProvisioningState.CANCELLED, ProvisioningState.EXPIRED}
_GOING_ON = {ProvisioningState.PENDING_APPROVAL, ProvisioningState.QUEUED, ProvisioningState.PROVISIONING}


@dataclass(frozen=True, slots=True)
class MailboxSender:
    """Sends rows of mailboxes.

    Raises errors that concern all of them, such as a missing sign-in.
    """

    transport: AsyncTransport
    note: Callable[[str, RowResult], None]

    async def send(self, keyed: KeyedRow[BodyRow]) -> RowResult | Later | Busy:
        """Request the mailbox of a row, and note its acceptance."""
        row = keyed.row
        try:
            accepted = await AsyncMailboxes(self.transport).create(row.body, idempotency_key=keyed.key)
        except errors.ChamberlainError as error:
            answer = await self._refused(row, error)
        else:
            answer = RowResult(
                row.line,
                row.name,
                Outcome.ACCEPTED,
                address=accepted.primary_smtp_address,
                object_id=str(accepted.id),
                request_id=str(accepted.request_id),
                detail="It has to be approved." if accepted.approval_required else None,
            )
            # The service replays its first response.
            answer = await self._unless_over(answer) if accepted.replayed else answer
        if isinstance(answer, RowResult) and answer.outcome.is_well:
            self.note(keyed.key, answer)
        return answer

    async def preview(self, row: BodyRow) -> Previewed | Later | Busy:
        """Run a row as a dry run."""
        try:
            plan = await AsyncMailboxes(self.transport).create(row.body, dry_run=True)
        except errors.ChamberlainError as error:
            answer = await self._refused(row, error)
            return previewed(row, None, answer) if isinstance(answer, RowResult) else answer
        return previewed(row, plan, None)

    async def look(self, result: RowResult) -> RowResult | Later | Busy:
        """Read the state of an accepted row; Later until it is finished."""
        try:
            mailbox = await AsyncMailboxes(self.transport).get(str(result.object_id))
        except errors.NotFound as error:
            return replace(result, outcome=Outcome.FAILED, code=error.code, detail="It is not there any more.")
        except errors.ChamberlainError as error:
            return busy_or_raise(error)
        if mailbox.provisioning_state == ProvisioningState.ACTIVE:
            return replace(result, outcome=Outcome.ACTIVE, detail=None)
        if mailbox.provisioning_state in _GOING_ON:
            return Later(1.0)
        code = None if mailbox.error is None else mailbox.error.code
        detail = mailbox.provisioning_state if mailbox.error is None else mailbox.error.detail
        return replace(result, outcome=Outcome.FAILED, code=code, detail=str(detail))

    async def _refused(self, row: BodyRow, error: errors.ChamberlainError) -> RowResult | Later | Busy:
        if isinstance(error, errors.Conflict) and error.code in {"nameTaken", "addressTaken"}:
            return await self._taken(row, error)
        return busy(error) or refusal_of(row, error, lambda pointer: column_of(pointer, row.body))

    async def _unless_over(self, accepted: RowResult) -> RowResult | Later | Busy:
        try:
            mailbox = await AsyncMailboxes(self.transport).get(str(accepted.object_id))
        except errors.ChamberlainError as error:
            return busy_or_raise(error)
        if mailbox.provisioning_state not in _OVER:
            return accepted
        detail = f"It was asked for as in the row within the last seven days, and is {mailbox.provisioning_state}."
        return replace(accepted, outcome=Outcome.FAILED, detail=f"{detail} Change the row to ask again.")

    async def _taken(self, row: BodyRow, error: errors.Refused) -> RowResult | Later | Busy:
        """Check whether an earlier run has requested this very mailbox.

        Its checkpoint file and idempotency keys may be gone.
        """
        taken = RowResult(row.line, row.name, Outcome.CONFLICT, code=error.code, detail=error.detail)
        if error.conflicting_id is None:
            return taken
        try:
            record = await self._record(error.conflicting_id)
        except errors.NotFound:
            # The name belongs to another object, or to a mailbox that is gone.
            return replace(taken, object_id=error.conflicting_id)
        except errors.ChamberlainError as trouble:
            return busy_or_raise(trouble)
        if not is_as_asked(record, row.body):
            return replace(taken, object_id=error.conflicting_id)
        found = RowResult(
            row.line,
            row.name,
            Outcome.PRESENT,
            address=str(record.get("primarySmtpAddress")),
            object_id=str(record.get("id")),
            request_id=str(record.get("requestId")),
            detail="It is there as the row asks for it.",
        )
        if record.get("provisioningState") != ProvisioningState.FAILED:
            return found
        detail = "It was asked for as in the row, and has failed: retry or cancel its request."
        return replace(found, outcome=Outcome.FAILED, detail=detail)

    async def _record(self, mailbox_id: str) -> Mapping[str, object]:
        """A mailbox as JSON, because it is compared with the sent body."""
        answer = await self.transport.send(build_get(READ_MAILBOX, mailbox_id))
        return msgspec.json.decode(answer.content, type=dict[str, object])
