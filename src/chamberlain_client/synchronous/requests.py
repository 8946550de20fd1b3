# Made by `python3 dev.py twin` from asynchronous/requests.py, which is the one to be changed.
"""Requests are read, followed and acted upon."""

from collections.abc import Generator, Sequence

from msgspec import UNSET, UnsetType

from chamberlain_client import operations
from chamberlain_client.answers import decoded, items_of
from chamberlain_client.calls import Id, id_of, posting, reading, said
from chamberlain_client.errors import RequestNotFinished
from chamberlain_client.models.requests import Happening, Request, RequestKind, RequestState, RequestSummary
from chamberlain_client.operations import Operation
from chamberlain_client.synchronous.pages import Pages
from chamberlain_client.synchronous.transport import Transport
from chamberlain_client.synchronous.watching import watch
from chamberlain_client.waits import looks


class Requests:
    """What was asked for, and what has become of it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, request_id: Id) -> Request:
        """One request with its steps. Raises NotFound, also for one that is not the caller's to read."""
        return decoded(self._transport.send(reading(operations.READ_REQUEST, request_id)), Request)

    def list(
        self,
        *,
        state: RequestState | str | None = None,
        kind: RequestKind | str | None = None,
        mine: bool | None = None,
        to_decide: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[RequestSummary]:
        """Requests, newest first. `limit` is how many a page has."""
        query = {"state": state, "kind": kind, "mine": mine, "toDecide": to_decide, "limit": limit, "cursor": cursor}
        return Pages(self._transport, operations.LIST_REQUESTS, items_of(RequestSummary), query=query)

    def watch(self, request_id: Id, *, last_event_id: str | None = None) -> Generator[Happening]:
        """What has happened to a request, and then what happens, as it happens, until it has ended. A stream that
        breaks is taken up where it broke; `last_event_id` is the `number` of the last one that was seen."""
        call = reading(operations.WATCH_REQUEST, request_id, accept="text/event-stream")
        return watch(self._transport, call, last_event_id)

    def wait(self, request_id: Id, *, timeout: float = 300.0, retry_after: float | None = None) -> Request:
        """The request, when it has ended, whichever way: look at its `state`. Looks first after `retry_after` seconds,
        then less and less often. Raises RequestNotFinished after `timeout` seconds."""
        clock, wanted = self._transport.clock, id_of(request_id)
        begin, pauses = clock.now(), looks(retry_after)
        while True:
            left = timeout - (clock.now() - begin)
            clock.sleep(max(0.0, min(next(pauses), left)))
            request = self.get(wanted)
            if request.has_ended:
                return request
            if clock.now() - begin >= timeout:
                raise RequestNotFinished(request)

    def approve(
        self, request_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Request:
        """Say yes, as an approver of the level that is open. Raises Forbidden and Conflict."""
        return self._act(operations.APPROVE_REQUEST, request_id, comment, idempotency_key)

    def reject(
        self, request_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Request:
        """Say no, which ends the request. Raises Forbidden and Conflict."""
        return self._act(operations.REJECT_REQUEST, request_id, comment, idempotency_key)

    def cancel(
        self, request_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Request:
        """End a request that is not through. Raises Conflict."""
        return self._act(operations.CANCEL_REQUEST, request_id, comment, idempotency_key)

    def retry(self, request_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None) -> Request:
        """Queue a request that has failed once more. Raises Conflict."""
        return self._act(operations.RETRY_REQUEST, request_id, comment, idempotency_key)

    def name_approvers(
        self, request_id: Id, *, level: int, user_ids: Sequence[Id], idempotency_key: str | None = None
    ) -> Request:
        """Say who decides at a level where nobody was found. For administrators. Raises Conflict and NotPossible."""
        body = {"level": level, "userIds": [id_of(each) for each in user_ids]}
        call = posting(operations.NAME_APPROVERS, request_id, body=body, key=idempotency_key)
        return decoded(self._transport.send(call), Request)

    def _act(
        self, operation: Operation, request_id: Id, comment: str | UnsetType, idempotency_key: str | None
    ) -> Request:
        call = posting(operation, request_id, body=said(comment), key=idempotency_key)
        return decoded(self._transport.send(call), Request)
