# SPDX-License-Identifier: Apache-2.0
"""Templates, policies and the tenant are administered over HTTP, and the second tenant meets nothing of it."""

from collections.abc import Iterator, Mapping
from uuid import uuid4

import httpx2
import pytest

from tests.services import ADA, ADA_MAIL, API, COLLAB, TLS, ZOE_MAIL, Installation, Service

CONFIG = f"{API}/admin/Config.ReadWrite.All"
TEMPLATES, POLICIES = "/admin/collab/v1/templates/", "/admin/collab/v1/policies/"
OFFERED, TENANT = "/collab/v1/templates/", "/admin/v1/tenant/"
STAFF = "94000000-0000-4000-8000-000000000001"
HOOK = "https://hooks.estate.example/chamberlain"


def send(
    service: Service,
    method: str,
    path: str,
    body: Mapping[str, object] | None = None,
    *,
    who: str = ADA_MAIL,
    scope: str = CONFIG,
    **headers: str,
) -> httpx2.Response:
    """One call, as an administrator unless something else is said."""
    return httpx2.request(
        method,
        f"{service.url}{path}",
        json=body,
        headers={**service.headers(who, scope), **headers},
        timeout=30,
        verify=TLS,
    )


@pytest.fixture
def created(installation: Installation) -> Iterator[dict[str, dict[str, object]]]:
    """A guest template, a policy, and a template of groups that names both; they are gone behind the test."""
    service = installation.one
    name = f"made-{uuid4().hex[:8]}"
    guest = {"kind": "guest", "name": name, "guests": {"allowed": False}, "sharingCapability": "disabled"}
    policy = {"name": name, "expiry": {"afterDays": 30, "reminderDays": [7], "action": "remove"}}
    found = {"guest": send(service, "POST", TEMPLATES, guest), "policy": send(service, "POST", POLICIES, policy)}
    group = {
        "kind": "group",
        "name": name,
        "audience": {"groups": [STAFF]},
        "naming": {"displayName": "PRJ-{input}"},
        "guestTemplateId": found["guest"].json()["id"],
        "guestPolicyId": found["policy"].json()["id"],
        "webhook": {"url": HOOK},
    }
    found["group"] = send(service, "POST", TEMPLATES, group, **{"Idempotency-Key": name})
    assert [answer.status_code for answer in found.values()] == [201] * 3, [each.text for each in found.values()]
    yield {each: answer.json() for each, answer in found.items()}
    for place, each in ((TEMPLATES, "group"), (TEMPLATES, "guest"), (POLICIES, "policy")):
        send(service, "DELETE", f"{place}{found[each].json()['id']}/")


def test_it_works(installation: Installation, created: dict[str, dict[str, object]]) -> None:
    other, template = installation.other, str(created["group"]["id"])

    offered = send(other, "GET", f"{OFFERED}?limit=200", scope=COLLAB).json()["items"]
    accepted = other.post_group({"displayName": "Apollo", "templateId": template})
    group = other.wait_for_group(accepted.json()["requestId"])

    assert [each["kind"] for each in offered if each["id"] == template] == ["group"]
    assert not [each for each in offered if each["id"] == created["guest"]["id"]]
    assert group["displayName"] == "PRJ-Apollo"


def test_a_change_holds_at_the_other_process_at_once(
    installation: Installation, created: dict[str, dict[str, object]]
) -> None:
    one, other = installation.one, installation.other
    path = f"{TEMPLATES}{created['group']['id']}/"
    first = send(one, "GET", path)

    put = send(one, "PUT", path, {**first.json(), "active": False}, **{"If-Match": first.headers["etag"]})
    stale = send(other, "PUT", path, first.json(), **{"If-Match": first.headers["etag"]})
    refused = other.post_group({"displayName": "Apollo", "templateId": str(created["group"]["id"])})

    assert (put.status_code, stale.status_code) == (200, 412)
    assert [fault["code"] for fault in refused.json()["errors"]] == ["templateInactive"]


def test_a_secret_is_shown_once_and_stays(installation: Installation, created: dict[str, dict[str, object]]) -> None:
    service, name = installation.one, str(created["group"]["name"])
    webhook = created["group"]["webhook"]
    assert isinstance(webhook, dict)
    path = f"{TEMPLATES}{created['group']['id']}/"

    replayed = send(
        service,
        "POST",
        TEMPLATES,
        {
            "kind": "group",
            "name": name,
            "audience": {"groups": [STAFF]},
            "naming": {"displayName": "PRJ-{input}"},
            "guestTemplateId": created["guest"]["id"],
            "guestPolicyId": created["policy"]["id"],
            "webhook": {"url": HOOK},
        },
        **{"Idempotency-Key": name},
    )
    read = send(service, "GET", path).json()
    put = send(service, "PUT", path, read).json()

    assert webhook["secret"].startswith("whsec_")
    assert (replayed.status_code, replayed.headers["idempotency-replayed"]) == (201, "true")
    for shown in (replayed.json(), read, put):
        assert shown["webhook"] == {"url": HOOK, "active": True, "hasSecret": True, "disabledReason": None}


