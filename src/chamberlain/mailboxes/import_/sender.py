"""One row sent to the service, and what its answer means; rehearsed, or looked at until it is active."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import msgspec

from chamberlain.mailboxes.import_.columns_rows import MailboxRow, column_of
from chamberlain.mailboxes.import_.results import Outcome, RowResult
from chamberlain.mailboxes.import_.sender_dispatch import Busy, Later
from chamberlain.mailboxes.import_.sender_keys import is_as_asked
from chamberlain_client.asynchronous.mailboxes import AsyncMailboxes
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import reading
from chamberlain_client.errors import (
    AnswerNotUnderstood,
    BodyTooLarge,
    ChamberlainError,
    Conflict,
    Forbidden,
    LimitReached,
    Malformed,
    NotFound,
    NotPossible,
    Refused,
    ServiceFault,
    Unavailable,
    Unreachable,
)
from chamberlain_client.models.mailboxes import ProvisioningState
from chamberlain_client.models.rehearsals import RehearsedMailbox
from chamberlain_client.operations import READ_MAILBOX

# What gives the name back; no mailbox comes of it any more.
_OVER = {ProvisioningState.REJECTED, ProvisioningState.CANCELLED, ProvisioningState.EXPIRED}
_GOING_ON = {ProvisioningState.PENDING_APPROVAL, ProvisioningState.QUEUED, ProvisioningState.PROVISIONING}


@dataclass(frozen=True, slots=True)
class KeyedRow:
    """A row with its idempotency key."""

    row: MailboxRow
    key: str


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What would come of a row: what the service plans, or why it refuses."""

    row: MailboxRow
    plan: RehearsedMailbox | None
    refusal: RowResult | None

    @property
    def record(self) -> Mapping[str, object]:
        """The members as people and programs see them."""
        plan = self.plan
        refused = [fault.detail for fault in plan.conflicts] if plan else [str(self.refusal and self.refusal.detail)]
        return {
            "line": self.row.line,
            "name": self.row.name,
            "address": plan and plan.address,
            "template": plan and plan.template.name,
            "approvalRequired": plan and plan.approval_required,
            "steps": [step.name for step in plan.steps] if plan else [],
            "refused": " ".join(refused),
        }


