# SPDX-License-Identifier: Apache-2.0
"""Webhooks are administered over HTTP, and neither the second tenant nor anybody else meets a secret of them."""

from collections.abc import Iterator, Mapping
from uuid import uuid4

import httpx2
import pytest

from tests.service.estate import HOUSE_MAILBOX, HOUSE_TEMPLATE
from tests.services import ADA_MAIL, API, COLLAB, TLS, ZOE_MAIL, Installation, Service, wait_until

CONFIG = f"{API}/admin/Config.ReadWrite.All"
GROUPS, MAILBOXES = "/admin/collab/v1/templates/", "/admin/mail/v1/templates/"
DELIVERIES, SPAN = "/admin/v1/deliveries/", "/admin/v1/deliveries/redeliver/"
EVER = {"from": "2020-01-01T00:00:00Z", "to": "2100-01-01T00:00:00Z"}
# No receiver is called here: the operator of these services allows no address of this machine.
HOOK = {"url": "https://127.0.0.1:9/chamberlain"}


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
    headers = {**service.headers(who, scope), **headers}
    return httpx2.request(method, f"{service.url}{path}", json=body, headers=headers, timeout=30, verify=TLS)


@pytest.fixture
def webhook_templates(installation: Installation) -> Iterator[list[dict[str, object]]]:
    """A template of groups and one of mailboxes, each with a webhook; they are gone behind the test."""
    name = f"hooked-{uuid4().hex[:8]}"
    made = [
        send(installation.one, "POST", GROUPS, {"kind": "group", "name": name, "webhook": HOOK}),
        send(installation.one, "POST", MAILBOXES, {"kind": "room", "name": name, "webhook": HOOK}),
    ]
    assert [answer.status_code for answer in made] == [201] * 2, [answer.text for answer in made]
    group, mailbox = [answer.json() for answer in made]
    yield [{**group, "path": f"{GROUPS}{group['id']}/"}, {**mailbox, "path": f"{MAILBOXES}{mailbox['id']}/"}]
    for path in (f"{GROUPS}{group['id']}/", f"{MAILBOXES}{mailbox['id']}/"):
        send(installation.one, "DELETE", path)


def delivered(service: Service, template_id: object) -> list[dict[str, object]]:
    """The deliveries of a template, once each has been attempted."""

    def find() -> list[dict[str, object]]:
        found: list[dict[str, object]] = send(service, "GET", f"{DELIVERIES}?templateId={template_id}").json()["items"]
        return found if found and all(each["attempts"] for each in found) else []

    return wait_until(find, 20, service.said)


def test_it_works(installation: Installation, webhook_templates: list[dict[str, object]]) -> None:
    one, other = installation.one, installation.other
    group = webhook_templates[0]

    accepted = one.post_group({"displayName": "Hooked", "templateId": str(group["id"])}).json()
    one.wait_for_end(accepted["requestId"])
    (delivery,) = delivered(other, group["id"])
    by_request = send(other, "GET", f"{DELIVERIES}?requestId={accepted['requestId']}").json()
    again = send(one, "POST", f"{DELIVERIES}{delivery['id']}/redeliver/")
    # Deliveries in progress at this very moment are left out of a span.
    wait_until(lambda: delivered(other, group["id"])[0]["attempts"] != delivery["attempts"], 20, one.said)
    span = send(one, "POST", SPAN, {**EVER, "templateId": group["id"]})

    assert (delivery["type"], delivery["state"], delivery["url"]) == ("group.created", "pending", HOOK["url"])
    assert [each["id"] for each in by_request["items"]] == [delivery["id"]]
    assert (again.status_code, again.json()["state"]) == (200, "pending")
    assert (span.status_code, span.json()) == (202, {"count": 1})


def test_a_refused_address_reads_the_same_in_a_test_call_and_in_the_log(
    installation: Installation, webhook_templates: list[dict[str, object]]
) -> None:
    group = webhook_templates[0]
    accepted = installation.one.post_group({"displayName": "Refused", "templateId": str(group["id"])}).json()
    installation.one.wait_for_end(accepted["requestId"])

    tested = [send(installation.one, "POST", f"{each['path']}webhook/test/").json() for each in webhook_templates]
    (delivery,) = delivered(installation.one, group["id"])

    attempts = delivery["attempts"]
    assert isinstance(attempts, list)
    errors = {each["error"] for each in (*tested, *attempts)}
    assert len(errors) == 1
    assert [each["status"] for each in tested] == [None, None]


