# SPDX-License-Identifier: Apache-2.0
"""Random callers of a hostile fake: every answer is as published, and the fake never fails itself."""

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import httpx2
import pytest

from tests.directory.sample_directory import ADA, BEN, GIL, INTERNAL, NOBODY, OUTER, PARTNERS, TENANT, VISITORS
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.clock import Clock
from tests.microsoft365.fake.group_settings import GUEST_TEMPLATE
from tests.microsoft365.fake.sample import EXTENSION
from tests.microsoft365.graph_client import GRAPH, FakeToken, batch, new_group, reference
from tests.microsoft365.recording_transport import RecordingTransport

JSON = {"Content-Type": "application/json"}
EVENTUAL = {"ConsistencyLevel": "eventual"}
# Far more than a seed needs to meet most faults.
CALLS = 250


class Caller:
    """Makes random calls with known, new and unknown ids."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311  Seeds make tests repeatable.
        self.groups = [str(each) for each in (OUTER, PARTNERS, VISITORS, NOBODY)]
        self.links = ["/groups/delta?$select=id,displayName,members,owners", "/users/delta"]

    def part(self) -> dict[str, Any]:
        """Return a random call as a part of a batch."""
        group, user = self.random.choice(self.groups), self.random.choice((ADA, BEN, GIL, NOBODY))
        number = self.random.randrange(8)
        return self.random.choice((self._read, self._write, self._teams, self._settings))(group, user, number)

    def _read(self, group: str, user: object, number: int) -> dict[str, Any]:
        url, headers = self.random.choice(
            (
                (f"/groups/{group}?$select=id,uniqueName,assignedLabels,{EXTENSION}", {}),
                (f"/groups(uniqueName='g{number}')", {}),
                (f"/groups?$filter={EXTENSION}/requestId eq '{number}'&$select=id", {}),
                (f"/groups?$filter=mailNickname eq 'g{number}'", {}),
                (f"/groups/{group}/members?$select=id&$top=2", {}),
                (f"/groups/{group}/owners", {}),
                (f"/groups/{group}/transitiveMembers/microsoft.graph.user?$select=id", {}),
                (f"/groups/{group}/members/microsoft.graph.user?$filter=userType eq 'Guest'&$count=true", EVENTUAL),
                (f"/users?$filter=id in ('{ADA}','{user}')&$select=id,assignedPlans,signInActivity", {}),
                ('/users?$search="displayName:a"', EVENTUAL),
                (f"/users/{user}/manager", {}),
                ("/directory/deletedItems/microsoft.graph.group", {}),
            )
        )
        return {"method": "GET", "url": url, **({"headers": headers} if headers else {})}

    def _write(self, group: str, user: object, number: int) -> dict[str, Any]:
        body = new_group(f"g{number}") | {"owners@odata.bind": [reference(ADA)], EXTENSION: {"requestId": str(number)}}
        method, url, sent = self.random.choice(
            (
                ("PATCH", f"/groups(uniqueName='g{number}')", body),
                ("PATCH", f"/groups(uniqueName='g{number}')", body),
                ("POST", "/groups", body),
                ("PATCH", f"/groups/{group}", {"members@odata.bind": [reference(user)]}),
                ("PATCH", f"/groups/{group}", {"displayName": f"n{number}", EXTENSION: {"policyId": str(number)}}),
                ("PATCH", f"/groups/{group}", {"assignedLabels": [{"labelId": INTERNAL}]}),
                ("POST", f"/groups/{group}/owners/$ref", {"@odata.id": reference(user)}),
                ("DELETE", f"/groups/{group}/members/{user}/$ref", None),
                ("DELETE", f"/groups/{group}/owners/{user}/$ref", None),
                ("DELETE", f"/groups/{group}", None),
                ("PATCH", f"/users/{user}", {"accountEnabled": bool(number % 2)}),
                ("POST", f"/users/{user}/checkMemberGroups", {"groupIds": self.groups[:20]}),
            )
        )
        headers = {**JSON, "Prefer": "create-if-missing"}
        return {"method": method, "url": url, **({"headers": headers, "body": sent} if sent is not None else {})}

    def _teams(self, group: str, user: object, number: int) -> dict[str, Any]:
        bound = f"{GRAPH}/users('{user}')"
        member = {"@odata.type": "microsoft.graph.aadUserConversationMember", "roles": [], "user@odata.bind": bound}
        return self.random.choice(
            (
                {"method": "PUT", "url": f"/groups/{group}/team", "headers": JSON, "body": {}},
                {"method": "GET", "url": f"/teams/{group}"},
                {"method": "GET", "url": f"/teams/{group}/members"},
                {"method": "GET", "url": f"/teams/{group}/channels?$select=displayName"},
                {
                    "method": "POST",
                    "url": f"/teams/{group}/channels",
                    "headers": JSON,
                    "body": {"displayName": f"c{number}"},
                },
                {
                    "method": "POST",
                    "url": f"/teams/{group}/members/add",
                    "headers": JSON,
                    "body": {"values": [member, member | {"roles": ["owner"]}]},
                },
                {"method": "GET", "url": f"/groups/{group}/sites/root"},
            )
        )

    def _settings(self, group: str, user: object, number: int) -> dict[str, Any]:
        del user, number
        values = [{"name": "AllowToAddGuests", "value": "false"}]
        body = {"templateId": GUEST_TEMPLATE, "values": values}
        return self.random.choice(
            (
                {"method": "GET", "url": f"/groups/{group}/settings"},
                {"method": "POST", "url": f"/groups/{group}/settings", "headers": JSON, "body": body},
                {"method": "GET", "url": "/organization"},
            )
        )


@pytest.mark.parametrize("seed", range(8))
async def test_it_works(hostile_fake: Callable[[int], FakeMicrosoft365], clock: Clock, seed: int) -> None:
    fake, caller = hostile_fake(seed), Caller(seed)
    tenant = fake.tenants[str(TENANT)]
    recorder = RecordingTransport(fake.transport())
    statuses: set[int] = set()
    async with httpx2.AsyncClient(transport=recorder, base_url=GRAPH) as graph:
        for number in range(CALLS):
            if number % 20 == 0:
                graph.auth = FakeToken(fake)
            statuses |= await call(graph, caller)
            clock.wait(timedelta(seconds=caller.random.choice((0, 1, 20))))
            caller.groups += [each.id for each in tenant.created("group")][len(caller.groups) - 4 :]

    assert statuses <= {200, 201, 204, 207, 400, 401, 403, 404, 409, 410, 424, 429, 503, 504}
    keys = [each.key for each in tenant.created("group") if each.key is not None]
    assert len(keys) == len(set(keys))
    teams = [each.id for each in tenant.created("team")]
    assert len(teams) == len(set(teams))


async def call(graph: httpx2.AsyncClient, caller: Caller) -> set[int]:
    """Make one call, one batch, or one step of a delta query. Returns the statuses."""
    kind = caller.random.random()
    try:
        if kind < 0.15:
            number = caller.random.randrange(len(caller.links))
            answer = await graph.get(caller.links[number])
            found = answer.json()
            caller.links[number] = found.get("@odata.nextLink") or found.get("@odata.deltaLink") or caller.links[number]
            return {answer.status_code}
        if kind < 0.5:
            parts = [caller.part() for _ in range(caller.random.randint(1, 20))]
            answer = await graph.post("/$batch", json=batch(*parts))
            return {each["status"] for each in answer.json().get("responses", ())} | {answer.status_code}
        part = caller.part()
        answer = await graph.request(part["method"], part["url"], headers=part.get("headers"), json=part.get("body"))
    except httpx2.TransportError:
        return set()
    return {answer.status_code}
