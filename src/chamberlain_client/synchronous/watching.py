# Made by `python3 dev.py twin` from asynchronous/watching.py, which is the one to be changed.
"""Watching a request: the stream of its events, taken up again when it breaks."""

from collections.abc import Generator
from contextlib import closing

import httpx2
from msgspec import structs

from chamberlain_client.calls import Call, sendable
from chamberlain_client.errors import ChamberlainError, Unreachable
from chamberlain_client.models.requests import Happening
from chamberlain_client.synchronous.transport import Transport
from chamberlain_client.timeline import ends, happening_of, number_of


def watch(transport: Transport, call: Call, last_event_id: str | None) -> Generator[Happening]:
    """What happens to a request, to its end. Raises ChamberlainError when the stream breaks again and again without
    anything having come."""
    seen, attempt, begin = last_event_id, 0, transport.clock.now()
    while True:
        attempt += 1
        try:
            with closing(_events(transport, _behind(call, seen))) as events:
                for event in events:
                    # Something has come: what broke before is over.
                    seen, attempt, begin = number_of(event.id) or seen, 0, transport.clock.now()
                    happening = happening_of(event.event, event.id, event.data)
                    if happening is not None:
                        yield happening
                        if ends(happening):
                            return
        except _Over:
            return
        except ChamberlainError as error:
            transport.wait_or_raise(call, error, attempt=max(1, attempt), begin=begin)
        else:
            ended = Unreachable("The stream has ended before the request has.", was_sent=True)
            transport.wait_or_raise(call, ended, attempt=max(1, attempt), begin=begin)


class _Over(Exception):
    """The service says that there is nothing to come."""


def _events(transport: Transport, call: Call) -> Generator[httpx2.ServerSentEvent]:
    with transport.stream(call) as response:
        if response.status_code == 204:
            raise _Over
        yield from httpx2.EventSource(response)


def _behind(call: Call, seen: str | None) -> Call:
    return call if seen is None else structs.replace(call, headers=(*call.headers, ("last-event-id", sendable(seen))))
