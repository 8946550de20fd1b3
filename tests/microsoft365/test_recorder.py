# SPDX-License-Identifier: Apache-2.0
"""The recorder accepts exchanges that follow Microsoft's description, and reports each difference."""

from dataclasses import replace
from typing import Any

import httpx2
import pytest

from tests.microsoft365.recorder import Exchange, description, record

GROUP = {
    "@odata.context": "http://127.0.0.1/graph/v1.0/$metadata#groups/$entity",
    "id": "45b7d2e7-b882-4a80-ba97-10b7a63b8fa4",
    "createdDateTime": "2018-12-22T02:21:05Z",
    "displayName": "Golf",
    "groupTypes": ["Unified"],
    "house_group": {"requestId": "ABC-1"},
}
READ = Exchange("GET", "/groups/45b7d2e7", {}, None, 200, GROUP, frozenset({"Group.Read.All"}))
LIST = replace(READ, path="/groups", answer={"value": [{"id": "1", "displayName": "Golf"}]})
CREATE = replace(
    READ,
    method="POST",
    path="/groups",
    sent={"displayName": "Golf", "mailEnabled": True, "mailNickname": "golf", "securityEnabled": False},
    status=201,
    permissions=frozenset({"Group.ReadWrite.All"}),
)
ERROR = {"error": {"code": "Request_ResourceNotFound", "message": "Not there.", "innerError": {"request-id": "1"}}}
SETTINGS = replace(READ, path="/users/1/mailboxSettings", answer={"userPurpose": "shared"}, permissions=None)
SITE = replace(READ, path="/groups/1/sites/root", answer={"id": "1", "displayName": "Golf"}, permissions=None)
EXTENSIONS = replace(READ, path="/schemaExtensions", answer={"value": [{"id": "house_group", "owner": "1"}]})
ID_AND_NAME = {"$select": "id,displayName"}


@pytest.mark.parametrize(
    "exchange",
    [
        pytest.param(READ, id="an object"),
        pytest.param(LIST, id="a list"),
        pytest.param(CREATE, id="a write"),
        pytest.param(replace(READ, path="/groups/1/", method="HEAD", answer=None), id="no body"),
        pytest.param(replace(READ, path="/groups/$count", answer=12), id="a count"),
        pytest.param(replace(LIST, query={**ID_AND_NAME, "$orderby": "displayName desc"}), id="selected properties"),
        pytest.param(replace(READ, path="/groups(uniqueName='it''s')"), id="an alternate key"),
        pytest.param(replace(LIST, path="/groups/1/members/graph.user", answer={"value": [{"id": "1"}]}), id="a cast"),
        pytest.param(replace(READ, path="/me", answer={"id": "1"}, permissions=frozenset({"User.Read"})), id="me"),
        pytest.param(replace(READ, status=404, answer=ERROR), id="an error"),
        pytest.param(replace(READ, path="/colours", status=404, answer=ERROR), id="an unknown path"),
        pytest.param(replace(SETTINGS, answer={"mailbox": None}), id="the known deviation of mailboxes"),
        pytest.param(replace(SITE, answer={"sharingCapability": "disabled"}), id="the known deviation of sites"),
        pytest.param(
            replace(EXTENSIONS, answer={"value": [{"id": "x", "owner": None}]}), id="the known deviation of extensions"
        ),
    ],
)
def test_it_works(exchange: Exchange) -> None:
    assert description().problems(exchange) == []


@pytest.mark.parametrize(
    "exchange",
    [
        pytest.param(replace(READ, answer={**GROUP, "memberz": []}), id="an unknown property"),
        pytest.param(replace(LIST, answer={"value": [{"id": "1", "memberz": []}]}), id="an unknown property in a list"),
        pytest.param(replace(LIST, answer={"value": [], "items": []}), id="an unknown member of a list"),
        pytest.param(replace(READ, answer={**GROUP, "id": 1}), id="a wrong type"),
        pytest.param(replace(READ, answer={**GROUP, "createdDateTime": "yesterday"}), id="a wrong time"),
        pytest.param(replace(SETTINGS, answer={"userPurpose": "garage"}), id="an unknown enumeration value"),
        pytest.param(replace(READ, path="/groups/1/colour"), id="an unknown operation"),
        pytest.param(replace(READ, method="PUT"), id="an unknown method"),
        pytest.param(replace(READ, path="/groups/$count", answer={"value": 1}), id="a count that is no number"),
        pytest.param(replace(READ, permissions=frozenset({"User.Read.All"})), id="an insufficient permission"),
        pytest.param(replace(READ, query={"$elect": "id"}), id="an unknown option"),
        pytest.param(replace(READ, query={"$select": "colour"}, answer={}), id="an unknown selected property"),
        pytest.param(replace(LIST, query={"$orderby": "colour"}), id="an unknown sort property"),
        pytest.param(replace(LIST, query={"$select": "id"}), id="a property that is not selected"),
        pytest.param(replace(READ, sent={"displayName": "x"}), id="a body of a read"),
        pytest.param(replace(CREATE, sent={"displayNam": "Golf"}), id="an unknown property in a request"),
        pytest.param(replace(READ, status=404, answer={"fault": "x"}), id="another form of error"),
        pytest.param(replace(READ, status=400, answer={"error": {**ERROR["error"], "pointer": "/a"}}), id="more in it"),
    ],
)
def test_it_reports_a_difference(exchange: Exchange) -> None:
    assert len(description().problems(exchange)) == 1


@pytest.mark.parametrize(
    "exchange",
    [
        pytest.param(READ, id="an extension that is not selected"),
        pytest.param(replace(READ, answer={"id": "1", "uniqueName": "golf"}), id="uniqueName"),
        pytest.param(replace(READ, answer={"id": "1", "assignedLabels": []}), id="assignedLabels"),
        pytest.param(replace(SETTINGS, answer={"mailbox": None}), id="mailbox"),
        pytest.param(replace(SITE, answer={"sharingCapability": "disabled"}), id="sharingCapability"),
        pytest.param(replace(EXTENSIONS, answer={"value": [{"id": "x", "owner": None}]}), id="owner"),
    ],
)
def test_it_reports_more_under_strict(exchange: Exchange) -> None:
    assert len(description(is_strict=True).problems(exchange)) == 1


def test_it_fails_a_test_with_a_planted_property() -> None:
    """The recorder sits under the client of the tests, so the test that gets such an answer fails."""

    def respond(request: httpx2.Request) -> httpx2.Response:
        body: dict[str, Any] = {**GROUP, "memberz": []} if request.url.path.endswith("/2") else GROUP
        return httpx2.Response(200, json=body)

    def record_answer(answer: httpx2.Response) -> None:
        answer.read()
        record(answer)

    transport = httpx2.MockTransport(respond)
    with httpx2.Client(transport=transport, event_hooks={"response": [record_answer]}) as client:
        assert client.get("http://directory.example/graph/v1.0/groups/1").status_code == 200
        with pytest.raises(AssertionError, match="memberz"):
            client.get("http://directory.example/graph/v1.0/groups/2")
