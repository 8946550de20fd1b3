# SPDX-License-Identifier: Apache-2.0
"""Approvers of a tenant with an open suite decide in Matrix, as an ordinary client of theirs."""

import itertools
from urllib.parse import quote
from uuid import uuid4

import httpx2

from chamberlain.directory.opensuite.matrix import Homeserver, Matrix
from deploy.suite.folder import DOMAIN, Suite
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


def test_others_and_edits_decide_nothing(suite: Suite, requests: SuiteRequests) -> None:
    dara, cleo, request_id = MatrixClient.sign_in(suite, "dara"), MatrixClient.sign_in(suite, "cleo"), ask(requests)
    room, event = wait_for_question(dara, request_id)
    assert dara.invite(room, "cleo").status_code == 200
    assert cleo.call("POST", f"/v3/rooms/{quote(room, safe='')}/join", {}).status_code == 200

    relation = {"rel_type": "m.annotation", "event_id": event, "key": "\N{WHITE HEAVY CHECK MARK}"}
    send(cleo, room, "m.reaction", {"m.relates_to": relation})
    replied = {"m.in_reply_to": {"event_id": event}}
    send(cleo, room, "m.room.message", {"msgtype": "m.text", "body": "approve", "m.relates_to": replied})
    edit = {"rel_type": "m.replace", "event_id": event}
    send(dara, room, "m.room.message", {"msgtype": "m.text", "body": "* approve", "m.relates_to": edit})
    send(dara, room, "m.room.message", {"msgtype": "m.text", "body": "approve"})
    send(dara, room, "m.room.message", {"msgtype": "m.text", "body": "reject: mine", "m.relates_to": replied})

    # The events before it were read with it, in their order.
    wait_until(lambda: state(requests, request_id) == "rejected", WITHIN)


async def test_each_message_is_read_once_and_in_order(suite: Suite) -> None:
    name, text = "chamberlain-reading", itertools.count()
    async with httpx2.AsyncClient(timeout=30) as client:
        server = Homeserver(suite.url("MATRIX"), DOMAIN, suite.values["APPSERVICE_TOKEN"])
        bot, other = Matrix(client, server, name), Matrix(client, server, "cleo")
        for each in (name, "cleo"):
            await bot.register(each)
        room = await bot.create_room({"preset": "trusted_private_chat"})
        await bot.invite(room, "cleo")
        await bot.join(room, "cleo")

        async def say() -> str:
            content = {"msgtype": "m.text", "body": str(next(text))}
            return await other.send(room, "m.room.message", uuid4().hex, content)

        async def read(since: str | None) -> tuple[list[str], str]:
            found, after = await bot.receive({"m.room.message"}, since, 2)
            return [event.event_id for event in found.get(room, ())], after

        sent = [await say() for _ in range(3)]
        latest, position = await read(None)
        more = [await say() for _ in range(7)]
        await bot.send(room, "m.room.message", uuid4().hex, {"msgtype": "m.text", "body": "own"})
        later, after = await read(position)

        assert latest == sent[-2:]
        assert later == more
        assert await read(after) == ([], after)
        # A position of another homeserver. Synapse repeats the first answer for two minutes.
        again, position = await read("unknown")
        assert again == latest
        assert (await read(position))[0] == more


def test_a_reply_rejects(suite: Suite, requests: SuiteRequests) -> None:
    dara, request_id = MatrixClient.sign_in(suite, "dara"), ask(requests)
    room, event = wait_for_question(dara, request_id)

    reply = {"msgtype": "m.text", "body": "reject: not now", "m.relates_to": {"m.in_reply_to": {"event_id": event}}}
    send(dara, room, "m.room.message", reply)

    wait_until(lambda: state(requests, request_id) == "rejected", WITHIN)
