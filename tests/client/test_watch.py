# SPDX-License-Identifier: Apache-2.0
"""Watch the timeline of a request, over streams that break."""

import json
from contextlib import closing

import pytest

from chamberlain_client import AsyncChamberlain, Chamberlain
from chamberlain_client.errors import AnswerNotUnderstood, NotFound, Unauthenticated, Unreachable
from chamberlain_client.events import ApprovalChanged, Happening, StateChanged, StepChanged
from tests.client.fake_clock import FakeClock
from tests.client.request_json import ID, summary
from tests.client.scripted_server import HANG_UP, Reply, events, problem, scripted
from tests.services import TLS

STEP = {
    "name": "createGroup",
    "title": "Create the group",
    "state": "succeeded",
    "attempts": 1,
    "startedAt": None,
    "finishedAt": None,
    "reason": None,
    "nextAttemptAt": None,
    "error": None,
}
APPROVAL = {"level": 1, "mode": "any", "state": "pending", "deadline": None, "approvers": [], "decisions": []}


def sse(number: int, kind: str, data: object) -> str:
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(data)}"


QUEUED, STEPPED, DONE = (
    sse(1, "state", summary("queued")),
    sse(2, "step", STEP),
    sse(3, "state", summary("succeeded")),
)


def numbers(found: list[Happening]) -> list[tuple[str, str]]:
    return [(type(each).__name__, each.number) for each in found]


def test_it_works(fake_clock: FakeClock) -> None:
    stream = events(QUEUED, ":", sse(2, "approval", APPROVAL), sse(3, "dream", {}), sse(4, "step", STEP), DONE)
    with scripted(stream) as server, client_of(server.url, fake_clock) as client:
        found = list(client.requests.watch(ID))

    # Unknown events and heartbeats are skipped.
    assert [type(each) for each in found] == [StateChanged, ApprovalChanged, StepChanged, StateChanged]
    assert server.seen[0].headers["accept"] == "text/event-stream"
    assert "last-event-id" not in server.seen[0].headers
    assert (len(server.seen), fake_clock.slept) == (1, [])


@pytest.mark.parametrize("cut", [pytest.param(True, id="it breaks"), pytest.param(False, id="it ends early")])
def test_it_resumes_a_broken_stream(fake_clock: FakeClock, cut: bool) -> None:  # noqa: FBT001  A value of the table.
    replies = (events(QUEUED, STEPPED, cut=cut), HANG_UP, events(DONE))
    with scripted(*replies) as server, client_of(server.url, fake_clock) as client:
        found = list(client.requests.watch(ID))

    assert numbers(found) == [("StateChanged", "1"), ("StepChanged", "2"), ("StateChanged", "3")]
    assert [each.headers.get("last-event-id") for each in server.seen] == [None, "2", "2"]


async def test_it_resumes_asynchronously(fake_clock: FakeClock) -> None:
    with scripted(events(QUEUED, cut=True), events(STEPPED, DONE)) as server:
        async with AsyncChamberlain(server.url, "t", clock=fake_clock.async_clock(), verify=TLS) as client:
            found = [each async for each in client.requests.watch(ID, last_event_id="0")]

    assert numbers(found) == [("StateChanged", "1"), ("StepChanged", "2"), ("StateChanged", "3")]
    assert [each.headers["last-event-id"] for each in server.seen] == ["0", "1"]


def test_it_ends_without_further_events(fake_clock: FakeClock) -> None:
    with scripted(Reply(204, b"")) as server, client_of(server.url, fake_clock) as client:
        assert list(client.requests.watch(ID, last_event_id="9")) == []

    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("reply", "class_", "calls"),
    [
        pytest.param(problem(404, "notFound"), NotFound, 1, id="unknown request"),
        pytest.param(problem(401, "tokenExpired"), Unauthenticated, 1, id="the token has expired"),
        pytest.param(events(), Unreachable, 5, id="no events"),
        pytest.param(Reply(200, b"{}"), Unreachable, 5, id="no stream"),
        pytest.param(events("id: 1é\nevent: dream\ndata: {}"), AnswerNotUnderstood, 1, id="an invalid number"),
    ],
)
def test_it_rejects(fake_clock: FakeClock, reply: Reply, class_: type[Exception], calls: int) -> None:
    with scripted(reply) as server, client_of(server.url, fake_clock) as client, pytest.raises(class_):
        list(client.requests.watch(ID))

    assert len(server.seen) == calls


def test_it_rejects_an_invalid_event_number(fake_clock: FakeClock) -> None:
    with (
        scripted(events(DONE)) as server,
        client_of(server.url, fake_clock) as client,
        pytest.raises(ValueError, match="visible ASCII"),
    ):
        next(client.requests.watch(ID, last_event_id="1\r\nhost: elsewhere"))

    assert server.seen == []


def test_it_can_be_closed_early(fake_clock: FakeClock) -> None:
    with scripted(events(QUEUED, STEPPED, DONE)) as server, client_of(server.url, fake_clock) as client:
        with closing(client.requests.watch(ID)) as timeline:
            first = next(timeline)
        second = next(client.requests.watch(ID))

    assert (first.number, second.number) == ("1", "1")


def client_of(url: str, fake_clock: FakeClock) -> Chamberlain:
    return Chamberlain(url, "t", clock=fake_clock.clock(), verify=TLS)
