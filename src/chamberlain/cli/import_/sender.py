# SPDX-License-Identifier: Apache-2.0
"""Keys, connection and errors of the rows of an import."""

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from chamberlain.cli.calls import Area, Call
from chamberlain.cli.import_.dispatch import Busy, Later
from chamberlain.cli.import_.results import Outcome, RowResult
from chamberlain_client import errors
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.models import DryRun
from chamberlain_client.operations import Server
from chamberlain_client.timing import AsyncClock, Retries


class ImportRow(Protocol):
    """A row of a file: its first line and its name."""

    @property
    def line(self) -> int:
        """Return the line, counted from 1."""

    @property
    def name(self) -> str:
        """Return the name."""


Row = TypeVar("Row", bound=ImportRow)


@dataclass(frozen=True, slots=True)
class KeyedRow(Generic[Row]):
    """A row with its idempotency key."""

    row: Row
    key: str


@dataclass(frozen=True, slots=True)
class Previewed:
    """The dry run of a row.

    `record` has the members as people and programs see them: `line`, `name`, `approvalRequired`, `refused` and more.
    """

    line: int
    record: Mapping[str, object]


class RowSender(Protocol[Row]):
    """Sends rows of one noun.

    Raises errors that concern all of them, such as a missing sign-in.
    """

    async def send(self, keyed: KeyedRow[Row]) -> RowResult | Later | Busy:
        """Send a row, with the same key for the same row."""

    async def preview(self, row: Row) -> Previewed | Later | Busy:
        """Run a row as a dry run."""

    async def look(self, result: RowResult) -> RowResult | Later | Busy:
        """Read the state of an accepted row; Later until it is finished."""


def row_key(noun: str, place: str, body: object) -> str:
    """Return the idempotency key of a row, a hash.

    `place` identifies service and tenant.
    """
    written = json.dumps([place, body], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f"{noun}-import-{hashlib.sha256(written.encode('utf-8', 'surrogatepass')).hexdigest()}"


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


def refusal_of(row: ImportRow, error: errors.ChamberlainError, column: Callable[[str], str]) -> RowResult | Later:
    """Return the result of a refused row.

    Raises an error that concerns all rows. `column` names the column of a pointer.
    """
    match error:
        case errors.Conflict(code="idempotencyKeyInProgress"):
            return Later(error.retry_after or 1.0)
        case (
            errors.Malformed()
            | errors.NotPossible()
            | errors.Conflict()
            | errors.BodyTooLarge()
            | errors.ServiceFault()
        ):
            detail = _describe(error, column)
            return RowResult(row.line, row.name, Outcome.REFUSED, code=error.code, detail=detail)
        case errors.Forbidden(code="templateNotAllowed" | "teamLicenseRequired"):
            return RowResult(row.line, row.name, Outcome.REFUSED, code=error.code, detail=error.detail)
        case _:
            raise error


def _describe(error: errors.Refused, column: Callable[[str], str]) -> str:
    """Describe every fault with its column."""
    if not error.faults:
        return error.detail
    return " ".join(f"{column(fault.pointer) or 'row'}: {fault.detail}" for fault in error.faults)


def previewed(row: ImportRow, plan: DryRun | None, refusal: RowResult | None) -> Previewed:
    """Build the dry run of a row from plan or refusal."""
    if plan is None:
        refused = [str(refusal and refusal.detail)]
    else:
        # The import waits while a limit is exhausted.
        refused = [fault.detail for fault in plan.conflicts if fault.code != "quotaExceeded"]
    record = {
        "line": row.line,
        "name": row.name,
        "address": plan and plan.address,
        "template": plan and plan.template.name,
        "approvalRequired": plan and plan.approval_required,
        "steps": [step.name for step in plan.steps] if plan else [],
        "refused": " ".join(refused),
    }
    return Previewed(row.line, record)


# Seconds in which an answer has to come; a service that is busy may take its time.
_TIMEOUT = 60.0
# A token is requested again after this many seconds; the sign-in replaces it well before it expires.
_TOKEN_KEPT = 30.0


@asynccontextmanager
async def connected(call: Call, area: Area) -> AsyncIterator[AsyncTransport]:
    """Open a transport without retries.

    The rows share one backoff, so no call retries by itself.
    """
    token = _KeptToken(call, area)
    async with call.asynchronous_client() as client:
        yield AsyncTransport(
            client,
            call.addresses(),
            dict.fromkeys(Server, token),
            timeout=_TIMEOUT,
            retries=Retries(attempts=1),
            clock=AsyncClock(),
        )


class _KeptToken:
    """The caller's token, refreshed now and then.

    An import may take longer than the token lives.
    """

    def __init__(self, call: Call, area: Area) -> None:
        self._call = call
        self._area = area
        self._token = ""
        self._until = 0.0

    def __call__(self) -> str:
        now = asyncio.get_running_loop().time()
        if now >= self._until:
            self._token, self._until = self._call.token(self._area), now + _TOKEN_KEPT
        return self._token
