"""Send rows at a rate that the service accepts, and check mailboxes."""

import asyncio
import base64
import hashlib
import heapq
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Generic, TypeVar

import httpx2
import msgspec

from chamberlain.cli.calls import Area, Call, is_loopback
from chamberlain.mailboxes.import_.columns import MailboxRow, column_of
from chamberlain.mailboxes.import_.results import Outcome, RowResult
from chamberlain_client import errors
from chamberlain_client.asynchronous.mailboxes import AsyncMailboxes
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import build_get
from chamberlain_client.models import ProvisioningState, RehearsedMailbox
from chamberlain_client.operations import READ_MAILBOX, Server
from chamberlain_client.timing import AsyncClock, Retries

Item = TypeVar("Item")
Result = TypeVar("Result")

# Enough to keep a service busy that writes in batches, and few enough for one user of it.
MOST_AT_ONCE = 16
# How long nothing at all may succeed before it is given up, in seconds. A service that restarts is back much earlier.
PATIENCE = 300.0
# The same for one that was never there: its address may be wrong.
FIRST_PATIENCE = 20.0
# Half of the first pause if the service names none, and the longest pause, in seconds.
_SOON, _LATE = 0.25, 10.0


@dataclass(frozen=True, slots=True)
class Later:
    """This one again, after so many seconds."""

    after: float


@dataclass(frozen=True, slots=True)
class Busy:
    """Retry later: no call starts before this many seconds are over.

    None means a growing backoff. `error` is raised after the last attempt.
    """

    after: float | None
    error: Exception


