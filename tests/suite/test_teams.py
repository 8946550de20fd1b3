# SPDX-License-Identifier: Apache-2.0

import pytest

from deploy.suite.folder import Suite
from tests.services import BEN, TEAM_TEMPLATE
from tests.suite.matrix_client import Json, MatrixClient
from tests.suite.suite_directory import SuiteDirectory
from tests.suite.suite_requests import SuiteRequests


@pytest.fixture(scope="module")
def team(requests: SuiteRequests) -> Json:
    """A team of Ada, its owner, and Ben."""
    return requests.group(TEAM_TEMPLATE, "Crew", members=[BEN])


@pytest.fixture(scope="module")
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
