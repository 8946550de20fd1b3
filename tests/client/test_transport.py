# SPDX-License-Identifier: Apache-2.0
"""Send calls over real connections, which break, and to an overloaded server."""

import gzip
import json
from email.utils import formatdate
from itertools import count, pairwise, repeat

import pytest

from chamberlain_client import AsyncChamberlain, Chamberlain, Clock, Retries
from chamberlain_client.errors import AnswerNotUnderstood, NotPossible, Stale, TimedOut, Unavailable, Unreachable
from chamberlain_client.models import NewPolicy
from tests.client.fake_clock import FakeClock
from tests.client.scripted_server import HANG_UP, Reply, answer, events, problem, scripted
from tests.services import TLS

ID = "7e000000-0000-4000-8000-000000000011"
ACCEPTED = answer({"requestId": ID, "tenantId": ID, "approvalRequired": False}, 202, retry_after="20")
LATER = problem(503, "overloaded", retry_after="7")
SLOW = Reply(slow=True)


def test_it_works(fake_clock: FakeClock) -> None:
    with (
        scripted(LATER, ACCEPTED) as server,
        Chamberlain(server.url, "t", clock=fake_clock.clock(), verify=TLS) as client,
    ):
        accepted = client.groups.create({"displayName": "A"})

    assert (str(accepted.request_id), accepted.retry_after, accepted.replayed) == (ID, 20.0, False)
    assert fake_clock.slept == [7.0]
    first, second = server.seen
    assert (first.method, first.path, first.body) == ("POST", "/collab/v1/groups/", b'{"displayName":"A"}')
    assert first.headers["authorization"] == "Bearer t"
    assert first.headers["user-agent"].startswith("chamberlain-client/")
    # All attempts have the same key.
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert (first.body, first.path) == (second.body, second.path)


async def test_it_works_asynchronously(fake_clock: FakeClock) -> None:
    with scripted(LATER, HANG_UP, ACCEPTED) as server:
        async with AsyncChamberlain(server.url, "t", clock=fake_clock.async_clock(), verify=TLS) as client:
            accepted = await client.groups.create({"displayName": "A"})

    assert str(accepted.request_id) == ID
    assert fake_clock.slept == [7.0, 0.5]
    assert len({each.headers["idempotency-key"] for each in server.seen}) == 1


async def test_it_awaits_tokens() -> None:
    async def token() -> str:
        return "awaited"

    with scripted(ACCEPTED) as server:
        async with AsyncChamberlain(server.url, token, verify=TLS) as client:
            await client.groups.create({})

    assert server.seen[0].headers["authorization"] == "Bearer awaited"


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(HANG_UP, id="the connection is closed"),
        pytest.param(Reply(body=b'{"requestId": "cut', cut=True), id="the answer is cut"),
    ],
)
def test_it_handles_connections_that_break(fake_clock: FakeClock, broken: Reply) -> None:
    with (
        scripted(broken, broken, ACCEPTED) as server,
        Chamberlain(server.url, "t", clock=fake_clock.clock(), verify=TLS) as client,
    ):
        client.groups.create({})

    assert len(server.seen) == 3
    assert fake_clock.slept == [0.25, 0.5]


def test_it_handles_a_slow_server(fake_clock: FakeClock) -> None:
    with (
        scripted(SLOW, ACCEPTED) as server,
        Chamberlain(server.url, "t", timeout=0.05, clock=fake_clock.clock(), verify=TLS) as client,
    ):
        client.groups.create({})

    assert len(server.seen) == 2


def test_it_handles_a_date(fake_clock: FakeClock) -> None:
    later = problem(
        503, "overloaded", retry_after=formatdate(fake_clock.wall + 90, usegmt=True), date=formatdate(fake_clock.wall)
    )
    retries = Retries(within=120)
    with scripted(later, ACCEPTED) as server, client_of(server.url, fake_clock, retries) as client:
        client.groups.create({})

    assert fake_clock.slept == [pytest.approx(90)]


def test_it_retries_while_the_first_call_runs(fake_clock: FakeClock) -> None:
    in_progress = problem(409, "idempotencyKeyInProgress", retry_after="1")
    with scripted(HANG_UP, in_progress, ACCEPTED) as server, client_of(server.url, fake_clock) as client:
        client.groups.create({})

    assert fake_clock.slept == [0.25, 1.0]
    assert len({each.headers["idempotency-key"] for each in server.seen}) == 1


def test_it_sends_a_key_of_the_caller(fake_clock: FakeClock) -> None:
    replayed = Reply(ACCEPTED.status, ACCEPTED.body, {**ACCEPTED.headers, "idempotency-replayed": "true"})
    with scripted(LATER, replayed) as server, client_of(server.url, fake_clock) as client:
        accepted = client.groups.create({}, idempotency_key="row-7")

    assert accepted.replayed
    assert [each.headers["idempotency-key"] for each in server.seen] == ["row-7", "row-7"]


