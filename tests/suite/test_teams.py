# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from deploy.suite.folder import Suite
from tests.services import ADA_MAIL, BEN, TEAM_TEMPLATE, Service
from tests.suite.matrix_client import Json, MatrixClient
from tests.suite.suite_directory import SuiteDirectory
from tests.suite.suite_requests import WITHIN, SuiteRequests


@pytest.fixture
def team(requests: SuiteRequests) -> Json:
    """A team of Ada, its owner, and Ben."""
    return requests.group(TEAM_TEMPLATE, "Crew", members=[BEN])


@pytest.fixture
def space(team: Json, directory: SuiteDirectory) -> str:
    """The id of the team's space."""
    return directory.one(f"(entryUUID={team['id']})")["chamberlainRoom"][0]


def channels(member: MatrixClient, space: str) -> dict[str, str]:
    return {room: name for room, name in member.hierarchy(space).items() if room != space}


def test_it_works_for_a_member(suite: Suite, space: str) -> None:
    ben = MatrixClient.sign_in(suite, "ben")

    found = channels(ben, space)

    assert set(found.values()) == {"General", "Planning"}
    # Without an invitation to accept.
    assert {space, *found} <= ben.rooms()
    assert all(ben.say(channel, "Hello.") == 200 for channel in found)


def test_owners_administer_and_members_do_not_invite(suite: Suite, space: str) -> None:
    ada, ben = MatrixClient.sign_in(suite, "ada"), MatrixClient.sign_in(suite, "ben")

    assert ada.power(space, "ada") == 100
    assert ben.power(space, "ben") < 50
    assert ben.invite(space, "cleo").status_code == 403


def test_an_outsider_sees_nothing(suite: Suite, space: str) -> None:
    dara = MatrixClient.sign_in(suite, "dara")

    assert dara.say(space, "Hello.") == 403
    assert space not in dara.rooms()


def test_a_guest_comes_in_and_leaves_by_rule(
    suite: Suite, suite_service: Service, team: Json, space: str, directory: SuiteDirectory
) -> None:
    ada, gil = MatrixClient.sign_in(suite, "ada"), MatrixClient.sign_in(suite, "gil")
    rooms = [space, *channels(ada, space)]
    for room in rooms:
        assert ada.invite(room, "gil").status_code == 200
        assert gil.call("POST", f"/v3/rooms/{room}/join", {}).status_code == 200
    entry = directory.one(f"(entryUUID={team['id']})")
    guest = directory.one("(uid=gil)")["dn"][0]
    directory.replace(entry["dn"][0], "member", *entry["member"], guest)
    assert gil.say(rooms[1], "Hello.") == 200

    token = suite_service.token(ADA_MAIL, "https://api.estate.example/.default")
    signed_in = {**suite_service.environment, "CHAMBERLAIN_TOKEN": token}
    command = ("group", "assign", str(team["id"]), "--template", "No guests", "--wait", "--timeout", str(int(WITHIN)))
    replace(suite_service, environment=signed_in).run(*command)

    # The template keeps guests who are members already; an owner removes them.
    assert guest in directory.one(f"(entryUUID={team['id']})")["member"]
    assert ada.call("POST", f"/v3/rooms/{space}/kick", {"user_id": "@gil:estate.example"}).status_code == 200
    assert ada.invite(space, "gil").status_code == 403
