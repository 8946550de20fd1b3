# SPDX-License-Identifier: Apache-2.0
"""A request is watched on processes that neither took it nor work on it: nothing is lost, and nothing comes twice."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import httpx2
import pytest

from tests.services import (
    APPROVED_TEMPLATE,
    CLEO_MAIL,
    GROUP_TEMPLATE,
    TEAM_TEMPLATE,
    Installation,
    Outside,
    Service,
    look_up,
    outside_database,
    wait_until,
)

LISTENERS = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%chamberlain_requests%'"
END_LISTENERS = LISTENERS.replace("count(*)", "count(pg_terminate_backend(pid))")
MOST_OPEN = 20


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it came; `data` is its JSON."""

    id: int
    event: str
    data: dict[str, object]

    @property
    def word(self) -> str:
        """A state, or a step with its state."""
        return f"{self.data['name']} {self.data['state']}" if self.event == "step" else str(self.data["state"])


@contextmanager
def stream(
    service: Service, request_id: str, *, last: int | None = None
) -> Iterator[tuple[httpx2.Response, Iterator[Event]]]:
    """The open stream of a request, and its events as they come."""
    headers = service.headers() if last is None else {**service.headers(), "last-event-id": str(last)}
    address = f"{service.url}/requests/v1/{request_id}/events/"
    with httpx2.stream("GET", address, headers=headers, timeout=30) as answer:
        yield answer, events(answer)


def events(answer: httpx2.Response) -> Iterator[Event]:
    """As the standard says: lines up to an empty one are an event, unless they are comments alone."""
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield Event(int(fields["id"]), fields["event"], json.loads(fields["data"]))
            fields = {}


def all_events(service: Service, request_id: str, *, last: int | None = None) -> list[Event]:
    with stream(service, request_id, last=last) as (_, happening):
        return list(happening)


def post(service: Service, name: str, template: str = GROUP_TEMPLATE) -> str:
    answer = service.post_group({"displayName": name, "templateId": template})
    assert answer.status_code == 202, answer.text
    request_id: str = answer.json()["requestId"]
    return request_id


def test_it_works(installation: Installation) -> None:
    request_id = post(installation.one, "Watched")

    happened = all_events(installation.other, request_id)

    assert [(each.id, each.word) for each in happened] == [
        (1, "queued"),
        (2, "running"),
        (3, "createGroup succeeded"),
        (4, "succeeded"),
    ]
    request = installation.one.request(request_id)
    shown = {name: value for name, value in request.items() if name not in {"body", "steps", "approvals"}}
    assert happened[-1].data == shown
    assert request["steps"] == [happened[2].data]
    assert happened[0].data["updatedAt"] == request["createdAt"]


def test_it_ends_with_nothing_behind_the_end(installation: Installation) -> None:
    request_id = post(installation.one, "Watched to the end")
    newest = all_events(installation.other, request_id)[-1].id

    with stream(installation.other, request_id, last=newest) as (answer, _):
        assert answer.status_code == 204
    with stream(installation.other, request_id, last=newest + 1) as (answer, _):
        assert answer.status_code == 400


def test_it_rejects_those_who_may_not_read_it(installation: Installation) -> None:
    request_id = post(installation.one, "Not for Cleo")

    answer = installation.other.get(f"/requests/v1/{request_id}/events/", CLEO_MAIL)

    assert (answer.status_code, answer.json()["code"]) == (404, "notFound")


@pytest.mark.parametrize(("template", "kind"), [(GROUP_TEMPLATE, "group"), (TEAM_TEMPLATE, "team")])
def test_a_call_waits_for_its_group(installation: Installation, template: str, kind: str) -> None:
    body = {"displayName": f"Awaited {kind}", "templateId": template}

    answer = installation.one.post_group(body, Prefer="wait=20")

    assert answer.status_code == 201
    created = answer.json()
    group = installation.one.wait_for_group(created["requestId"])
    assert created["group"] == {"id": group["id"], "displayName": body["displayName"], "mail": group["mail"]}
    assert answer.headers["location"] == f"{installation.one.url}/graph/v1.0/groups/{group['id']}"
    assert answer.headers["preference-applied"] == "wait"
    assert installation.other.request(created["requestId"])["state"] == "succeeded"


def test_a_call_that_is_sent_again_gets_the_stored_answer(installation: Installation) -> None:
    body = {"displayName": "Awaited twice", "templateId": GROUP_TEMPLATE}
    headers = {"Prefer": "wait=20", "Idempotency-Key": "awaited-twice"}

    first = installation.one.post_group(body, **headers)
    again = installation.one.post_group(body, **headers)

    assert (first.status_code, again.status_code) == (201, 202)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json() == {name: value for name, value in first.json().items() if name != "group"}


