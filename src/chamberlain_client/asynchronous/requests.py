# SPDX-License-Identifier: Apache-2.0
"""Requests: read, list, watch, wait, decide."""

from base64 import b64encode
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import datetime

from msgspec import UNSET, UnsetType

from chamberlain_client import operations
from chamberlain_client.asynchronous.transport import AsyncPages, AsyncResource, AsyncTransport, NoFurtherEvents
from chamberlain_client.calls import Call, Id, build_change, build_get, parse_id
from chamberlain_client.errors import ChamberlainError, RequestNotFinished, Unreachable
from chamberlain_client.events import Happening, decode_happening, is_last, validate_number
from chamberlain_client.models import ReplyDecision, Request, RequestKind, RequestState, RequestSummary, Substitutions
from chamberlain_client.responses import decode
from chamberlain_client.timing import poll_intervals


class AsyncRequests(AsyncResource):
    """Requests and their progress."""

    async def get(self, request_id: Id) -> Request:
        """Read one request with its steps.

        Raises NotFound, also if the caller may not read it.
        """
        return await self._get(Request, operations.READ_REQUEST, request_id)

    def list(
        self,
        *,
        state: RequestState | str | None = None,
        kind: RequestKind | str | None = None,
        mine: bool | None = None,
        to_decide: bool | None = None,
        q: str | None = None,
        begin: datetime | None = None,
        end: datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[RequestSummary]:
        """List requests, newest first.

        `q` begins the name or the mail address. They were accepted from `begin` on and before `end`. `limit` is the
        size of a page.
        """
        query = {"state": state, "kind": kind, "mine": mine, "toDecide": to_decide, "q": q, "from": begin, "to": end}
        return self._list(RequestSummary, operations.LIST_REQUESTS, **query, limit=limit, cursor=cursor)

    def watch(self, request_id: Id, *, last_event_id: str | None = None) -> AsyncGenerator[Happening]:
        """Iterate over events of a request, past and future, until it ends.

        A broken stream resumes. `last_event_id` is the `number` of the last event that you have processed.
        """
        call = build_get(operations.WATCH_REQUEST, request_id, accept="text/event-stream")
        return _watch(self._transport, call, last_event_id)

    async def wait(self, request_id: Id, *, timeout: float = 300.0, retry_after: float | None = None) -> Request:
        """Poll a request until it has ended, with any `state`.

        The first poll is after `retry_after` seconds; later intervals grow. Raises RequestNotFinished after `timeout`
        seconds.
        """
        clock, wanted = self._transport.clock, parse_id(request_id)
        begin, intervals = clock.now(), poll_intervals(retry_after)
        while True:
            left = timeout - (clock.now() - begin)
            await clock.sleep(max(0.0, min(next(intervals), left)))
            request = await self.get(wanted)
            if request.has_ended:
                return request
            if clock.now() - begin >= timeout:
                raise RequestNotFinished(request)

    async def approve(
        self, request_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Request:
        """Approve a request, as an approver of the open level.

        Raises Forbidden and Conflict.
        """
        return await self._act(Request, operations.APPROVE_REQUEST, request_id, comment=comment, key=idempotency_key)

    async def reject(
        self, request_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Request:
        """Reject a request, which ends it. Raises Forbidden and Conflict."""
        return await self._act(Request, operations.REJECT_REQUEST, request_id, comment=comment, key=idempotency_key)

    async def cancel(
        self, request_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Request:
        """Cancel a request that has not ended.

        For the requester and administrators. Raises Conflict, and Forbidden for approvers.
        """
        return await self._act(Request, operations.CANCEL_REQUEST, request_id, comment=comment, key=idempotency_key)

    async def retry(
        self, request_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Request:
        """Retry a failed request.

        For the requester and administrators. Raises Conflict, and Forbidden for approvers.
        """
        return await self._act(Request, operations.RETRY_REQUEST, request_id, comment=comment, key=idempotency_key)

    async def name_approvers(
        self, request_id: Id, *, level: int, user_ids: Sequence[Id], idempotency_key: str | None = None
    ) -> Request:
        """Name the approvers of a level without any.

        For administrators. Raises Conflict and NotPossible.
        """
        body = {"level": level, "userIds": [parse_id(each) for each in user_ids]}
        return await self._post(Request, operations.NAME_APPROVERS, request_id, body=body, key=idempotency_key)

    async def reply(self, mail: bytes, *, idempotency_key: str | None = None) -> ReplyDecision:
        """Decide by a reply to an approval mail.

        `mail` is the raw reply (RFC 5322). For applications. Raises NotPossible with the reason if the mail decides
        nothing, and Conflict.
        """
        body = {"mail": b64encode(mail).decode("ascii")}
        return await self._post(ReplyDecision, operations.REPLY_TO_APPROVAL, body=body, key=idempotency_key)


class AsyncOwnSubstitute(AsyncResource):
    """Your substitute, who decides on requests for you."""

    async def get(self) -> Substitutions:
        """Read your substitute, and the approvers for whom you decide."""
        return decode(await self._transport.send(build_get(operations.READ_SUBSTITUTE)), Substitutions)

    async def name(self, user_id: Id, *, days: int) -> Substitutions:
        """Name your substitute for at most 60 days from now.

        Raises NotPossible for yourself and for an unknown user.
        """
        body = {"userId": parse_id(user_id), "days": days}
        return decode(await self._transport.send(build_change(operations.NAME_SUBSTITUTE, body=body)), Substitutions)

    async def withdraw(self) -> None:
        """Withdraw your substitute, if there is one."""
        await self._transport.send(build_change(operations.WITHDRAW_SUBSTITUTE))


async def _watch(transport: AsyncTransport, call: Call, last_event_id: str | None) -> AsyncGenerator[Happening]:
    """Iterate over events to the end of a request.

    Raises ChamberlainError if the stream breaks repeatedly without an event in between.
    """
    seen, attempt, begin = last_event_id, 0, transport.clock.now()
    while True:
        attempt += 1
        try:
            async with aclosing(transport.server_sent_events(call, seen)) as events:
                async for event in events:
                    # Each event resets the retries.
                    seen, attempt, begin = validate_number(event.id) or seen, 0, transport.clock.now()
                    happening = decode_happening(event.event, event.id, event.data)
                    if happening is not None:
                        yield happening
                        if is_last(happening):
                            return
        except NoFurtherEvents:
            return
        except ChamberlainError as error:
            await transport.wait_or_raise(call, error, attempt=max(1, attempt), begin=begin)
        else:
            ended = Unreachable("The stream has ended before the request has.", was_sent=True)
            await transport.wait_or_raise(call, ended, attempt=max(1, attempt), begin=begin)
