# SPDX-License-Identifier: Apache-2.0
"""Mutations of request bodies, and how many of them the recorder and the fake notice."""

from typing import Any

import httpx2
import pytest

from tests.directory.sample_directory import ADA, BEN, CLEO, GIL, OUTER, PARTNERS, TENANT
from tests.microsoft365.fake.group_settings import GUEST_TEMPLATE
from tests.microsoft365.fake.sample import EXTENSION, sample_fake
from tests.microsoft365.fake.tenant import GROUPS, TEAMS, USERS, Tenant, channels, settings
from tests.microsoft365.graph_client import GRAPH, FakeToken, batch, new_group, reference
from tests.microsoft365.mutations import Kind, MutatingTransport, Mutation, Place, described_places, draw, used_places
from tests.microsoft365.recording_transport import DifferentFromPublished, RecordingTransport

pytestmark = pytest.mark.pure

SEED = 27
UNIQUE = "PATCH /groups(uniqueName='{uniqueName}')"


async def provision(graph: httpx2.AsyncClient) -> None:
    """Write everything that an adapter writes, in the usual order. Fails if a write is refused."""
    json = {"Content-Type": "application/json"}
    body = new_group(description="Eighteen holes") | {
        "owners@odata.bind": [reference(ADA)],
        EXTENSION: {"requestId": "r"},
    }
    body |= {"members@odata.bind": [reference(ADA)]}
    member = {"@odata.type": "microsoft.graph.aadUserConversationMember", "roles": ["owner"]}
    member["user@odata.bind"] = f"{GRAPH}/users('{BEN}')"
    values = [{"name": "AllowToAddGuests", "value": "false"}]
    answers = [
        await graph.patch("/groups(uniqueName='golf')", json=body, headers={"prefer": "create-if-missing"}),
        await graph.patch(f"/groups/{PARTNERS}", json={"members@odata.bind": [reference(CLEO)]}),
        await graph.patch(f"/groups/{PARTNERS}", json={"displayName": "Friends", EXTENSION: {"policyId": "p"}}),
        await graph.post(f"/groups/{PARTNERS}/owners/$ref", json={"@odata.id": reference(CLEO)}),
        await graph.put(f"/groups/{OUTER}/team", json={"memberSettings": {"allowCreateUpdateChannels": False}}),
        await graph.post(f"/teams/{OUTER}/channels", json={"displayName": "Plans", "description": "d"}),
        await graph.post(f"/teams/{PARTNERS}/members/add", json={"values": [member]}),
        await graph.post(f"/groups/{PARTNERS}/settings", json={"templateId": GUEST_TEMPLATE, "values": values}),
    ]
    part = {"method": "PATCH", "url": f"/users/{GIL}", "headers": json, "body": {"accountEnabled": False}}
    parts = (await graph.post("/$batch", json=batch(part))).json()["responses"]
    assert all(answer.status_code < 300 and answer.status_code != 207 for answer in answers)
    assert [each["status"] for each in parts] == [204]


def state(tenant: Tenant) -> list[Any]:
    """Return the state without generated values."""
    latest, found = tenant.latest(), []
    generated = {"id", "createdDateTime", "renewedDateTime", "securityIdentifier"}
    for key, group in latest.items(GROUPS):
        plain = {name: value for name, value in group.items() if name not in generated}
        people = (tenant.owner_ids(key), tenant.member_ids(key))
        inner = [each["values"] for _, each in latest.items(settings(key))]
        names = [(each["displayName"], each["description"]) for _, each in latest.items(channels(key))]
        found.append((plain, people, inner, names))
    found += [user["accountEnabled"] for _, user in latest.items(USERS)]
    return [*found, *(team.get("memberSettings") for _, team in latest.items(TEAMS))]


async def run(mutation: Mutation | None) -> tuple[RecordingTransport, list[Any]]:
    fake = sample_fake()
    recorder = RecordingTransport(fake.transport())
    transport = recorder if mutation is None else MutatingTransport(recorder, mutation)
    async with httpx2.AsyncClient(transport=transport, base_url=GRAPH, auth=FakeToken(fake)) as graph:
        await provision(graph)
    return recorder, state(fake.tenants[str(TENANT)])


async def is_noticed(mutation: Mutation, expected: list[Any]) -> bool:
    try:
        _, found = await run(mutation)
    except (DifferentFromPublished, AssertionError):
        return True
    return found != expected


async def test_it_works() -> None:
    """The writes of an adapter: all but two of 40 drawn mutations are refused, or change the state."""
    recorder, expected = await run(None)
    mutations = draw(SEED, used=used_places(recorder.exchanges))

    unnoticed = [str(each) for each in mutations if not await is_noticed(each, expected)]

    assert len(mutations) == 40
    assert len(unnoticed) <= 2, unnoticed


def test_a_draw_is_repeatable() -> None:
    assert draw(SEED) == draw(SEED)
    assert draw(SEED) != draw(SEED + 1)
    assert len(set(draw(SEED))) == 40
    assert {each.kind for each in draw(SEED)} == {*Kind}


def test_places_are_those_of_the_description() -> None:
    places = set(described_places())

    assert Place(UNIQUE, ("displayName",)) in places
    assert Place(UNIQUE, ("owners@odata.bind",)) in places
    assert Place("POST /teams/{team-id}/members/add", ("values", "user@odata.bind")) in places
    assert Place("PUT /groups/{group-id}/team", ("memberSettings", "allowDeleteChannels")) in places
    assert Place(UNIQUE, ("colour",)) not in places


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        (Kind.RENAME, ("displayName",), {"DisplayName": "Golf", "x": {"y": [{"z": True}]}}),
        (Kind.DROP, ("displayName",), {"x": {"y": [{"z": True}]}}),
        (Kind.RETYPE, ("displayName",), {"displayName": ["Golf"], "x": {"y": [{"z": True}]}}),
        (Kind.RETYPE, ("x", "y", "z"), {"displayName": "Golf", "x": {"y": [{"z": "true"}]}}),
        (Kind.DROP, ("colour",), {"displayName": "Golf", "x": {"y": [{"z": True}]}}),
    ],
)
def test_changes(kind: Kind, path: tuple[str, ...], expected: dict[str, Any]) -> None:
    body = {"displayName": "Golf", "x": {"y": [{"z": True}]}}

    assert Mutation(kind, Place(UNIQUE, path)).apply(UNIQUE, body) == expected


def test_an_id_is_in_place_of_an_address() -> None:
    mutation = Mutation(Kind.ID_FOR_NAME, Place(UNIQUE, ("owners@odata.bind",)))

    assert mutation.apply(UNIQUE, {"owners@odata.bind": [reference(ADA)]}) == {"owners@odata.bind": [str(ADA)]}