def test_nobody_waits_for_an_approval(installation: Installation) -> None:
    begun = time.monotonic()

    answer = installation.one.post_group(
        {"displayName": "Awaited in vain", "templateId": APPROVED_TEMPLATE}, Prefer="wait=30"
    )

    assert (answer.status_code, answer.json()["approvalRequired"]) == (202, True)
    assert time.monotonic() - begun < 10


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    """Two processes that answer, and none that works until a test starts one."""
    with outside_database() as found:
        yield found


@pytest.fixture(scope="module")
def pair(outside: Outside) -> Installation:
    one, other = outside.start_service("--no-worker"), outside.start_service("--no-worker")
    one.wait_until_ready()
    other.wait_until_ready()
    wait_until(lambda: look_up(outside.addresses.application, LISTENERS) == 2, within=10)
    return Installation(one, other)


@pytest.mark.heavy
def test_every_step_is_seen_as_it_happens_and_from_the_middle_on_elsewhere(
    outside: Outside, pair: Installation
) -> None:
    request_id = post(pair.one, "Step by step", TEAM_TEMPLATE)
    with stream(pair.one, request_id) as (_, happening):
        seen = [next(happening)]
        with difficult_worker(outside, CHAMBERLAIN_FAULT_VISIBILITY_DELAY="2"):
            while seen[-1].word != "waiting":
                seen.append(next(happening))
            # It is not over yet, and the shown state is true at this moment.
            assert pair.other.request(request_id)["state"] in {"waiting", "running"}
            rest = all_events(pair.other, request_id, last=seen[-1].id)
            seen_here = [*seen, *happening]

    everything = [*seen, *rest]
    assert [each.id for each in everything] == list(range(1, len(everything) + 1))
    assert seen_here == everything
    assert everything == all_events(pair.one, request_id)
    words = [each.word for each in everything]
    assert words[:3] == ["queued", "running", "createGroup succeeded"]
    assert words[-1] == "succeeded"
    assert {"createTeam succeeded", "createChannels succeeded"} <= set(words)


@pytest.mark.heavy
def test_connections_that_are_ended_cost_nobody_an_event(outside: Outside, pair: Installation) -> None:
    request_id = post(pair.one, "Cut off")
    with stream(pair.other, request_id) as (_, happening):
        assert next(happening).word == "queued"

        assert look_up(outside.addresses.application, END_LISTENERS) == 2
        with difficult_worker(outside):
            words = [each.word for each in happening]

    assert words == ["running", "createGroup succeeded", "succeeded"]


def test_it_rejects_one_stream_too_many(pair: Installation) -> None:
    request_id = post(pair.one, "Popular")
    with ExitStack() as stack:
        for _ in range(MOST_OPEN):
            answer, _ = stack.enter_context(stream(pair.one, request_id))
            assert answer.status_code == 200
        refused = pair.one.get(f"/requests/v1/{request_id}/events/")

        assert (refused.status_code, refused.json()["limit"]) == (429, "openStreams")

    wait_until(lambda: opens(pair.one, request_id), within=10)


def opens(service: Service, request_id: str) -> bool:
    with stream(service, request_id) as (answer, _):
        return answer.status_code == 200


@pytest.mark.heavy
def test_a_stop_ends_open_streams_in_time(outside: Outside, pair: Installation) -> None:
    request_id = post(pair.one, "Stopped")
    service = outside.ready_service("--no-worker")
    with ExitStack() as stack:
        opened = [stack.enter_context(stream(service, request_id)) for _ in range(MOST_OPEN)]
        begun = [next(happening).word for _, happening in opened]

        stopped_at = time.monotonic()
        assert service.stop() == 0

        assert time.monotonic() - stopped_at < 10
        assert begun == ["queued"] * MOST_OPEN
        # They end as streams end, so that no client takes it for a fault.
        assert [list(happening) for _, happening in opened] == [[]] * MOST_OPEN
    assert "exceeded" not in service.said()
    with difficult_worker(outside):
        assert all_events(pair.other, request_id, last=1)[-1].word == "succeeded"


@contextmanager
def difficult_worker(outside: Outside, **faults: str) -> Iterator[None]:
    """A worker with a difficult directory, for as long as the block runs."""
    environment = outside.environment
    outside.environment = {**environment, **faults}
    worker = outside.start_worker()
    outside.environment = environment
    try:
        yield
    finally:
        worker.stop()
