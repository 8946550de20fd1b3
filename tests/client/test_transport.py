"""Calls are sent over real connections, which break, and to a server that says later."""

import gzip
from email.utils import formatdate
from itertools import count, pairwise, repeat

import pytest

from chamberlain_client import AsyncChamberlain, Chamberlain, Clock, Retries
from chamberlain_client.errors import AnswerNotUnderstood, NotPossible, Stale, TimedOut, Unavailable, Unreachable
from chamberlain_client.models import NewPolicy
from tests.client.scripted import HANG_UP, Reply, answer, problem, scripted
from tests.client.times import Times
from tests.services import TLS

ID = "7e000000-0000-4000-8000-000000000011"
ACCEPTED = answer({"requestId": ID, "tenantId": ID, "approvalRequired": False}, 202, retry_after="20")
LATER = problem(503, "overloaded", retry_after="7")
SLOW = Reply(slow=True)


def test_it_works(times: Times) -> None:
    with scripted(LATER, ACCEPTED) as server, Chamberlain(server.url, "t", clock=times.clock(), verify=TLS) as client:
        accepted = client.groups.create({"displayName": "A"})

    assert (str(accepted.request_id), accepted.retry_after, accepted.replayed) == (ID, 20.0, False)
    assert times.slept == [7.0]
    first, second = server.seen
    assert (first.method, first.path, first.body) == ("POST", "/collab/v1/groups/", b'{"displayName":"A"}')
    assert first.headers["authorization"] == "Bearer t"
    assert first.headers["user-agent"].startswith("chamberlain-client/")
    # The same call: with the same key, so that the service can tell.
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert (first.body, first.path) == (second.body, second.path)


async def test_it_works_for_those_who_await(times: Times) -> None:
    with scripted(LATER, HANG_UP, ACCEPTED) as server:
        async with AsyncChamberlain(server.url, "t", clock=times.async_clock(), verify=TLS) as client:
            accepted = await client.groups.create({"displayName": "A"})

    assert str(accepted.request_id) == ID
    assert times.slept == [7.0, 0.5]
    assert len({each.headers["idempotency-key"] for each in server.seen}) == 1


async def test_it_takes_tokens_that_are_awaited() -> None:
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
def test_it_handles_connections_that_break(times: Times, broken: Reply) -> None:
    with (
        scripted(broken, broken, ACCEPTED) as server,
        Chamberlain(server.url, "t", clock=times.clock(), verify=TLS) as client,
    ):
        client.groups.create({})

    assert len(server.seen) == 3
    assert times.slept == [0.25, 0.5]


def test_it_handles_a_server_that_is_slow(times: Times) -> None:
    with (
        scripted(SLOW, ACCEPTED) as server,
        Chamberlain(server.url, "t", timeout=0.05, clock=times.clock(), verify=TLS) as client,
    ):
        client.groups.create({})

    assert len(server.seen) == 2


def test_it_handles_a_date(times: Times) -> None:
    later = problem(
        503, "overloaded", retry_after=formatdate(times.wall + 90, usegmt=True), date=formatdate(times.wall)
    )
    retries = Retries(within=120)
    with scripted(later, ACCEPTED) as server, client_of(server.url, times, retries) as client:
        client.groups.create({})

    assert times.slept == [pytest.approx(90)]


def test_it_handles_the_first_call_being_under_way(times: Times) -> None:
    in_progress = problem(409, "idempotencyKeyInProgress", retry_after="1")
    with scripted(HANG_UP, in_progress, ACCEPTED) as server, client_of(server.url, times) as client:
        client.groups.create({})

    assert times.slept == [0.25, 1.0]
    assert len({each.headers["idempotency-key"] for each in server.seen}) == 1


def test_it_takes_a_key_of_the_caller(times: Times) -> None:
    replayed = Reply(ACCEPTED.status, ACCEPTED.body, {**ACCEPTED.headers, "idempotency-replayed": "true"})
    with scripted(LATER, replayed) as server, client_of(server.url, times) as client:
        accepted = client.groups.create({}, idempotency_key="row-7")

    assert accepted.replayed
    assert [each.headers["idempotency-key"] for each in server.seen] == ["row-7", "row-7"]


@pytest.mark.parametrize("reply", [HANG_UP, SLOW])
def test_it_never_repeats_what_might_be_done_twice(times: Times, reply: Reply) -> None:
    with (
        scripted(reply) as server,
        Chamberlain(server.url, "t", timeout=0.05, clock=times.clock(), verify=TLS) as client,
        pytest.raises(Unreachable) as error,
    ):
        client.policies.replace(ID, NewPolicy(name="A"), if_match='"3"')

    assert error.value.was_sent
    assert (len(server.seen), times.slept) == (1, [])
    assert server.seen[0].headers["if-match"] == '"3"'


def test_it_rejects_after_so_many_attempts(times: Times) -> None:
    with scripted(LATER) as server, client_of(server.url, times) as client, pytest.raises(Unavailable):
        client.groups.create({})

    assert (len(server.seen), times.slept) == (5, [7.0] * 4)


def test_it_rejects_after_so_long(times: Times) -> None:
    later = problem(503, "databaseUnavailable", retry_after="25")
    with scripted(later) as server, client_of(server.url, times) as client, pytest.raises(Unavailable) as error:
        client.groups.create({})

    # A third pause would end after 75 seconds.
    assert times.slept == [25.0, 25.0]
    assert error.value.retry_after == 25.0
    assert len(server.seen) == 3


