# SPDX-License-Identifier: Apache-2.0
"""Answers of other shapes than the published ones, as proxies and defects of Graph give them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from uuid import uuid4

import httpx2
import msgspec
import pytest

from chamberlain.core.errors import Cause
from chamberlain.core.ids import RequestId
from chamberlain.directory.microsoft365.calls import groups, people, settings, teams
from chamberlain.directory.microsoft365.changes import GraphChanges
from chamberlain.directory.microsoft365.lookups import USER_PROPERTIES
from chamberlain.directory.microsoft365.objects import GROUP_PROPERTIES
from chamberlain.directory.microsoft365.wire.faults import Refused
from chamberlain.directory.microsoft365.wire.graph import Graph
from chamberlain.directory.microsoft365.wire.shapes import Object
from tests.directory.sample_directory import ADA, OUTER, PARTNERS, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.graph_client import GRAPH
from tests.microsoft365.test_wire_faults import EXTENSION, GROUP, answering, failure, write

Call = Callable[[Graph], Awaitable[object]]


def get(graph: Graph) -> Awaitable[object]:
    return groups.get_group(graph, PARTNERS, EXTENSION)


def members(graph: Graph) -> Awaitable[object]:
    return groups.list_members(graph, PARTNERS)


def changes(graph: Graph) -> Awaitable[object]:
    return GraphChanges(graph, str(TENANT)).changes(TENANT, EXTENSION, None)


@pytest.mark.parametrize(
    ("call", "body"),
    [
        (get, {}),
        (get, {"id": "x"}),
        (get, {**GROUP, "displayName": 5}),
        (get, {**GROUP, "groupTypes": True}),
        (members, {}),
        (members, {"value": None}),
        (members, {"value": [{}]}),
        (members, {"value": [], "@odata.nextLink": 5}),
        (members, {"value": [], "@odata.nextLink": f"{GRAPH}/{'a' * 70_000}"}),
        (members, {"value": [], "@odata.nextLink": "https://graph.microsoft.com.evil.example/v1.0/groups"}),
        (members, {"value": [{"id": str(ADA)}], "@odata.nextLink": f"{GRAPH}/groups"}),
        (people.count_users, {"value": [], "@odata.count": None}),
        (changes, {"value": []}),
        (changes, {"value": [], "@odata.nextLink": f"{GRAPH}/groups/delta?$skiptoken=a"}),
        (lambda graph: people.get_activity(graph, ADA), {"id": str(ADA), "signInActivity": []}),
    ],
)
async def test_it_counts_as_lost(fake: FakeMicrosoft365, call: Call, body: Mapping[str, object]) -> None:
    async with answering(fake, lambda _request: httpx2.Response(200, json=body)) as graph:
        fault = await failure(call(graph))

    assert fault.cause is Cause.AWAY


@pytest.mark.parametrize(
    ("call", "status"),
    [
        (lambda graph: groups.upsert_group(graph, RequestId(uuid4()), {}, EXTENSION), 201),
        (lambda graph: groups.create_group(graph, {}, EXTENSION), 201),
        (lambda graph: settings.create_guest_setting(graph, PARTNERS, is_allowed=True), 201),
        (lambda graph: teams.add_team_members(graph, PARTNERS, [ADA], as_owners=False), 207),
        (lambda graph: teams.list_channels(graph, PARTNERS), 200),
        (lambda graph: people.check_groups(graph, ADA, [OUTER]), 200),
        (lambda graph: people.search_users(graph, "ada"), 200),
        (get, 204),
    ],
    ids=["upsert", "creation", "setting", "team members", "channels", "groups", "search", "group"],
)
async def test_a_success_without_a_body_counts_as_lost(fake: FakeMicrosoft365, call: Call, status: int) -> None:
    async with answering(fake, lambda _request: httpx2.Response(status)) as graph:
        fault = await failure(call(graph))

    assert fault.cause is Cause.AWAY


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"responses": null}',
        b'{"responses": [null]}',
        b'{"responses": [{"id": "0"}, {"id": "1"}]}',
        b'{"responses": [{"id": "0", "status": "ok"}, {"id": "1", "status": 204}]}',
        b'{"responses": [{"id": "0", "status": 204, "headers": "a"}, {"id": "1", "status": 204}]}',
    ],
)
async def test_all_parts_of_such_a_batch_count_as_lost(fake: FakeMicrosoft365, body: bytes) -> None:
    async with answering(fake, lambda _request: httpx2.Response(200, content=body)) as graph:
        faults = await asyncio.gather(failure(write(graph)), failure(write(graph)))

    assert [each.cause for each in faults] == [Cause.AWAY] * 2


@pytest.mark.parametrize("error", ["refused", {"details": 5}, {"details": "a", "message": None}, {"code": []}])
async def test_an_error_without_its_form_is_a_refusal(fake: FakeMicrosoft365, error: object) -> None:
    async with answering(fake, lambda _request: httpx2.Response(400, json={"error": error})) as graph:
        with pytest.raises(Refused) as refused:
            await write(graph)

    assert refused.value.status == 400


def test_every_property_that_is_selected_has_a_type() -> None:
    # The adapter compares the values of these two with False.
    selected = {*GROUP_PROPERTIES, *people.USER_PROPERTIES, *USER_PROPERTIES} - {"accountEnabled", "showInAddressList"}

    assert selected <= {each.encode_name for each in msgspec.structs.fields(Object)}
