# SPDX-License-Identifier: Apache-2.0
"""The inspection after kills finds what is lost, double or incomplete."""

from uuid import uuid4

import httpx2

from deploy.suite.folder import DOMAIN, Suite
from deploy.suite.servers import Starter
from tests.suite.mail_client import MailClient
from tests.suite.suite_directory import SuiteDirectory
from tests.suite.suite_inspection import Findings, Room, read_rooms
from tests.suite.suite_kills import RunningSuite, running_suite


def test_it_finds_faults_of_a_mailbox(suite: Suite, starter: Starter) -> None:
    mail = MailClient(suite)
    with running_suite(suite, starter) as running, SuiteDirectory(suite) as directory:
        running.send(mailboxes=1, teams=0)
        assert (running.wait_for_ends(), running.inspect()) == ([], Findings())
        [wanted] = running.wanted
        entry = directory.one(f"(chamberlainRequestId={wanted.request_id})")
        name, dn = entry["uid"][0], entry["dn"][0]

        mail.administer("mailboxUnsubscribe", user="ben", mailbox=[f"shared/{name}"])
        counts = [count_incomplete(running)]
        mail.administer("sieveDeactivate", user=name)
        counts.append(count_incomplete(running))
        directory.replace(dn, "chamberlainSendAs")
        counts.append(count_incomplete(running))
        # Without rights, it is not listed either.
        mail.administer("aclDelete", user=name, mailbox="INBOX", id="user=ben")
        counts.append(count_incomplete(running))
        double_dn = f"uid={uuid4().hex},ou=mailboxes,{suite.base}"
        directory.add(double_dn, {"objectClass": "inetOrgPerson", "cn": "D", "sn": "D", "displayName": wanted.name})
        double = running.inspect().double
        directory.delete(double_dn)
        directory.delete(dn)

        assert counts == [1, 2, 3, 5]
        assert double == [wanted.name]
        assert running.inspect().lost == [wanted.name]


def test_it_finds_faults_of_a_team(suite: Suite, starter: Starter) -> None:
    with running_suite(suite, starter) as running:
        running.send(mailboxes=0, teams=1)
        assert (running.wait_for_ends(), running.inspect()) == ([], Findings())
        [wanted] = running.wanted
        [space] = [room for room in read_rooms(suite) if room.name == wanted.name]
        [channel, other] = [room for room in read_rooms(suite) if space.id in room.keys("m.space.parent")]

        call(suite, "POST", f"/rooms/{channel.id}/kick", {"user_id": f"@ben:{DOMAIN}"})
        without_member = count_incomplete(running)
        levels = next(content for (kind, _), content in other.state.items() if kind == "m.room.power_levels")
        call(suite, "PUT", f"/rooms/{other.id}/state/m.room.power_levels/", {**levels, "users": without_ada(other)})
        without_owner = count_incomplete(running)
        call(suite, "PUT", f"/rooms/{space.id}/state/m.space.child/{other.id}", {})
        without_channel = running.inspect()
        call(suite, "POST", "/createRoom", {"name": wanted.name, "creation_content": {"type": "m.space"}})

        assert (without_member, without_owner, len(without_channel.incomplete)) == (1, 2, 3)
        # The channel belongs to no space now.
        assert len(without_channel.double) == 1
        assert count_incomplete(running) == 4
        assert len(running.inspect().double) == 2


def count_incomplete(running: RunningSuite) -> int:
    """Return the number of what is incomplete."""
    return len(running.inspect().incomplete)


def without_ada(room: Room) -> dict[str, int]:
    """Return the levels of the users of a room, but for Ada."""
    levels = room.state["m.room.power_levels", ""]["users"]
    return {user: level for user, level in levels.items() if user != f"@ada:{DOMAIN}"}


def call(suite: Suite, method: str, path: str, body: dict[str, object]) -> None:
    """Call Synapse as the bot."""
    answer = httpx2.request(
        method,
        f"{suite.url('MATRIX')}/_matrix/client/v3{path}",
        json=body,
        headers={"Authorization": f"Bearer {suite.values['APPSERVICE_TOKEN']}"},
        timeout=60,
    )
    assert answer.status_code == 200, answer.text