@pytest.mark.parametrize(("status", "code", "class_"), [(422, "notPossible", NotPossible), (412, "etagStale", Stale)])
def test_it_rejects_at_once_what_stays_refused(
    times: Times, status: int, code: str, class_: type[NotPossible] | type[Stale]
) -> None:
    with scripted(problem(status, code)) as server, client_of(server.url, times) as client, pytest.raises(class_):
        client.groups.create({})

    assert len(server.seen) == 1


def test_it_rejects_no_answer_in_time() -> None:
    with (
        scripted(SLOW) as server,
        Chamberlain(server.url, "t", timeout=0.05, retries=Retries(attempts=1), verify=TLS) as client,
        pytest.raises(TimedOut, match="did not answer in time"),
    ):
        client.mailboxes.get(ID)


@pytest.mark.parametrize("status", [200, 503])
async def test_it_rejects_an_answer_without_an_end(status: int) -> None:
    endless = Reply(status, chunks=repeat(b" " * 2**20))
    with scripted(endless) as server:
        async with AsyncChamberlain(server.url, "t", verify=TLS) as client:
            with pytest.raises(AnswerNotUnderstood, match="more than 64 MiB"):
                await client.mailboxes.get(ID)


def test_it_rejects_what_is_small_only_as_long_as_it_is_packed() -> None:
    packed = Reply(headers={"content-encoding": "gzip"}, body=gzip.compress(b" " * 2**27, 1))
    with (
        scripted(packed) as server,
        Chamberlain(server.url, "t", verify=TLS) as client,
        pytest.raises(AnswerNotUnderstood, match="more than 64 MiB"),
    ):
        client.mailboxes.get(ID)


def test_it_rejects_an_answer_that_trickles() -> None:
    # Every look at the clock is a second later.
    seconds = count()
    clock = Clock(now=lambda: float(next(seconds)))
    with (
        scripted(Reply(chunks=repeat(b" "))) as server,
        Chamberlain(server.url, "t", timeout=9, clock=clock, retries=Retries(attempts=1), verify=TLS) as client,
        pytest.raises(TimedOut, match="did not answer in time"),
    ):
        client.mailboxes.get(ID)


@pytest.mark.parametrize("status", [200, 400])
def test_it_rejects_an_answer_that_is_nested_too_deeply(status: int) -> None:
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


def test_it_sends_calls_where_they_belong() -> None:
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


def test_it_reads_page_after_page(times: Times) -> None:
    replies = [answer({"items": [finding(number)], "nextCursor": f"c{number}"}) for number in (1, 2)]
    last = answer({"items": [], "nextCursor": None})
    with scripted(replies[0], LATER, replies[1], last) as server, client_of(server.url, times) as client:
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


async def test_it_follows_events(times: Times) -> None:
    pages = [answer({"items": [event(each) for each in ids], "nextCursor": cursor}) for ids, cursor in FEED]
    seen = []
    with scripted(*pages) as server:
        async with AsyncChamberlain(server.url, "t", clock=times.async_clock(), verify=TLS) as client:
            feed = client.events.follow("c0", every=5, limit=2)
            async for each in feed:
                seen.append((each.id, feed.cursor))
                if each.id == "e4":
                    break

    # The cursor moves on when all of a page were taken.
    assert seen == [("e1", "c0"), ("e2", "c0"), ("e3", "c2"), ("e4", "c3")]
    assert times.slept == [5, 5]
    assert [each.path.partition("cursor=")[2][:2] for each in server.seen] == ["c0", "c2", "c3", "c3"]


def test_it_reads_events_up_to_now() -> None:
    with (
        scripted(answer({"items": [event("e1")], "nextCursor": "c1"})) as server,
        Chamberlain(server.url, "t", verify=TLS) as client,
    ):
        feed = client.events.list()
        found = [each.id for each in feed]

    assert (found, feed.cursor, len(server.seen)) == (["e1"], "c1", 1)


FEED = ((("e1", "e2"), "c2"), (("e3",), "c3"), ((), "c3"), (("e4",), "c4"))


def event(event_id: str) -> dict[str, object]:
    """One of a type that nobody knows yet."""
    when = "2026-11-20T09:30:01.000Z"
    return {"id": event_id, "type": "n.e.w", "timestamp": when, "requestId": None, "tenantId": ID, "data": {"a": 1}}


def finding(number: int) -> dict[str, object]:
    """One, with its number for a detail."""
    about = {"type": "group", "id": ID, "displayName": "A"}
    times = {"firstSeenAt": "2026-11-20T02:00:00.000Z", "lastSeenAt": "2026-11-20T02:00:00.000Z", "actionAt": None}
    values = {"property": None, "wanted": False, "observed": {"a": [1]}, "policyId": None, "action": None}
    return {"id": ID, "kind": "drift", "state": "open", "subject": about, "detail": str(number), **values, **times}


def client_of(url: str, times: Times, retries: Retries | None = None) -> Chamberlain:
    return Chamberlain(url, "t", clock=times.clock(), retries=retries, verify=TLS)


def test_it_keeps_connections_open(times: Times) -> None:
    with scripted(ACCEPTED) as server, client_of(server.url, times) as client:
        for _ in range(3):
            client.groups.create({})

    keys = [each.headers["idempotency-key"] for each in server.seen]
    assert all(one != other for one, other in pairwise(keys))