class Dispatch(Generic[Item, Result]):
    """Run `work` on items concurrently, with backoff while the service is busy.

    A busy service halves the concurrency and sets the wait. The concurrency grows again with each success.
    """

    def __init__(
        self,
        work: Callable[[Item], Awaitable[Result | Later | Busy]],
        done: Callable[[Result], None],
        *,
        most: int = MOST_AT_ONCE,
        patience: float = PATIENCE,
    ) -> None:
        self._work = work
        self._done = done
        self._most = self._allowed = most
        self._patience = patience
        self._waiting: deque[Item] = deque()
        self._later: list[tuple[float, int, Item]] = []
        self._running: dict[asyncio.Future[Result | Later | Busy], Item] = {}
        self._number = count()
        self._resume_at = 0.0
        self._trouble_since: float | None = None
        self._well = self._troubles = 0
        self._ever_well = False
        self._fault: BaseException | None = None

    async def run(self, items: Iterable[Item], stop: asyncio.Event) -> None:
        """Run until all are finished.

        After `stop` is set, or after the first error, no call starts. Open ones finish, and the first error is raised.
        """
        self._waiting.extend(items)
        stopped = asyncio.ensure_future(stop.wait())
        try:
            while True:
                is_over = stop.is_set() or self._fault is not None
                if not is_over:
                    self._begin()
                if not self._running and (is_over or not (self._waiting or self._later)):
                    break
                ends: set[asyncio.Future[Any]] = {*self._running}
                # Once it is set, only those under way are waited for.
                ends |= set() if stop.is_set() else {stopped}
                pause = None if is_over else self._pause()
                await asyncio.wait(ends, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
                for each in [each for each in self._running if each.done()]:
                    self._settle(each)
        finally:
            stopped.cancel()
            for each in self._running:
                each.cancel()
        if self._fault is not None:
            raise self._fault

    def _begin(self) -> None:
        now = _now()
        while self._later and self._later[0][0] <= now:
            self._waiting.appendleft(heapq.heappop(self._later)[2])
        while self._waiting and len(self._running) < self._allowed and now >= self._resume_at:
            item = self._waiting.popleft()
            self._running[asyncio.ensure_future(self._work(item))] = item

    def _pause(self) -> float | None:
        """Return the seconds until the next call may start."""
        times = [self._later[0][0]] if self._later else []
        if self._waiting and len(self._running) < self._allowed:
            times.append(self._resume_at)
        return max(0.0, min(times) - _now()) if times else None

    def _settle(self, finished: asyncio.Future[Result | Later | Busy]) -> None:
        item = self._running.pop(finished)
        if finished.cancelled() or (error := finished.exception()) is not None:
            self._fault = self._fault or (asyncio.CancelledError() if finished.cancelled() else error)
            return
        match finished.result():
            case Later(after=after):
                heapq.heappush(self._later, (_now() + after, next(self._number), item))
            case Busy(after=after, error=error):
                self._slow_down(after, error)
                self._waiting.appendleft(item)
            case result:
                self._go_on()
                self._done(result)

    def _slow_down(self, after: float | None, error: Exception) -> None:
        now = _now()
        if now >= self._resume_at:
            # Those that are refused together are refused once.
            self._allowed = max(1, self._allowed // 2)
            self._troubles += 1
        seconds = min(_LATE, _SOON * 2**self._troubles) if after is None else after
        self._resume_at = max(self._resume_at, now + seconds)
        self._well = 0
        self._trouble_since = self._trouble_since or now
        is_unheard_of = after is None and not self._ever_well
        patience = min(FIRST_PATIENCE, self._patience) if is_unheard_of else self._patience
        if (after or 0.0) > self._patience or now - self._trouble_since > patience:
            self._fault = self._fault or error

    def _go_on(self) -> None:
        self._ever_well = True
        self._trouble_since, self._troubles = None, 0
        self._well += 1
        if self._well >= self._allowed:
            self._allowed, self._well = min(self._most, self._allowed + 1), 0


def _now() -> float:
    return asyncio.get_running_loop().time()


# The service normalizes the case of these values.
_IDS = {"templateId", "primaryOwner", "secondaryOwner"}


def row_key(place: str, body: Mapping[str, object]) -> str:
    """Return the idempotency key of a row, a hash.

    `place` identifies service and tenant.
    """
    written = json.dumps([place, body], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f"mailbox-import-{hashlib.sha256(written.encode('utf-8', 'surrogatepass')).hexdigest()}"


def place_of(server: str, token: str) -> str:
    """Return the service and the tenant of a token.

    The signature is not verified: the place only separates tenants.
    """
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (IndexError, ValueError):
        return server
    return f"{server} {claims.get('iss')} {claims.get('tid')}" if isinstance(claims, dict) else server


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
class KeyedRow:
    """A row with its idempotency key."""

    row: MailboxRow
    key: str


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The plan of a row, or the reason of its refusal."""

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
    """Sends rows.

    Raises errors that concern all of them, such as a missing sign-in.
    """

    transport: AsyncTransport
    note: Callable[[str, RowResult], None]

    async def send(self, keyed: KeyedRow) -> RowResult | Later | Busy:
        """Request the mailbox of a row, and note its acceptance."""
        row = keyed.row
        try:
            accepted = await AsyncMailboxes(self.transport).create(row.body, idempotency_key=keyed.key)
        except errors.ChamberlainError as error:
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
            # The service replays its first response.
            answer = await self._unless_over(answer) if accepted.replayed else answer
        if isinstance(answer, RowResult) and answer.outcome.is_well:
            self.note(keyed.key, answer)
        return answer

    async def rehearse(self, row: MailboxRow) -> Rehearsed | Later | Busy:
        """Run a row as a dry run."""
        try:
            plan = await AsyncMailboxes(self.transport).create(row.body, dry_run=True)
        except errors.ChamberlainError as error:
            answer = busy(error) or await self._refused(row, error)
            return Rehearsed(row, None, answer) if isinstance(answer, RowResult) else answer
        return Rehearsed(row, plan, None)

    async def look(self, result: RowResult) -> RowResult | Later | Busy:
        """Read the state of an accepted row; Later until it is finished."""
        try:
            mailbox = await AsyncMailboxes(self.transport).get(str(result.mailbox_id))
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

    async def _refused(self, row: MailboxRow, error: errors.ChamberlainError) -> RowResult | Later | Busy:
        match error:
            case errors.Conflict(code="idempotencyKeyInProgress"):
                return Later(error.retry_after or 1.0)
            case errors.Conflict(code="nameTaken" | "addressTaken"):
                return await self._taken(row, error)
            case (
                errors.Malformed()
                | errors.NotPossible()
                | errors.Conflict()
                | errors.BodyTooLarge()
                | errors.ServiceFault()
            ):
                return RowResult(row.line, row.name, Outcome.REFUSED, code=error.code, detail=_told(row, error))
            case errors.Forbidden(code="templateNotAllowed"):
                return RowResult(row.line, row.name, Outcome.REFUSED, code=error.code, detail=error.detail)
            case _:
                raise error

    async def _unless_over(self, accepted: RowResult) -> RowResult | Later | Busy:
        try:
            mailbox = await AsyncMailboxes(self.transport).get(str(accepted.mailbox_id))
        except errors.ChamberlainError as error:
            return busy_or_raise(error)
        if mailbox.provisioning_state not in _OVER:
            return accepted
        detail = f"It was asked for as in the row within the last seven days, and is {mailbox.provisioning_state}."
        return replace(accepted, outcome=Outcome.FAILED, detail=f"{detail} Change the row to ask again.")

    async def _taken(self, row: MailboxRow, error: errors.Refused) -> RowResult | Later | Busy:
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
            return replace(taken, mailbox_id=error.conflicting_id)
        except errors.ChamberlainError as trouble:
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
        """A mailbox as JSON, because it is compared with the sent body."""
        answer = await self.transport.send(build_get(READ_MAILBOX, mailbox_id))
        return msgspec.json.decode(answer.content, type=dict[str, object])


def busy(error: errors.ChamberlainError) -> Busy | None:
    """Return the backoff of a temporary error; None for a permanent one."""
    match error:
        case errors.LimitReached() | errors.Unavailable():
            return Busy(error.retry_after or 1.0, error)
        case errors.Unreachable() | errors.AnswerNotUnderstood(status=502 | 504):
            return Busy(None, error)
        case _:
            return None


def busy_or_raise(error: errors.ChamberlainError) -> Busy:
    """The same where nothing else is expected."""
    if (found := busy(error)) is None:
        raise error
    return found


def _told(row: MailboxRow, error: errors.Refused) -> str:
    """Every fault with its column."""
    if not error.faults:
        return error.detail
    return " ".join(f"{column_of(fault.pointer, row.body) or 'row'}: {fault.detail}" for fault in error.faults)


# Seconds in which an answer has to come; a service that is busy may take its time.
_TIMEOUT = 60.0
# A token is requested again after this many seconds; the sign-in replaces it well before it expires.
_TOKEN_KEPT = 30.0


@asynccontextmanager
async def connected(call: Call) -> AsyncIterator[AsyncTransport]:
    """Open a transport without retries.

    The rows share one backoff, so no call retries by itself.
    """
    token = _KeptToken(call)
    async with httpx2.AsyncClient(verify=call.tls(), trust_env=not is_loopback(call.server)) as client:
        yield AsyncTransport(
            client,
            {Server.BASE: call.server},
            {Server.BASE: token},
            timeout=_TIMEOUT,
            retries=Retries(attempts=1),
            clock=AsyncClock(),
        )


class _KeptToken:
    """The caller's token, refreshed now and then.

    An import may take longer than the token lives.
    """

    def __init__(self, call: Call) -> None:
        self._call = call
        self._token = ""
        self._until = 0.0

    def __call__(self) -> str:
        now = asyncio.get_running_loop().time()
        if now >= self._until:
            self._token, self._until = self._call.token(Area.MAIL), now + _TOKEN_KEPT
        return self._token