def test_it_rejects_to_delete_what_a_template_names(
    installation: Installation, created: dict[str, dict[str, object]]
) -> None:
    guest = send(installation.one, "DELETE", f"{TEMPLATES}{created['guest']['id']}/")
    policy = send(installation.one, "DELETE", f"{POLICIES}{created['policy']['id']}/")

    for refused in (guest, policy):
        assert (refused.status_code, refused.json()["code"]) == (409, "inUse")
        assert refused.json()["conflictingId"] == created["group"]["id"]


def test_it_rejects_what_is_not_there(installation: Installation) -> None:
    nothing = str(uuid4())
    body = {
        "kind": "team",
        "name": "Nothing",
        "owners": [ADA, nothing],
        "audience": {"groups": [nothing]},
        "membershipRule": "everybody",
        "guestTemplateId": nothing,
    }

    refused = send(installation.one, "POST", TEMPLATES, body)

    assert refused.status_code == 422
    assert {(fault["pointer"], fault["code"]) for fault in refused.json()["errors"]} == {
        ("/owners/1", "userUnknown"),
        ("/audience/groups/0", "groupUnknown"),
        ("/membershipRule", "ruleInvalid"),
        ("/guestTemplateId", "templateUnknown"),
    }


def test_to_manage_is_not_to_configure(installation: Installation) -> None:
    scope = f"{API}/.default"

    answers = [
        send(installation.one, "GET", path, who="automation", scope=scope) for path in (TEMPLATES, POLICIES, TENANT)
    ]
    offered = send(installation.one, "GET", OFFERED, who="automation", scope=scope)

    assert [answer.json()["code"] for answer in answers] == ["insufficientScope"] * 3
    assert offered.json()["code"] == "applicationNotSupported"


def test_the_tenant_is_changed_and_put_back_and_is_never_without_an_administrator(installation: Installation) -> None:
    one, other = installation.one, installation.other
    first = send(one, "GET", TENANT)
    nobody = {**first.json(), "administrators": {"users": [], "groups": []}}

    refused = send(one, "PUT", TENANT, nobody)
    put = send(one, "PUT", TENANT, {**first.json(), "name": "The Estate", "repair": {"drift": True}})
    seen = send(other, "GET", TENANT)
    back = send(other, "PUT", TENANT, first.json(), **{"If-Match": seen.headers["etag"]})

    assert [(fault["pointer"], fault["code"]) for fault in refused.json()["errors"]] == [
        ("/administrators", "noAdministrator")
    ]
    assert (put.status_code, seen.json()["name"], seen.json()["repair"]) == (
        200,
        "The Estate",
        {"drift": True, "properties": {}},
    )
    # The embedded identity platform of each process has its own port.
    differing = {"updatedAt": None, "issuers": None}
    assert {**back.json(), **differing} == {**first.json(), **differing}
    assert first.json()["issuers"][0]["issuer"].endswith(f"/identity/{first.json()['id']}/v2.0")


def test_the_second_tenant_meets_nothing_of_it(
    installation: Installation, created: dict[str, dict[str, object]]
) -> None:
    service = installation.one
    ids = [str(each["id"]) for each in created.values()]

    lists = [send(service, "GET", f"{path}?limit=200", who=ZOE_MAIL) for path in (TEMPLATES, POLICIES)]
    lists.append(send(service, "GET", OFFERED, who=ZOE_MAIL, scope=COLLAB))
    lists.append(send(service, "GET", TENANT, who=ZOE_MAIL))
    paths = [f"{place}{each}/" for place in (TEMPLATES, POLICIES) for each in ids]
    crossed = [send(service, method, path, who=ZOE_MAIL) for path in paths for method in ("GET", "DELETE")]
    naming = send(
        service,
        "POST",
        TEMPLATES,
        {
            "kind": "group",
            "name": "Mine",
            "guestTemplateId": created["guest"]["id"],
            "guestPolicyId": created["policy"]["id"],
        },
        who=ZOE_MAIL,
    )

    assert [answer.status_code for answer in lists] == [200] * 4
    assert not [each for each in (*ids, ADA, HOOK) for answer in lists if each in answer.text]
    assert {answer.status_code for answer in crossed} == {404}
    assert [fault["code"] for fault in naming.json()["errors"]] == ["templateUnknown", "policyUnknown"]
