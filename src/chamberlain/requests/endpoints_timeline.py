"""The endpoint of a request's timeline, as server-sent events."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from msgspec import Struct, json

from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import Malformed
from chamberlain.core.ids import RequestId
from chamberlain.http.calls import NO_STORE, Answer, Stream
from chamberlain.http.context_calls import Call
from chamberlain.http.resource import CACHE
from chamberlain.http.router import About, Endpoint, EndpointTable, Parameter, Success
from chamberlain.requests.models import RequestRecord, StepRecord
from chamberlain.requests.models_approvals import ApprovalRecord
from chamberlain.requests.rules import viewed_by
from chamberlain.requests.service import RequestService
from chamberlain.requests.steps_timeline import EntryKind, Happening, Happenings
from chamberlain.requests.wire import Approval, RequestStep, RequestSummary, approval_of, step_of, summary_of

# SSE heartbeat; keeps proxies from closing the connection.
_STILL_THERE = b":\n\n"
# A timeline has far fewer events than this number of digits can count.
_MOST_DIGITS = 9


async def watch(requests: RequestService, call: Call[None]) -> Answer | Stream:
    """Stream the events of a request."""
    after = 0 if b"last-event-id" not in call.headers else _last_event(call.listed_headers)
    happenings = await requests.watch(call.caller, RequestId(call.ids["requestId"]), after)
    if happenings is None:
        # By the standard of server-sent events, 204 keeps the client from connecting again.
        return Answer(204, b"", (NO_STORE,))
    return Stream(
        chunks=_events(call.caller, happenings),
        content_type=b"text/event-stream",
        headers=(NO_STORE, (b"x-accel-buffering", b"no")),
        ends_at=call.caller.expires_at,
        close=call.http.streams.open(call.caller),
    )


def _last_event(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """Return the number of the last event seen, 0 for none."""
    sent, *more = [value for name, value in headers if name == b"last-event-id"]
    if more or (sent and not sent.isdigit()) or len(sent) > _MOST_DIGITS:
        raise Malformed("invalidParameter", "Last-Event-ID must be the id of one event of this timeline.")
    return int(sent or b"0")


async def _events(caller: Caller, happenings: Happenings) -> AsyncGenerator[bytes, None]:
    async with aclosing(happenings):
        async for several in happenings:
            yield b"".join([_event(caller, each) for each in several]) if several else _STILL_THERE


def _event(caller: Caller, happening: Happening) -> bytes:
    match happening.what:
        case RequestRecord() as record:
            return _written(happening.number, EntryKind.STATE, summary_of(viewed_by(caller, record)))
        case StepRecord() as step:
            return _written(happening.number, EntryKind.STEP, step_of(step))
        case ApprovalRecord() as approval:
            return _written(happening.number, EntryKind.APPROVAL, approval_of(approval))


def _written(number: int, kind: EntryKind, data: Struct) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind.encode("ascii"), json.encode(data))


ABOUT_WATCH = About(
    id="watchRequest",
    tag="Requests",
    summary="Watch what happens to a request",
    description="Server-sent events: what has happened, and then what happens, as it happens. `id` counts from 1 for "
    "each request; `event` is `state`, with the request as it was then, `step`, with one step, or `approval`, with one "
    "level of approval. A comment comes when nothing has happened for 15 seconds. The stream ends after the state in "
    "which a request ends, and when the token expires or the service stops; whoever then comes again with "
    "`Last-Event-ID`, to any process, has missed nothing.",
)
HEADERS = (
    Parameter(
        "Last-Event-ID",
        {"type": "string", "pattern": f"^[0-9]{{0,{_MOST_DIGITS}}}$"},
        "The `id` of the last event that was seen: the stream begins behind it. Empty is none.",
    ),
)
WATCHED = (
    Success(
        200,
        "What happens.",
        headers={**CACHE, "X-Accel-Buffering": "Always `no`."},
        events={EntryKind.STATE: RequestSummary, EntryKind.STEP: RequestStep, EntryKind.APPROVAL: Approval},
    ),
    Success(
        204,
        "The request has ended, and there is nothing behind `Last-Event-ID`: do not come again.",
        headers=CACHE,
    ),
)
WATCH_CODES = ("notAdministrator", "notFound", "quotaExceeded", "databaseUnavailable", "overloaded")

# fmt: off
ENDPOINTS = EndpointTable(RequestService, (
    Endpoint("GET", "/requests/v1/{requestId}/events/", watch, Operation.READ_REQUESTS, ABOUT_WATCH, WATCHED,
             headers=HEADERS, codes=WATCH_CODES),
))
# fmt: on
