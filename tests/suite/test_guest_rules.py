# SPDX-License-Identifier: Apache-2.0
"""Guests of a team: they come in, are restricted and leave, as their own Matrix client and their colleagues' show."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from deploy.suite.folder import DOMAIN, Suite
from deploy.suite.people import password_of
from tests.services import BEN, TEAM_TEMPLATE, wait_until
from tests.suite.matrix_client import Json, MatrixClient
from tests.suite.suite_directory import SuiteDirectory
from tests.suite.suite_requests import ADMINISTER, WITHIN, SuiteRequests

# A template with domains.
PARTNERS = "7e000000-0000-4000-8000-000000000022"
# A guest whose time is over, and a policy that looks now.
TIME_IS_OVER = (
    "UPDATE chamberlain.policy_clock SET action_at = now(), next_at = now()",
    "UPDATE chamberlain.subject SET policy_digest = NULL, policy_quiet_until = NULL",
    "UPDATE chamberlain.job SET run_at = now() WHERE kind = 'policyEvaluate'",
)


@pytest.fixture
def guest(directory: SuiteDirectory) -> Iterator[Json]:
    """A guest of the tenant, with an account."""
    name = f"guest-{uuid4().hex[:8]}"
    dn = f"uid={name},ou=guests,{directory.suite.base}"
    values = {"cn": name, "sn": name, "displayName": name, "mail": f"{name}@partner.example"}
    account = {"uid": name, "employeeType": "Guest", "userPassword": password_of(name)}
    directory.add(dn, {"objectClass": "inetOrgPerson", **values, **account})
    yield {"name": name, "dn": dn, "id": directory.one(f"(uid={name})")["entryUUID"][0]}
    directory.delete(dn)


@pytest.fixture
def team(requests: SuiteRequests, guest: Json) -> Json:
    """A team of Ada, its owner, with Ben and a guest."""
    return requests.group(TEAM_TEMPLATE, "Partners", members=[BEN, guest["id"]])


def rooms_of(suite: Suite, team: Json, directory: SuiteDirectory) -> list[str]:
    """The space of a team and its channels, as Ada sees them."""
    space = directory.one(f"(entryUUID={team['id']})")["chamberlainRoom"][0]
    return list(MatrixClient.sign_in(suite, "ada").hierarchy(space))


def members_of(team: Json, directory: SuiteDirectory) -> list[str]:
    return directory.one(f"(entryUUID={team['id']})")["member"]


def test_a_guest_comes_in_with_the_team_and_leaves_by_a_template(
    suite: Suite, requests: SuiteRequests, team: Json, guest: Json, directory: SuiteDirectory
) -> None:
    rooms = rooms_of(suite, team, directory)
    client, ben = MatrixClient.sign_in(suite, guest["name"]), MatrixClient.sign_in(suite, "ben")
    assert set(rooms) <= client.rooms()
    assert [client.say(room, "Hello.") for room in rooms[1:]] == [200, 200]

    template = requests.guest_template(guests={"allowed": False}, presentGuests="remove")
    shown = requests.assign(team, templateId=template)

    assert [step["state"] for step in shown["effects"]] == ["succeeded"] * 3
    assert client.rooms().isdisjoint(rooms)
    assert [client.say(room, "Hello.") for room in rooms[1:]] == [403, 403]
    assert guest["dn"] not in members_of(team, directory)
    assert [ben.say(room, "Hello.") for room in rooms[1:]] == [200, 200]
    assert MatrixClient.sign_in(suite, "ada").invite(rooms[0], guest["name"]).status_code == 403


def test_a_guest_whose_time_is_over_is_removed(
    suite: Suite, requests: SuiteRequests, team: Json, guest: Json, directory: SuiteDirectory
) -> None:
    rooms, client = rooms_of(suite, team, directory), MatrixClient.sign_in(suite, guest["name"])
    expire(requests, team, action="remove")

    wait_until(lambda: client.rooms().isdisjoint(rooms), WITHIN)

    assert guest["dn"] not in members_of(team, directory)
    assert client.say(rooms[1], "Hello.") == 403


def test_a_guest_whose_time_is_over_is_disabled(suite: Suite, requests: SuiteRequests, team: Json, guest: Json) -> None:
    assert MatrixClient.may_sign_in(suite, guest["name"])
    expire(requests, team, action="disable")

    wait_until(lambda: not MatrixClient.may_sign_in(suite, guest["name"]), WITHIN)


def expire(requests: SuiteRequests, team: Json, *, action: str) -> None:
    """Assign a policy, and let a day pass."""
    policy = {"name": f"A day {uuid4().hex[:8]}", "expiry": {"afterDays": 1, "action": action}}
    policy_id = requests.administer("POST", "/admin/collab/v1/policies/", policy)["id"]
    requests.assign(team, policyId=policy_id)

    def clocks() -> bool:
        return requests.count("SELECT count(*) FROM chamberlain.policy_clock WHERE policy_id = $1", policy_id) == 1

    wait_until(clocks, WITHIN)
    requests.execute(*TIME_IS_OVER)


@pytest.fixture(scope="module")
def shared_team(requests: SuiteRequests) -> Json:
    """A team of Ada and Ben, whose rules the tests assign one after another."""
    return requests.group(TEAM_TEMPLATE, "Crew", members=[BEN])


@pytest.mark.parametrize(
    ("rules", "statuses"),
    [
        ({"allowed": True, "addedBy": "members"}, (200, 200)),
        ({"allowed": True, "addedBy": "owners"}, (200, 403)),
        ({"allowed": True, "addedBy": "administrators"}, (403, 403)),
        ({"allowed": False}, (403, 403)),
    ],
    ids=["members", "owners", "administrators", "none"],
)
def test_an_assignment_decides_who_invites(
    suite: Suite,
    requests: SuiteRequests,
    shared_team: Json,
    directory: SuiteDirectory,
    *,
    rules: Json,
    statuses: tuple[int, int],
) -> None:
    """The statuses are those of an owner and of a member."""
    space, channel, *_ = rooms_of(suite, shared_team, directory)

    requests.assign(shared_team, templateId=requests.guest_template(guests=rules))

    for name, status in zip(("ada", "ben"), statuses, strict=True):
        client = MatrixClient.sign_in(suite, name)
        for room in (space, channel):
            assert client.invite(room, f"new-{uuid4().hex[:8]}").status_code == status, (name, room)


def test_without_guests_no_other_server_takes_part(
    suite: Suite, requests: SuiteRequests, shared_team: Json, directory: SuiteDirectory
) -> None:
    requests.assign(shared_team, templateId=requests.guest_template(guests={"allowed": False}))

    ada = MatrixClient.sign_in(suite, "ada")
    for room in rooms_of(suite, shared_team, directory):
        acl = ada.call("GET", f"/v3/rooms/{room}/state/m.room.server_acl/").json()
        assert acl["allow"] == [DOMAIN]


def test_domains_are_refused(requests: SuiteRequests, shared_team: Json) -> None:
    """The servers do not enforce those of guests with an account here."""
    answer = requests.send(
        "PATCH",
        f"/admin/collab/v1/manage/groups/{shared_team['id']}/",
        {"templateId": PARTNERS},
        scope=ADMINISTER,
    )

    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert (error["pointer"], error["code"]) == ("/templateId", "guestDomainsNotSupported")


def test_a_guest_whom_an_owner_invites_leaves_by_a_template(
    suite: Suite, requests: SuiteRequests, shared_team: Json, directory: SuiteDirectory, guest: Json
) -> None:
    requests.assign(shared_team, templateId=requests.guest_template(guests={"allowed": True, "addedBy": "owners"}))
    rooms, client = rooms_of(suite, shared_team, directory), MatrixClient.sign_in(suite, guest["name"])
    assert MatrixClient.sign_in(suite, "ada").invite(rooms[0], guest["name"]).status_code == 200
    # Users of a space may enter its channels.
    for room in rooms:
        assert client.call("POST", f"/v3/rooms/{room}/join", {}).status_code == 200
    assert client.say(rooms[1], "Hello.") == 200

    template = requests.guest_template(guests={"allowed": False}, presentGuests="remove")
    requests.assign(shared_team, templateId=template)

    assert client.rooms().isdisjoint(rooms)
    assert client.call("POST", f"/v3/rooms/{rooms[1]}/join", {}).status_code == 403


@pytest.mark.parametrize("by_hand", ["Matrix", "LDAP"])
def test_rules_that_are_changed_by_hand_are_found_and_repaired(
    suite: Suite, requests: SuiteRequests, shared_team: Json, directory: SuiteDirectory, by_hand: str
) -> None:
    requests.assign(shared_team, templateId=requests.guest_template(guests={"allowed": True, "addedBy": "owners"}))
    ada, ben = MatrixClient.sign_in(suite, "ada"), MatrixClient.sign_in(suite, "ben")
    channel = rooms_of(suite, shared_team, directory)[1]
    entry = directory.one(f"(entryUUID={shared_team['id']})")
    if by_hand == "Matrix":
        # Ada lets all members invite.
        path = f"/v3/rooms/{channel}/state/m.room.power_levels/"
        assert ada.call("PUT", path, {**ada.call("GET", path).json(), "invite": 0}).status_code == 200
        assert ben.invite(channel, f"new-{uuid4().hex[:8]}").status_code == 200
    else:
        changed = entry["chamberlainGuestRules"][0].replace("owners", "members")
        directory.replace(entry["dn"][0], "chamberlainGuestRules", changed)

    requests.repair(requests.find_drift(shared_team, "guests.addedBy"))

    assert ben.invite(channel, f"new-{uuid4().hex[:8]}").status_code == 403
    assert directory.one(f"(entryUUID={shared_team['id']})")["chamberlainGuestRules"] == entry["chamberlainGuestRules"]
