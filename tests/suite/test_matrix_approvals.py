# SPDX-License-Identifier: Apache-2.0
"""Approvers of a tenant with an open suite decide in Matrix, as an ordinary client of theirs."""

from urllib.parse import quote
from uuid import uuid4

from deploy.suite.folder import Suite
from tests.services import APPROVED_TEMPLATE, wait_until
from tests.suite.matrix_client import Json, MatrixClient
from tests.suite.suite_requests import WITHIN, SuiteRequests, unique


def ask(requests: SuiteRequests) -> str:
    """Request a team that Dara approves, and return the id of the request."""
    answer = requests.service.post_group({"displayName": unique("Takeover"), "templateId": APPROVED_TEMPLATE})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["requestId"])


def state(requests: SuiteRequests, request_id: str) -> str:
    return str(requests.service.request(request_id)["state"])


def question(dara: MatrixClient, request_id: str) -> tuple[str, str] | None:
    """The room and the id of the message about a request."""
    for room in dara.rooms():
        answer = dara.call("GET", f"/v3/rooms/{quote(room, safe='')}/messages?dir=b&limit=50")
        for event in answer.json().get("chunk", []):
            if event["type"] == "m.room.message" and request_id in str(event["content"].get("body")):
                return room, str(event["event_id"])
    return None


def wait_for_question(dara: MatrixClient, request_id: str) -> tuple[str, str]:
    found = wait_until(lambda: question(dara, request_id), WITHIN)
    assert found is not None
    return found


def send(client: MatrixClient, room: str, type_: str, content: Json) -> None:
    path = f"/v3/rooms/{quote(room, safe='')}/send/{type_}/{uuid4().hex}"
    answer = client.call("PUT", path, content)
    assert answer.status_code == 200, answer.text


def test_it_works(suite: Suite, requests: SuiteRequests) -> None:
    dara, request_id = MatrixClient.sign_in(suite, "dara"), ask(requests)
    room, event = wait_for_question(dara, request_id)

    relation = {"rel_type": "m.annotation", "event_id": event, "key": "\N{WHITE HEAVY CHECK MARK}"}
    send(dara, room, "m.reaction", {"m.relates_to": relation})

    wait_until(lambda: state(requests, request_id) not in {"pendingApproval", "rejected"}, WITHIN)


def test_a_reply_rejects(suite: Suite, requests: SuiteRequests) -> None:
    dara, request_id = MatrixClient.sign_in(suite, "dara"), ask(requests)
    room, event = wait_for_question(dara, request_id)

    reply = {"msgtype": "m.text", "body": "reject: not now", "m.relates_to": {"m.in_reply_to": {"event_id": event}}}
    send(dara, room, "m.room.message", reply)

    wait_until(lambda: state(requests, request_id) == "rejected", WITHIN)
