# SPDX-License-Identifier: Apache-2.0
"""Poll requests and groups, with a fake clock."""

from itertools import islice

import pytest

from chamberlain_client import AsyncChamberlain, Chamberlain
from chamberlain_client.errors import GroupNotVisibleYet, RequestNotFinished
from chamberlain_client.models import AcceptedGroup, RequestState
from chamberlain_client.timing import group_poll_intervals, poll_intervals
from tests.client.fake_clock import FakeClock
from tests.client.request_json import ID, request
from tests.client.scripted_server import answer, problem, scripted
from tests.services import TLS

NOT_FOUND = answer({"value": []})
FOUND = answer({"value": [{"id": ID, "displayName": "A", "more": 1}]})


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


def test_it_polls_a_request_with_growing_intervals() -> None:
    assert list(islice(poll_intervals(None), 4)) == [0.5, 0.75, 1.125, 1.6875]
    assert list(islice(poll_intervals(20), 3)) == [20, 10.0, 10.0]


async def test_it_finds_the_group(fake_clock: FakeClock) -> None:
    with scripted(NOT_FOUND, NOT_FOUND, FOUND) as server:
        async with AsyncChamberlain(server.url, "t", clock=fake_clock.async_clock(), verify=TLS) as client:
            group = await client.wait_for_group(ID)

    assert (str(group.id), group.display_name, fake_clock.slept) == (ID, "A", [20, 10, 10])


def test_it_follows_retry_after(fake_clock: FakeClock) -> None:
    body = {"requestId": ID, "tenantId": ID, "approvalRequired": False}
    with (
        scripted(answer(body, 202, retry_after="2"), NOT_FOUND, FOUND) as server,
        client_of(server.url, fake_clock) as client,
    ):
        accepted = client.groups.create({})
        client.wait_for_group(accepted)

    assert isinstance(accepted, AcceptedGroup)
    assert fake_clock.slept == [2, 2]


def test_it_reports_an_invisible_group_without_a_failure(fake_clock: FakeClock) -> None:
    with (
        scripted(NOT_FOUND) as server,
        client_of(server.url, fake_clock) as client,
        pytest.raises(GroupNotVisibleYet) as error,
    ):
        client.directory.wait_for_group(ID)

    assert fake_clock.slept == [20, 10, 10, 10]
    assert "not visible yet" in str(error.value)
    assert "fail" not in str(error.value)
    assert str(error.value.request_id) == ID


@pytest.mark.parametrize("state", ["succeeded", "failed", "rejected", "cancelled", "expired"])
def test_it_waits_for_the_end_of_a_request(fake_clock: FakeClock, state: str) -> None:
    replies = [answer(request(each)) for each in ("queued", "waiting", state)]
    with scripted(*replies) as server, client_of(server.url, fake_clock) as client:
        found = client.wait_for_request(ID, retry_after=1)

    assert (found.state, found.has_ended, fake_clock.slept) == (state, True, [1, 1.5, 2.25])


def test_it_waits_through_overload(fake_clock: FakeClock) -> None:
    replies = (answer(request("queued")), problem(503, "overloaded", retry_after="3"), answer(request("succeeded")))
    with scripted(*replies) as server, client_of(server.url, fake_clock) as client:
        assert client.requests.wait(ID).state is RequestState.SUCCEEDED

    assert fake_clock.slept == [0.5, 0.75, 3]


async def test_it_reports_a_running_request(fake_clock: FakeClock) -> None:
    with scripted(answer(request("pendingApproval"))) as server:
        async with AsyncChamberlain(server.url, "t", clock=fake_clock.async_clock(), verify=TLS) as client:
            with pytest.raises(RequestNotFinished) as error:
                await client.wait_for_request(ID, 4)

    assert sum(fake_clock.slept) == pytest.approx(4)
    assert error.value.request.state == "pendingApproval"
    assert "fail" not in str(error.value)


def client_of(url: str, fake_clock: FakeClock) -> Chamberlain:
    return Chamberlain(url, "t", clock=fake_clock.clock(), verify=TLS)
