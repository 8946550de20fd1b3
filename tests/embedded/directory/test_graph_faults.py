# SPDX-License-Identifier: Apache-2.0
"""The HTTP surface with injected faults."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.embedded.directory.faults import Faults, Injection, Outages
from chamberlain.embedded.directory.load import load
from tests.databases import Databases
from tests.embedded.directory.conftest import Served, serving
from tests.embedded.directory.mailboxes import ROOM, create_mailboxes
from tests.embedded.directory.sample_data import CREW, HANDBOOK, SECTION, STAFF

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
BY_MARK = "/v1.0/groups?$filter=house_group/requestId eq 'ABC-1'"
BY_NAME = "/v1.0/groups?$filter=displayName eq 'Crew'"

# Serves the sample data with these faults, this long after its groups were created.
Serve = Callable[[Faults, timedelta], AbstractAsyncContextManager[Served]]


@pytest.fixture
async def serve(databases: Databases) -> Serve:
    await load(databases.worker.pool, SECTION)
    async with databases.worker.pool.acquire() as connection:
        made_at: datetime = await connection.fetchval("SELECT max(created_at) FROM directory.groups")

    @asynccontextmanager
    async def with_faults(faults: Faults, age: timedelta) -> AsyncIterator[Served]:
        async with serving(databases.application.pool, Injection(faults, lambda: made_at + age)) as served:
            yield served

    return with_faults


async def statuses(served: Served) -> dict[str, int]:
    """Return the status of each path of a group; for lists, the number of entries."""
    listed = {path: (await served.get(path)).json()["value"] for path in (BY_MARK, BY_NAME, "/v1.0/groups")}
    paths = [f"/v1.0/groups/{STAFF}", f"/v1.0/groups/{STAFF}/owners", f"/v1.0/groups/{STAFF}/members"]
    paths += [
        f"/v1.0/groups/{STAFF}/settings",
        f"/v1.0/groups/{CREW}/team",
        f"/v1.0/teams/{CREW}",
        f"/v1.0/groups/{CREW}/team/channels",
    ]
    answered = {path: (await served.get(path)).status_code for path in paths}
    return {path: len(found) for path, found in listed.items()} | answered


async def test_it_works_when_the_delay_is_over(serve: Serve) -> None:
    async with serve(Faults(), HOUR) as served:
        usual = await statuses(served)

    async with serve(Faults(visibility_delay=15 * SECOND, not_found_after_create=20 * SECOND), 20 * SECOND) as served:
        assert await statuses(served) == usual
    assert set(usual.values()) == {1, 4, 200}


async def test_it_shows_nothing_that_is_not_visible_yet(serve: Serve) -> None:
    async with serve(Faults(visibility_delay=15 * SECOND), 14.999 * SECOND) as served:
        assert set((await statuses(served)).values()) == {0, 404}


async def test_it_lists_a_group_that_is_not_found_by_its_id_yet(serve: Serve) -> None:
    async with serve(Faults(not_found_after_create=20 * SECOND), SECOND) as served:
        found = await statuses(served)
        answer = await served.get(f"/v1.0/groups/{STAFF}")

    assert {status for path, status in found.items() if "/groups/" in path or "/teams/" in path} == {404}
    assert {count for path, count in found.items() if "$filter" in path} == {1}
    assert answer.json()["error"]["code"] == "Request_ResourceNotFound"


async def test_it_throttles_one_call_in_three(serve: Serve) -> None:
    async with serve(Faults(throttle=3), HOUR) as served:
        answers = [await served.get(BY_MARK) for _ in range(6)]

    assert [answer.status_code for answer in answers] == [200, 200, 429, 200, 200, 429]
    assert answers[2].headers["retry-after"] == "1"
    assert answers[2].json()["error"]["code"] == "TooManyRequests"
    assert answers[2].json()["error"]["message"] == "Too many requests. Send the request again after 1 s."


async def test_it_is_unavailable_during_an_outage_with_retry_after(databases: Databases) -> None:
    moment = datetime(2026, 11, 20, 9, 30, tzinfo=UTC) + 1.5 * SECOND
    faults = Faults(outages=Outages(lasting=5 * SECOND, every=30 * SECOND))

    async with serving(databases.application.pool, Injection(faults, lambda: moment)) as served:
        away = await served.get("/v1.0/groups")
        moment += 3.5 * SECOND
        back = await served.get("/v1.0/groups")

    assert (away.status_code, back.status_code) == (503, 200)
    assert away.headers["retry-after"] == "4"
    assert away.json()["error"]["code"] == "serviceNotAvailable"


async def test_authentication_precedes_faults(databases: Databases) -> None:
    async with serving(databases.application.pool, Injection(Faults(throttle=2), lambda: datetime.now(UTC))) as served:
        answers = [await served.get("/v1.0/groups", whose="nobody") for _ in range(3)]
        first = await served.get("/v1.0/groups")

    assert [answer.status_code for answer in answers] == [401] * 3
    assert first.status_code == 200


async def test_it_hides_a_site_as_long_as_its_group(serve: Serve) -> None:
    paths = [f"/v1.0/groups/{HANDBOOK}/sites/root", f"/v1.0/sites/{HANDBOOK}"]

    async with serve(Faults(not_found_after_create=20 * SECOND), SECOND) as served:
        early = [(await served.get(path, whose="house-sites")).status_code for path in paths]
    async with serve(Faults(not_found_after_create=20 * SECOND), 20 * SECOND) as served:
        late = [(await served.get(path, whose="house-sites")).status_code for path in paths]

    assert (early, late) == ([404, 404], [200, 200])


async def test_it_hides_a_mailbox_as_long_as_a_group(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)
    await create_mailboxes(databases.worker.pool)
    made_at: datetime = await databases.worker.pool.fetchval("SELECT max(created_at) FROM directory.mailboxes")
    moment = made_at + 10 * SECOND
    faults = Faults(visibility_delay=15 * SECOND, not_found_after_create=20 * SECOND)
    paths = [f"/v1.0/users/{ROOM}", f"/v1.0/users/{ROOM}/mailboxSettings", f"/v1.0/places/{ROOM}"]

    async def seen(served: Served) -> tuple[int, int, set[int]]:
        users = await served.get("/v1.0/users", whose="house-directory")
        rooms = await served.get("/v1.0/places/microsoft.graph.room", whose="house-directory")
        statuses = {(await served.get(path, whose="house-directory")).status_code for path in paths}
        return len(users.json()["value"]), len(rooms.json()["value"]), statuses

    async with serving(databases.application.pool, Injection(faults, lambda: moment)) as served:
        hidden = await seen(served)
        moment += 5 * SECOND
        listed = await seen(served)
        moment += 5 * SECOND
        known = await seen(served)

    # Users have no creation time.
    assert (hidden, listed, known) == ((4, 0, {404}), (7, 1, {404}), (7, 1, {200}))
