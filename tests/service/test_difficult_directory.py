# SPDX-License-Identifier: Apache-2.0
"""A whole service whose directory is difficult on purpose, as integrators start it for tests of their own clients."""

from collections.abc import Iterator

import pytest

from tests.services import BEN, GROUP_TEMPLATE, Service, restarted_service, wait_until

pytestmark = pytest.mark.heavy

NOT_SHOWN = "The directory does not show the new group yet."
SLOW_DOWN = "The directory has asked to slow down."
FAULTS = {"CHAMBERLAIN_FAULT_VISIBILITY_DELAY": "2.5", "CHAMBERLAIN_FAULT_THROTTLE": "3"}


@pytest.fixture(scope="module")
def faulty_service() -> Iterator[Service]:
    with restarted_service(environment=FAULTS) as service:
        yield service


def request_group(service: Service, name: str) -> str:
    answer = service.post_group({"displayName": name, "templateId": GROUP_TEMPLATE, "members": [BEN]})
    assert answer.status_code == 202, answer.text
    # The delay in whole seconds.
    assert answer.headers["retry-after"] == "3"
    request_id = answer.json()["requestId"]
    assert isinstance(request_id, str)
    return request_id


def once_each(service: Service, accepted: list[str]) -> bool:
    """Whether the directory shows each once; it may ask to slow down."""
    answer = service.graph("/groups?$top=999&$select=id,chamberlain_group")
    if answer.status_code == 429:
        assert answer.headers["retry-after"] == "1"
        return False
    marks = [group.get("chamberlain_group", {}).get("requestId") for group in answer.json()["value"]]
    return all(marks.count(each) == 1 for each in accepted)


def test_it_works(faulty_service: Service) -> None:
    accepted = [request_group(faulty_service, f"Difficult {number}") for number in range(6)]

    for each in accepted:
        faulty_service.wait_for_end(each, within=40)

    told = [faulty_service.get(f"/requests/v1/{each}/events/").text for each in accepted]
    # A request that was throttled for all that time waits for nothing else.
    assert all(NOT_SHOWN in timeline or SLOW_DOWN in timeline for timeline in told)
    assert any(NOT_SHOWN in timeline for timeline in told)
    assert any(SLOW_DOWN in timeline for timeline in told)
    wait_until(lambda: once_each(faulty_service, accepted), 10)


def test_a_request_shows_why_it_waits(faulty_service: Service) -> None:
    request_id = request_group(faulty_service, "Slow")

    wait_until(lambda: faulty_service.request(request_id)["state"] == "waiting", 10)

    waiting = faulty_service.request(request_id)["waiting"]
    assert isinstance(waiting, dict)
    assert waiting["reason"] in {NOT_SHOWN, SLOW_DOWN}
    assert waiting["step"] in {"createGroup", "addMembers"}
    assert faulty_service.wait_for_end(request_id, within=40)["waiting"] is None


def test_it_asks_one_call_in_three_to_slow_down(faulty_service: Service) -> None:
    statuses = [faulty_service.graph("/groups?$top=1").status_code for _ in range(6)]

    assert sorted(statuses) == [200] * 4 + [429] * 2


def test_it_tells_whoever_starts_it(faulty_service: Service) -> None:
    assert "The directory injects faults" in faulty_service.said()