@pytest.mark.parametrize("reply", [HANG_UP, SLOW])
def test_it_never_repeats_an_unsafe_call(fake_clock: FakeClock, reply: Reply) -> None:
    with (
        scripted(reply) as server,
        Chamberlain(server.url, "t", timeout=0.05, clock=fake_clock.clock(), verify=TLS) as client,
        pytest.raises(Unreachable) as error,
    ):
        client.policies.replace(ID, NewPolicy(name="A"), if_match='"3"')

    assert error.value.was_sent
    assert (len(server.seen), fake_clock.slept) == (1, [])
    assert server.seen[0].headers["if-match"] == '"3"'


def test_it_limits_attempts(fake_clock: FakeClock) -> None:
    with scripted(LATER) as server, client_of(server.url, fake_clock) as client, pytest.raises(Unavailable):
        client.groups.create({})

    assert (len(server.seen), fake_clock.slept) == (5, [7.0] * 4)


def test_it_limits_the_time_of_retries(fake_clock: FakeClock) -> None:
    later = problem(503, "databaseUnavailable", retry_after="25")
    with scripted(later) as server, client_of(server.url, fake_clock) as client, pytest.raises(Unavailable) as error:
        client.groups.create({})

    # A third pause would end after 75 seconds.
    assert fake_clock.slept == [25.0, 25.0]
    assert error.value.retry_after == 25.0
    assert len(server.seen) == 3


@pytest.mark.parametrize(("status", "code", "class_"), [(422, "notPossible", NotPossible), (412, "etagStale", Stale)])
def test_it_does_not_retry_other_refusals(
    fake_clock: FakeClock, status: int, code: str, class_: type[NotPossible] | type[Stale]
) -> None:
    with scripted(problem(status, code)) as server, client_of(server.url, fake_clock) as client, pytest.raises(class_):
        client.groups.create({})

    assert len(server.seen) == 1


def test_it_times_out() -> None:
    with (
        scripted(SLOW) as server,
        Chamberlain(server.url, "t", timeout=0.05, retries=Retries(attempts=1), verify=TLS) as client,
        pytest.raises(TimedOut, match="did not answer in time"),
    ):
        client.mailboxes.get(ID)


@pytest.mark.parametrize("status", [200, 503])
async def test_it_rejects_an_endless_response(status: int) -> None:
    endless = Reply(status, chunks=repeat(b" " * 2**20))
    with scripted(endless) as server:
        async with AsyncChamberlain(server.url, "t", verify=TLS) as client:
            with pytest.raises(AnswerNotUnderstood, match="more than 64 MiB"):
                await client.mailboxes.get(ID)


def test_it_rejects_a_decompression_bomb() -> None:
    packed = Reply(headers={"content-encoding": "gzip"}, body=gzip.compress(b" " * 2**27, 1))
    with (
        scripted(packed) as server,
        Chamberlain(server.url, "t", verify=TLS) as client,
        pytest.raises(AnswerNotUnderstood, match="more than 64 MiB"),
    ):
        client.mailboxes.get(ID)


def test_it_rejects_a_trickling_response() -> None:
    # Each reading of the clock is a second later.
    seconds = count()
    clock = Clock(now=lambda: float(next(seconds)))
    with (
        scripted(Reply(chunks=repeat(b" "))) as server,
        Chamberlain(server.url, "t", timeout=9, clock=clock, retries=Retries(attempts=1), verify=TLS) as client,
        pytest.raises(TimedOut, match="did not answer in time"),
    ):
        client.mailboxes.get(ID)


@pytest.mark.parametrize("status", [200, 400])
def test_it_rejects_a_deeply_nested_response(status: int) -> None:
    nested = Reply(status, b'{"items":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    with (
        scripted(nested) as server,
        Chamberlain(server.url, "t", verify=TLS) as client,
        pytest.raises(AnswerNotUnderstood),
    ):
        client.mailboxes.list().page()


def test_it_rejects_a_page_that_leads_to_itself() -> None:
    page = answer({"items": [], "nextCursor": "c1"})
    with (
        scripted(page) as server,
        Chamberlain(server.url, "t", verify=TLS) as client,
        pytest.raises(AnswerNotUnderstood, match="the same one"),
    ):
        list(client.mailboxes.list())

    assert len(server.seen) == 2


def test_it_sends_calls_to_their_server() -> None:
    found = answer({"value": []})
    with scripted(ACCEPTED) as insiders, scripted(found) as graph, scripted(problem(404, "notFound")) as base:
        client = Chamberlain(
            f"{base.url}/",
            "t",
            insiders_base_url=insiders.url,
            graph_url=f"{graph.url}/g/",
            graph_token="g",
            verify=TLS,
        )
        with client:
            client.groups.create({})
            assert client.directory.find_group(ID) is None

    assert [each.path for each in insiders.seen] == ["/collab/v1/groups/"]
    assert graph.seen[0].path.startswith("/g/v1.0/groups?%24filter=chamberlain_group")
    assert graph.seen[0].headers["authorization"] == "Bearer g"
    assert base.seen == []