def test_a_secret_is_in_the_one_answer_that_shows_it(
    installation: Installation, webhook_templates: list[dict[str, object]]
) -> None:
    one, other = installation.one, installation.other
    shown: list[str] = []
    for each in webhook_templates:
        webhook = each["webhook"]
        assert isinstance(webhook, dict)
        rotated = send(one, "POST", f"{each['path']}webhook/rotate/", None, **{"Idempotency-Key": str(each["id"])})
        replayed = send(other, "POST", f"{each['path']}webhook/rotate/", None, **{"Idempotency-Key": str(each["id"])})
        send(one, "POST", f"{each['path']}webhook/test/")
        shown += [webhook["secret"], rotated.json()["secret"]]
        assert (replayed.status_code, replayed.headers["idempotency-replayed"]) == (200, "true")
        assert "secret" not in replayed.json()

    read = [send(other, "GET", str(each["path"])).text for each in webhook_templates]
    lists = [send(other, "GET", path).text for path in (GROUPS, MAILBOXES, DELIVERIES, "/admin/v1/events/")]
    trail = send(other, "GET", "/admin/v1/audit/", accept="application/x-ndjson").text

    assert len(set(shown)) == 4
    assert all(secret.startswith("whsec_") for secret in shown)
    assert '"webhook.rotate"' in trail
    assert '"webhook.test"' in trail
    told = "\n".join((*read, *lists, trail, one.said(), other.said()))
    for secret in shown:
        assert secret not in told
        assert secret.removeprefix("whsec_") not in told


def test_the_second_tenant_meets_nothing_of_it(
    installation: Installation, webhook_templates: list[dict[str, object]]
) -> None:
    service = installation.one
    group = webhook_templates[0]
    accepted = service.post_group({"displayName": "Ours", "templateId": str(group["id"])}).json()
    service.wait_for_end(accepted["requestId"])
    (ours,) = delivered(service, group["id"])

    queries = ("", f"?templateId={group['id']}", f"?requestId={accepted['requestId']}", "?state=pending")
    lists = [send(service, "GET", f"{DELIVERIES}{query}", who=ZOE_MAIL) for query in queries]
    crossed = [
        send(service, "POST", path, who=ZOE_MAIL)
        for path in (
            f"{DELIVERIES}{ours['id']}/redeliver/",
            *(f"{each['path']}webhook/{verb}/" for each in webhook_templates for verb in ("rotate", "test")),
        )
    ]
    # And the other way: what is theirs is nothing to us.
    crossed += [
        send(service, "POST", f"{path}{template}/webhook/{verb}/")
        for path, template in ((GROUPS, HOUSE_TEMPLATE), (MAILBOXES, HOUSE_MAILBOX))
        for verb in ("rotate", "test")
    ]
    named = send(service, "POST", SPAN, {**EVER, "templateId": group["id"]}, who=ZOE_MAIL)
    span = send(service, "POST", SPAN, EVER, who=ZOE_MAIL)

    assert [answer.json()["items"] for answer in lists] == [[]] * len(queries)
    assert {answer.status_code for answer in crossed} == {404}
    assert [fault["code"] for fault in named.json()["errors"]] == ["templateUnknown"]
    assert (span.status_code, span.json()) == (202, {"count": 0})
    (unchanged,) = delivered(service, group["id"])
    assert unchanged["id"] == ours["id"]


def test_to_manage_is_not_to_configure(installation: Installation, webhook_templates: list[dict[str, object]]) -> None:
    scope = f"{API}/.default"
    service = installation.one

    answers = [send(service, "GET", DELIVERIES, who="automation", scope=scope)]
    for path in (
        SPAN,
        *(f"{each['path']}webhook/{verb}/" for each in webhook_templates for verb in ("rotate", "test")),
    ):
        body = EVER if path == SPAN else None
        answers.append(send(service, "POST", path, body, who="automation", scope=scope))
        answers.append(send(service, "POST", path, body, scope=COLLAB))

    assert {answer.json()["code"] for answer in answers} == {"insufficientScope"}
