"""Waiting for a request and for a group, without waiting."""

from itertools import islice

import pytest

from chamberlain_client import AsyncChamberlain, Chamberlain
from chamberlain_client.errors import GroupNotVisibleYet, RequestNotFinished
from chamberlain_client.models import AcceptedGroup, RequestState
from chamberlain_client.timing import group_poll_intervals, poll_intervals
from tests.client.requests import ID, request
from tests.client.scripted import answer, problem, scripted
from tests.client.times import Times
from tests.services import TLS

NOBODY = answer({"value": []})
THERE = answer({"value": [{"id": ID, "displayName": "A", "more": 1}]})


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        pytest.param(None, [20, 10, 10, 10], id="as the documentation says"),
        pytest.param(20, [20, 10, 10, 10], id="the same, by the service"),
        pytest.param(1, [1] * 31, id="the embedded directory"),
        pytest.param(0, [0] + [1] * 30, id="at once"),
        pytest.param(60, [60, 10, 10, 10], id="late"),
        pytest.param(31_536_000, [300, 10, 10, 10], id="in a year"),
    ],
)
def test_it_works(retry_after: float | None, seconds: list[float]) -> None:
    assert list(group_poll_intervals(retry_after)) == seconds


def test_it_looks_at_a_request_less_and_less_often() -> None:
    assert list(islice(poll_intervals(None), 4)) == [0.5, 0.75, 1.125, 1.6875]
    assert list(islice(poll_intervals(20), 3)) == [20, 10.0, 10.0]


async def test_it_finds_the_group(times: Times) -> None:
    with scripted(NOBODY, NOBODY, THERE) as server:
        async with AsyncChamberlain(server.url, "t", clock=times.async_clock(), verify=TLS) as client:
            group = await client.wait_for_group(ID)

    assert (str(group.id), group.display_name, times.slept) == (ID, "A", [20, 10, 10])


def test_it_follows_what_the_answer_asked_for(times: Times) -> None:
    body = {"requestId": ID, "tenantId": ID, "approvalRequired": False}
    with scripted(answer(body, 202, retry_after="2"), NOBODY, THERE) as server, client_of(server.url, times) as client:
        accepted = client.groups.create({})
        client.wait_for_group(accepted)

    assert isinstance(accepted, AcceptedGroup)
    assert times.slept == [2, 2]


def test_it_says_not_visible_yet_and_never_failed(times: Times) -> None:
    with scripted(NOBODY) as server, client_of(server.url, times) as client, pytest.raises(GroupNotVisibleYet) as error:
        client.directory.wait_for_group(ID)

    assert times.slept == [20, 10, 10, 10]
    assert "not visible yet" in str(error.value)
    assert "fail" not in str(error.value)
    assert str(error.value.request_id) == ID


@pytest.mark.parametrize("state", ["succeeded", "failed", "rejected", "cancelled", "expired"])
def test_it_waits_for_the_end_of_a_request(times: Times, state: str) -> None:
    replies = [answer(request(each)) for each in ("queued", "waiting", state)]
    with scripted(*replies) as server, client_of(server.url, times) as client:
        found = client.wait_for_request(ID, retry_after=1)

    assert (found.state, found.has_ended, times.slept) == (state, True, [1, 1.5, 2.25])


def test_it_waits_through_trouble(times: Times) -> None:
    replies = (answer(request("queued")), problem(503, "overloaded", retry_after="3"), answer(request("succeeded")))
    with scripted(*replies) as server, client_of(server.url, times) as client:
        assert client.requests.wait(ID).state is RequestState.SUCCEEDED

    assert times.slept == [0.5, 0.75, 3]


async def test_it_says_that_a_request_still_goes_on(times: Times) -> None:
    with scripted(answer(request("pendingApproval"))) as server:
        async with AsyncChamberlain(server.url, "t", clock=times.async_clock(), verify=TLS) as client:
            with pytest.raises(RequestNotFinished) as error:
                await client.wait_for_request(ID, 4)

    assert sum(times.slept) == pytest.approx(4)
    assert error.value.request.state == "pendingApproval"
    assert "fail" not in str(error.value)


def client_of(url: str, times: Times) -> Chamberlain:
    return Chamberlain(url, "t", clock=times.clock(), verify=TLS)
