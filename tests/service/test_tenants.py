# SPDX-License-Identifier: Apache-2.0
"""Isolation: a user of the second tenant uses every id of the first, at every endpoint."""

import json
import re
from collections.abc import Mapping

import httpx2
import pytest

from chamberlain.app.routes import ENDPOINTS
from chamberlain.http.endpoint_tables import AnyEndpoint
from tests.service.estate import (
    HOUSE_MAILBOX,
    HOUSE_TEMPLATE,
    INACTIVE_TEMPLATE,
    MAILBOX_TEMPLATE,
    NOBODY,
    OTHER_HOUSE,
    STRICT_TEMPLATE,
)
from tests.services import (
    ADA,
    ADA_MAIL,
    API,
    APPROVED_TEMPLATE,
    BEN,
    DYNAMIC_TEMPLATE,
    GRAPH,
    GROUP_TEMPLATE,
    TEAM_TEMPLATE,
    TLS,
    ZOE_MAIL,
    Service,
    wait_until,
)

MAIL = f"{API}/mail/App.ReadWrite.All"
EVERYTHING = f"{API}/collab/App.ReadWrite.All {API}/mail/App.ReadWrite.All {API}/admin/Config.ReadWrite.All"
# The bodies of endpoints with an id in their path; those without a line here accept an empty object.
BODIES: dict[str, object] = {
    "/admin/mail/v1/templates/{templateId}/": {"kind": "shared", "name": "Theirs"},
    "/admin/collab/v1/templates/{templateId}/": {"kind": "group", "name": "Theirs"},
    "/admin/collab/v1/policies/{policyId}/": {"name": "Theirs"},
    "/requests/v1/{requestId}/approvers/": {"level": 1, "userIds": [BEN]},
    "/admin/v1/findings/{findingId}/accept/": {"reason": "Theirs"},
    "/admin/collab/v1/policies/{policyId}/simulate/": {},
}
NO_GUESTS = "7e000000-0000-4000-8000-000000000021"
TEMPLATES = [GROUP_TEMPLATE, TEAM_TEMPLATE, APPROVED_TEMPLATE, DYNAMIC_TEMPLATE, STRICT_TEMPLATE, INACTIVE_TEMPLATE]
OTHERS = [
    "e57a7e00-0000-4000-8000-000000000001",
    ADA,
    BEN,
    "94000000-0000-4000-8000-000000000001",
    "51730000-0000-4000-8000-000000000001",
    "1abe1000-0000-4000-8000-000000000001",
    "c11e0000-0000-4000-8000-000000000002",
    *(f"7e000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3)),
    *(f"7e000000-0000-4000-8000-00000000002{number}" for number in (1, 2)),
    *(f"90110000-0000-4000-8000-00000000000{number}" for number in (1, 2)),
    *TEMPLATES,
]
GRAPH_PATHS = [
    "/groups/{}",
    "/groups/{}/owners",
    "/groups/{}/members",
    "/groups/{}/team",
    "/groups/{}/team/channels",
    "/teams/{}",
    "/teams/{}/channels",
]
FILTERS = ["id eq '{}'", "chamberlain_group/requestId eq '{}'", "chamberlain_group/requestId in ('{}')"]


# Theirs in every sense: Ben may send from it.
MAILBOX: dict[str, object] = {
    "name": "Ours Alone",
    "displayName": "Ours",
    "alias": "ours-too",
    "permissions": {BEN: "FullAccess"},
    "primaryOwner": ADA,
}


@pytest.fixture(scope="module")
def mailbox(service: Service) -> dict[str, str]:
    """A mailbox of the first tenant, with its id in the directory as `directoryId`."""
    answer = post_mailbox(service, MAILBOX, ADA_MAIL, prefer="wait=20")
    assert answer.status_code == 201, answer.text
    filter_ = f"chamberlain_mailbox/requestId eq '{answer.json()['requestId']}'"
    found = service.get(f"/graph/v1.0/users?$filter={filter_}", "automation", f"{GRAPH}/.default").json()["value"]
    return {**answer.json(), "directoryId": found[0]["id"]}


@pytest.fixture(scope="module")
def ids(service: Service, mailbox: dict[str, str]) -> list[str]:
    """Every id of the first tenant that a user may know.

    These include a group, a team, a mailbox and their requests.
    """
    made = []
    for template in (GROUP_TEMPLATE, TEAM_TEMPLATE):
        answer = service.post_group({"displayName": "Ours", "templateId": template, "members": [BEN]})
        request_id = answer.json()["requestId"]
        made += [request_id, str(service.wait_for_group(request_id)["id"])]
    waiting = service.post_group({"displayName": "Ours too", "templateId": APPROVED_TEMPLATE}).json()["requestId"]
    made += [adoption_of(service), finding_of(service)]
    return [*made, waiting, *(mailbox[each] for each in ("id", "requestId", "directoryId")), *OTHERS]


def adoption_of(service: Service) -> str:
    """An adoption of the first tenant, which is undone at once: the group is another test's, too."""
    path, rule = "/admin/v1/adoptions/", {"kind": "group", "templateId": GROUP_TEMPLATE, "filter": {"q": "All staff"}}

    def preview() -> dict[str, object]:
        shown: dict[str, object] = administer(service, "POST", f"{path}?dryRun=true", rule).json()
        return shown if shown["taken"] else {}

    digest = wait_until(preview, 20, service.said)["digest"]
    adoption = administer(service, "POST", path, {**rule, "digest": digest}).json()
    administer(service, "POST", f"{path}{adoption['id']}/undo/", {})
    return str(adoption["id"])


def finding_of(service: Service) -> str:
    """A finding of the first tenant, of a guest in a group that none may be in for a moment."""
    group = "/admin/collab/v1/manage/groups/94000000-0000-4000-8000-000000000001/"
    administer(service, "PATCH", group, {"templateId": NO_GUESTS})

    def found() -> list[dict[str, object]]:
        items: list[dict[str, object]] = administer(service, "GET", "/admin/v1/findings/").json()["items"]
        return items

    try:
        return str(wait_until(found, 20, service.said)[0]["id"])
    finally:
        administer(service, "PATCH", group, {"templateId": "00000000-0000-0000-0000-000000000000"})


def administer(service: Service, method: str, path: str, body: object = None) -> httpx2.Response:
    """As an administrator of the first tenant."""
    headers = service.headers(ADA_MAIL, f"{API}/admin/Config.ReadWrite.All")
    answer = httpx2.request(method, f"{service.url}{path}", headers=headers, json=body, timeout=30, verify=TLS)
    assert answer.is_success, answer.text
    return answer


def test_it_works_for_who_they_belong_to(service: Service, ids: list[str], mailbox: dict[str, str]) -> None:
    request_id, group_id = ids[:2]

    assert service.get(f"/requests/v1/{request_id}/").status_code == 200
    assert service.graph(f"/groups/{group_id}").status_code == 200
    for path in (f"/mail/v1/mailboxes/{mailbox['id']}/", f"/requests/v1/{mailbox['requestId']}/"):
        assert service.get(path, scope=MAIL).status_code == 200
    seen = service.get("/mail/v1/mailboxes/?q=ours", scope=MAIL).json()["items"]
    assert mailbox["id"] in [each["id"] for each in seen]


def test_it_rejects_every_id_at_every_endpoint(service: Service, ids: list[str]) -> None:
    crossed = [
        (endpoint.method, path, answer.status_code)
        for endpoint in ENDPOINTS
        if "{" in endpoint.path
        for path in (re.sub(r"{\w+}", each, endpoint.path) for each in ids)
        if (answer := call(service, endpoint, path)).status_code != 404
    ]

    assert crossed == []


# Lists that need a text to search for.
SEARCHES = {"/directory/v1/people/": "?q=ad"}


def test_it_lists_nothing_of_the_other_tenant(service: Service, ids: list[str]) -> None:
    lists = [endpoint for endpoint in ENDPOINTS if endpoint.method == "GET" and "{" not in endpoint.path]
    # The stream has the events of the list, and ends with its token.
    lists = [endpoint for endpoint in lists if not endpoint.path.endswith("/stream/")]

    crossed = [
        (endpoint.path, each)
        for endpoint in lists
        for answer in (call(service, endpoint, f"{endpoint.path}{SEARCHES.get(endpoint.path, '')}"),)
        for each in ids
        if answer.status_code != 200 or each in answer.text
    ]

    assert crossed == []


@pytest.mark.parametrize("filter_", ["q=ours", "q=Ours Alone", "q=ours-too@estate", "type=shared", "limit=200"])
@pytest.mark.parametrize("scope", [MAIL, EVERYTHING])
def test_it_finds_no_mailbox_of_the_other_tenant(service: Service, ids: list[str], filter_: str, scope: str) -> None:
    answer = service.get(f"/mail/v1/mailboxes/?{filter_}", ZOE_MAIL, scope)

    assert answer.status_code == 200
    assert [each for each in ids if each in answer.text] == []


@pytest.mark.parametrize(("path", "which"), [("/requests/v1/", "requestId"), ("/mail/v1/mailboxes/", "id")])
@pytest.mark.parametrize("scope", [MAIL, EVERYTHING])
def test_it_shows_the_same_as_for_an_id_that_does_not_exist(
    service: Service, mailbox: dict[str, str], path: str, which: str, scope: str
) -> None:
    theirs, nobodys = (service.get(f"{path}{each}/", ZOE_MAIL, scope).json() for each in (mailbox[which], NOBODY))

    same = ("type", "title", "status", "code", "detail")
    assert theirs["status"] == 404
    assert {name: theirs[name] for name in same} == {name: nobodys[name] for name in same}


def test_it_rejects_every_id_in_the_directory(service: Service, ids: list[str]) -> None:
    paths = [path.format(each) for each in ids for path in GRAPH_PATHS]

    crossed = [path for path in paths if service.graph(path, ZOE_MAIL).status_code != 404]

    assert crossed == []


def test_it_finds_nothing_in_the_directory(service: Service, ids: list[str]) -> None:
    asked = [f"/groups?$filter={filter_.format(each)}" for each in ids for filter_ in FILTERS]
    asked += ["/groups?$filter=displayName eq 'Ours'", "/groups?$filter=mail eq 'all-staff@estate.example'"]

    found = [path for path in asked if service.graph(path, ZOE_MAIL).json()["value"]]

    assert found == []
    listed = service.graph("/groups?$top=999", ZOE_MAIL).json()["value"]
    assert not {group["id"] for group in listed}.intersection(ids)


@pytest.mark.parametrize("template", TEMPLATES)
def test_it_rejects_templates_of_the_other_tenant(service: Service, template: str) -> None:
    answer = service.post_group({"displayName": "Mine", "templateId": template}, ZOE_MAIL)

    assert answer.status_code == 422
    assert [(fault["pointer"], fault["code"]) for fault in answer.json()["errors"]] == [
        ("/templateId", "templateUnknown")
    ]


def test_it_rejects_people_and_labels_of_the_other_tenant(service: Service) -> None:
    body = {
        "displayName": "Mine",
        "templateId": HOUSE_TEMPLATE,
        "owners": [ADA],
        "members": [BEN],
        "labelId": "1abe1000-0000-4000-8000-000000000001",
    }

    answer = service.post_group(body, ZOE_MAIL)

    assert answer.status_code == 422
    assert {(fault["pointer"], fault["code"]) for fault in answer.json()["errors"]} == {
        ("/owners/0", "userUnknown"),
        ("/members/0", "userUnknown"),
        ("/labelId", "labelUnknown"),
    }


def test_it_keeps_names_and_keys_of_two_tenants_apart(service: Service) -> None:
    key = {"Idempotency-Key": "the-same-in-both-tenants"}
    ours = service.post_group({"displayName": "Both", "templateId": GROUP_TEMPLATE}, **key)
    theirs = service.post_group({"displayName": "Both", "templateId": HOUSE_TEMPLATE}, ZOE_MAIL, **key)

    assert (ours.status_code, theirs.status_code) == (202, 202)
    assert theirs.json()["tenantId"] == OTHER_HOUSE
    request_id = theirs.json()["requestId"]
    group = service.wait_for_group(request_id, who=ZOE_MAIL)
    assert (group["mailNickname"], group["mail"]) == ("both", "both@other.example")
    assert service.find_group(request_id) == []
    assert service.get(f"/requests/v1/{request_id}/").status_code == 404


def test_it_rejects_what_the_other_tenant_would_make_a_mailbox_of(service: Service) -> None:
    body = {"name": "Mine", "displayName": "Mine"}
    people = {"primaryOwner": ADA, "permissions": {BEN: "SendAs"}}

    template = post_mailbox(service, body | {"templateId": MAILBOX_TEMPLATE})
    others = post_mailbox(service, body | people | {"templateId": HOUSE_MAILBOX, "domain": "rooms.estate.example"})

    assert faults_of(template) == {("/templateId", "templateUnknown")}
    assert faults_of(others) == {
        ("/primaryOwner", "userUnknown"),
        (f"/permissions/{BEN}", "userUnknown"),
        ("/domain", "domainNotVerified"),
    }
    # No data of the other tenant is shown on the way.
    assert "estate.example" not in others.text.replace("rooms.estate.example", "")


def test_it_keeps_mailboxes_of_two_tenants_apart(service: Service, mailbox: dict[str, str]) -> None:
    body = {"name": str(MAILBOX["name"]).upper(), "displayName": "Mine", "alias": MAILBOX["alias"]}
    key = {"Idempotency-Key": "the-same-mailbox-in-both-tenants"}
    ours = post_mailbox(service, {**MAILBOX, "name": "Ours Again", "alias": "ours-again"}, ADA_MAIL, **key)

    theirs = post_mailbox(service, body, **key)
    again = post_mailbox(service, body)

    assert (ours.status_code, theirs.status_code) == (202, 202)
    assert "idempotency-replayed" not in theirs.headers
    assert (theirs.json()["tenantId"], theirs.json()["templateId"]) == (OTHER_HOUSE, HOUSE_MAILBOX)
    assert theirs.json()["primarySmtpAddress"] == "ours-alone@other.example"
    assert theirs.json()["id"] != mailbox["id"]
    assert (again.status_code, again.json()["conflictingId"]) == (409, theirs.json()["id"])
    assert service.get(f"/mail/v1/mailboxes/{theirs.json()['id']}/", scope=MAIL).status_code == 404


def post_mailbox(service: Service, body: Mapping[str, object], who: str = ZOE_MAIL, **headers: str) -> httpx2.Response:
    """Request a mailbox, by default as a user of the second tenant."""
    sent = service.headers(who, MAIL) | headers
    return httpx2.post(f"{service.url}/mail/v1/mailboxes/", json=body, headers=sent, timeout=30, verify=TLS)


def faults_of(answer: httpx2.Response) -> set[tuple[str, str]]:
    """Where and why a request was refused."""
    assert answer.status_code == 422, answer.text
    return {(fault["pointer"], fault["code"]) for fault in answer.json()["errors"]}


def call(service: Service, endpoint: AnyEndpoint, path: str) -> httpx2.Response:
    """As an administrator of the second tenant, with every permission that there is."""
    body = None if endpoint.shape is None else json.dumps(BODIES.get(endpoint.path, {}))
    headers = service.headers(ZOE_MAIL, EVERYTHING) | {"content-type": "application/json"}
    return httpx2.request(endpoint.method, f"{service.url}{path}", headers=headers, content=body, verify=TLS)