@dataclass(frozen=True, slots=True)
class RowSender:
    """Sends rows. Raises what concerns all of them: that nobody is signed in, that the caller may not, that no service
    is there."""

    transport: AsyncTransport
    note: Callable[[str, RowResult], None]

    async def send(self, keyed: KeyedRow) -> RowResult | Later | Busy:
        """Ask for the mailbox of a row, and note when that is done."""
        row = keyed.row
        try:
            accepted = await AsyncMailboxes(self.transport).create(row.body, idempotency_key=keyed.key)
        except ChamberlainError as error:
            answer = busy(error) or await self._refused(row, error)
        else:
            answer = RowResult(
                row.line,
                row.name,
                Outcome.ACCEPTED,
                address=accepted.primary_smtp_address,
                mailbox_id=str(accepted.id),
                request_id=str(accepted.request_id),
                detail="It has to be approved." if accepted.approval_required else None,
            )
            # The service gives its first answer again, whatever has become of it.
            answer = await self._unless_over(answer) if accepted.replayed else answer
        if isinstance(answer, RowResult) and answer.outcome.is_well:
            self.note(keyed.key, answer)
        return answer

    async def rehearse(self, row: MailboxRow) -> Rehearsed | Later | Busy:
        """What would come of a row; nothing is done."""
        try:
            plan = await AsyncMailboxes(self.transport).create(row.body, dry_run=True)
        except ChamberlainError as error:
            answer = busy(error) or await self._refused(row, error)
            return Rehearsed(row, None, answer) if isinstance(answer, RowResult) else answer
        return Rehearsed(row, plan, None)

    async def look(self, result: RowResult) -> RowResult | Later | Busy:
        """What has become of a row that was accepted; Later as long as it goes on."""
        try:
            mailbox = await AsyncMailboxes(self.transport).get(str(result.mailbox_id))
        except NotFound as error:
            return replace(result, outcome=Outcome.FAILED, code=error.code, detail="It is not there any more.")
        except ChamberlainError as error:
            return busy_or_raise(error)
        if mailbox.provisioning_state == ProvisioningState.ACTIVE:
            return replace(result, outcome=Outcome.ACTIVE, detail=None)
        if mailbox.provisioning_state in _GOING_ON:
            return Later(1.0)
        code = None if mailbox.error is None else mailbox.error.code
        detail = mailbox.provisioning_state if mailbox.error is None else mailbox.error.detail
        return replace(result, outcome=Outcome.FAILED, code=code, detail=str(detail))

    async def _refused(self, row: MailboxRow, error: ChamberlainError) -> RowResult | Later | Busy:
        match error:
            case Conflict(code="idempotencyKeyInProgress"):
                return Later(error.retry_after or 1.0)
            case Conflict(code="nameTaken" | "addressTaken"):
                return await self._taken(row, error)
            case Malformed() | NotPossible() | Conflict() | BodyTooLarge() | ServiceFault():
                return RowResult(row.line, row.name, Outcome.REFUSED, code=error.code, detail=_told(row, error))
            case Forbidden(code="templateNotAllowed"):
                return RowResult(row.line, row.name, Outcome.REFUSED, code=error.code, detail=error.detail)
            case _:
                raise error

    async def _unless_over(self, accepted: RowResult) -> RowResult | Later | Busy:
        try:
            mailbox = await AsyncMailboxes(self.transport).get(str(accepted.mailbox_id))
        except ChamberlainError as error:
            return busy_or_raise(error)
        if mailbox.provisioning_state not in _OVER:
            return accepted
        detail = f"It was asked for as in the row within the last seven days, and is {mailbox.provisioning_state}."
        return replace(accepted, outcome=Outcome.FAILED, detail=f"{detail} Change the row to ask again.")

    async def _taken(self, row: MailboxRow, error: Refused) -> RowResult | Later | Busy:
        """It may be the mailbox of this very row: asked for by an earlier run whose journal and keys are gone."""
        taken = RowResult(row.line, row.name, Outcome.CONFLICT, code=error.code, detail=error.detail)
        if error.conflicting_id is None:
            return taken
        try:
            record = await self._record(error.conflicting_id)
        except NotFound:
            # What has it is no mailbox, or is gone by now.
            return replace(taken, mailbox_id=error.conflicting_id)
        except ChamberlainError as trouble:
            return busy_or_raise(trouble)
        if not is_as_asked(record, row.body):
            return replace(taken, mailbox_id=error.conflicting_id)
        found = RowResult(
            row.line,
            row.name,
            Outcome.PRESENT,
            address=str(record.get("primarySmtpAddress")),
            mailbox_id=str(record.get("id")),
            request_id=str(record.get("requestId")),
            detail="It is there as the row asks for it.",
        )
        if record.get("provisioningState") != ProvisioningState.FAILED:
            return found
        detail = "It was asked for as in the row, and has failed: retry or cancel its request."
        return replace(found, outcome=Outcome.FAILED, detail=detail)

    async def _record(self, mailbox_id: str) -> Mapping[str, object]:
        """A mailbox as it came, since what was sent is compared with it member by member."""
        answer = await self.transport.send(reading(READ_MAILBOX, mailbox_id))
        return msgspec.json.decode(answer.content, type=dict[str, object])


def busy(error: ChamberlainError) -> Busy | None:
    """Whether the service, or what stands before it, will answer later, to this call and to others; None when not."""
    match error:
        case LimitReached() | Unavailable():
            return Busy(error.retry_after or 1.0, error)
        case Unreachable() | AnswerNotUnderstood(status=502 | 504):
            return Busy(None, error)
        case _:
            return None


def busy_or_raise(error: ChamberlainError) -> Busy:
    """The same where nothing else is expected."""
    if (found := busy(error)) is None:
        raise error
    return found


def _told(row: MailboxRow, error: Refused) -> str:
    """Every fault with its column."""
    if not error.faults:
        return error.detail
    return " ".join(f"{column_of(fault.pointer, row.body) or 'row'}: {fault.detail}" for fault in error.faults)