def test_it_reads_all_pages(fake_clock: FakeClock) -> None:
    replies = [answer({"items": [finding(number)], "nextCursor": f"c{number}"}) for number in (1, 2)]
    last = answer({"items": [], "nextCursor": None})
    with scripted(replies[0], LATER, replies[1], last) as server, client_of(server.url, fake_clock) as client:
        found = [each.detail for each in client.findings.list(state="open", limit=1)]

    assert found == ["1", "2"]
    assert [each.path.partition("?")[2] for each in server.seen] == [
        "state=open&limit=1",
        "state=open&limit=1&cursor=c1",
        "state=open&limit=1&cursor=c1",
        "state=open&limit=1&cursor=c2",
    ]


def test_it_reads_pages_as_they_are_needed() -> None:
    with (
        scripted(answer({"items": [finding(1)], "nextCursor": "c1"})) as server,
        Chamberlain(server.url, "t", verify=TLS) as client,
    ):
        first = next(iter(client.findings.list()))
        page = client.findings.list(cursor="c7").page()

    assert (first.detail, page.next_cursor, len(page.items)) == ("1", "c1", 1)
    assert [each.path for each in server.seen] == ["/admin/v1/findings/", "/admin/v1/findings/?cursor=c7"]


async def test_it_follows_events(fake_clock: FakeClock) -> None:
    pages = [answer({"items": [event(each) for each in ids], "nextCursor": cursor}) for ids, cursor in FEED]
    seen = []
    with scripted(*pages) as server:
        async with AsyncChamberlain(server.url, "t", clock=fake_clock.async_clock(), verify=TLS) as client:
            feed = client.events.follow("c0", every=5, limit=2)
            async for each in feed:
                seen.append((each.id, feed.cursor))
                if each.id == "e4":
                    break

    # The cursor moves after the last event of a page.
    assert seen == [("e1", "c0"), ("e2", "c0"), ("e3", "c2"), ("e4", "c3")]
    assert fake_clock.slept == [5, 5]
    assert [each.path.partition("cursor=")[2][:2] for each in server.seen] == ["c0", "c2", "c3", "c3"]


def test_it_reads_events_up_to_now() -> None:
    with (
        scripted(answer({"items": [event("e1")], "nextCursor": "c1"})) as server,
        Chamberlain(server.url, "t", verify=TLS) as client,
    ):
        feed = client.events.list()
        found = [each.id for each in feed]

    assert (found, feed.cursor, len(server.seen)) == (["e1"], "c1", 1)


async def test_it_resumes_a_stream_of_events(fake_clock: FakeClock) -> None:
    seen = []
    replies = (
        events("id: c0", written("c1", "e1"), ":", "id: c2", cut=True),
        HANG_UP,
        events("id: c2", written("c3", "e2"), written("c4", "e3")),
    )
    with scripted(*replies) as server:
        async with AsyncChamberlain(server.url, "t", clock=fake_clock.async_clock(), verify=TLS) as client:
            stream = client.events.stream(type="group.created", request_id=ID, start="now")
            async for each in stream:
                seen.append((each.id, stream.cursor))
                if each.id == "e3":
                    break

    # The cursor moves behind an event when the next one is requested, and with heartbeats.
    assert seen == [("e1", "c0"), ("e2", "c2"), ("e3", "c3")]
    assert [each.headers.get("last-event-id") for each in server.seen] == [None, "c2", "c2"]
    assert {each.path for each in server.seen} == {
        f"/admin/v1/events/stream/?type=group.created&requestId={ID}&start=now"
    }


def written(cursor: str, event_id: str) -> str:
    """Write an event of a stream."""
    return f"id: {cursor}\ndata: {json.dumps(event(event_id))}"


FEED = ((("e1", "e2"), "c2"), (("e3",), "c3"), ((), "c3"), (("e4",), "c4"))


def event(event_id: str) -> dict[str, object]:
    """Return an event of an unknown type."""
    when = "2026-11-20T09:30:01.000Z"
    return {"id": event_id, "type": "n.e.w", "timestamp": when, "requestId": None, "tenantId": ID, "data": {"a": 1}}


def finding(number: int) -> dict[str, object]:
    """Return a finding with its number as detail."""
    about = {"type": "group", "id": ID, "displayName": "A"}
    fake_clock = {"firstSeenAt": "2026-11-20T02:00:00.000Z", "lastSeenAt": "2026-11-20T02:00:00.000Z", "actionAt": None}
    values = {"property": None, "wanted": False, "observed": {"a": [1]}, "policyId": None, "action": None}
    return {"id": ID, "kind": "drift", "state": "open", "subject": about, "detail": str(number), **values, **fake_clock}


def client_of(url: str, fake_clock: FakeClock, retries: Retries | None = None) -> Chamberlain:
    return Chamberlain(url, "t", clock=fake_clock.clock(), retries=retries, verify=TLS)


def test_it_keeps_connections_open(fake_clock: FakeClock) -> None:
    with scripted(ACCEPTED) as server, client_of(server.url, fake_clock) as client:
        for _ in range(3):
            client.groups.create({})

    keys = [each.headers["idempotency-key"] for each in server.seen]
    assert all(one != other for one, other in pairwise(keys))
