# SPDX-License-Identifier: Apache-2.0
"""Spaces and rooms of teams in a real homeserver: created once, completed and repaired."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import unquote
from uuid import uuid4

import httpx2
import pytest

from chamberlain.directory.opensuite.matrix import Homeserver, Matrix, StateEvent
from chamberlain.directory.opensuite.room_state import RoomAccess
from chamberlain.directory.opensuite.rooms import Rooms, WantedTeam
from deploy.suite.folder import DOMAIN, Suite
from deploy.suite.people import password_of
from tests.suite.matrix_client import MatrixClient
from tests.suite.suite_directory import SuiteDirectory

CHANNELS = ("General", "Planning", "Archive")


@asynccontextmanager
async def connected(suite: Suite, version: str = "11") -> AsyncIterator[Matrix]:
    """Connect as the service does."""
    server = Homeserver(suite.url("MATRIX"), DOMAIN, suite.values["APPSERVICE_TOKEN"], room_version=version)
    async with httpx2.AsyncClient(timeout=60) as client:
        yield Matrix(client, server)


@pytest.fixture
async def matrix(suite: Suite) -> AsyncIterator[Matrix]:
    """The homeserver, as the service calls it."""
    async with connected(suite) as found:
        yield found


@pytest.fixture
def team() -> WantedTeam:
    """A new team of Ada, its owner, and Ben."""
    return WantedTeam(
        key=str(uuid4()),
        name="Harbour",
        description="Ships",
        is_public=False,
        people=("ada", "ben"),
        owners=frozenset({"ada"}),
    )


async def soon(_: float) -> None:
    """Wait shorter than the service does."""
    await asyncio.sleep(0.01)


async def ensure(rooms: Rooms, team: WantedTeam) -> str:
    space_id = await rooms.ensure_space(team)
    await rooms.ensure_channels(replace(team, space_id=space_id), space_id, CHANNELS)
    return space_id


async def content(matrix: Matrix, room_id: str, event_type: str) -> dict[str, object]:
    state = await matrix.state(room_id)
    assert state is not None
    return next((each.content for each in state if each.type == event_type and not each.state_key), {})


async def members(matrix: Matrix, room_id: str) -> set[str]:
    state = await matrix.state(room_id)
    assert state is not None
    joined = [each for each in state if each.type == "m.room.member" and each.content.get("membership") == "join"]
    return {each.state_key.partition(":")[0] for each in joined}


@pytest.mark.parametrize("version", ["11", "12"])
async def test_it_works(suite: Suite, team: WantedTeam, version: str) -> None:
    async with connected(suite, version) as matrix:
        rooms = Rooms(matrix)

        space_id = await ensure(rooms, team)

        assert await rooms.channels(space_id) == CHANNELS
        found = await matrix.hierarchy(space_id)
        assert found is not None
        for room in found:
            assert await members(matrix, room.room_id) == {"@chamberlain", "@ada", "@ben"}
        ben = MatrixClient.sign_in(suite, "ben")
        assert {room.room_id for room in found} <= ben.rooms()
        assert ben.power(space_id, "ada") == 100


async def test_it_is_idempotent(matrix: Matrix, team: WantedTeam) -> None:
    first = await ensure(Rooms(matrix), team)
    before = await matrix.hierarchy(first)

    again = await ensure(Rooms(matrix), team)
    known = await ensure(Rooms(matrix), replace(team, space_id=first))

    assert (again, known) == (first, first)
    assert await matrix.hierarchy(first) == before


async def test_concurrent_calls_create_one_space(matrix: Matrix, team: WantedTeam) -> None:
    found = await asyncio.gather(*[ensure(Rooms(matrix), team) for _ in range(4)])

    assert len(set(found)) == 1
    assert await Rooms(matrix).channels(found[0]) == CHANNELS


async def test_a_room_without_the_bot_is_replaced(suite: Suite, matrix: Matrix, team: WantedTeam) -> None:
    """A homeserver that dies during a creation leaves such a room with the alias."""
    await matrix.register("helper")
    lost = await create_as(suite, "helper", f"chamberlain-{team.key}")

    space_id = await ensure(Rooms(matrix, soon), team)

    assert space_id != lost
    assert await matrix.find_alias(f"#chamberlain-{team.key}:{DOMAIN}") == space_id
    assert await Rooms(matrix).channels(space_id) == CHANNELS


async def test_a_replaced_room_that_is_completed_late_has_no_users(suite: Suite, team: WantedTeam) -> None:
    alias = f"chamberlain-{team.key}"
    async with httpx2.AsyncClient(transport=LateCreation(suite), timeout=60) as client:
        matrix = Matrix(client, Homeserver(suite.url("MATRIX"), DOMAIN, suite.values["APPSERVICE_TOKEN"]))
        await matrix.register("helper")
        late = await create_as(suite, "helper", alias)

        space_id = await ensure(Rooms(matrix, soon), team)

        assert await members(matrix, late) == {"@helper"}
        assert await matrix.find_alias(f"#{alias}:{DOMAIN}") == space_id


class LateCreation(httpx2.AsyncHTTPTransport):
    """Completes the creation of a room as soon as its alias was deleted: its creator is in it."""

    def __init__(self, suite: Suite) -> None:
        super().__init__()
        self._suite = suite

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer as the homeserver does."""
        if request.method != "DELETE":
            return await super().handle_async_request(request)
        async with connected(self._suite) as matrix:
            alias = unquote(request.url.path.rpartition("/")[2])
            room_id = await matrix.find_alias(alias)
            assert room_id is not None
            answer = await super().handle_async_request(request)
            await call_as(self._suite, "helper", f"/rooms/{room_id}/invite", {"user_id": f"@chamberlain:{DOMAIN}"})
            await matrix.join(room_id, "chamberlain")
        return answer


async def create_as(suite: Suite, name: str, alias: str) -> str:
    """Create a room as another user, which the service is not in."""
    answer = await call_as(suite, name, "/createRoom", {"room_alias_name": alias})
    return str(answer.json()["room_id"])


async def call_as(suite: Suite, name: str, path: str, body: dict[str, str]) -> httpx2.Response:
    """Call the homeserver on behalf of a user."""
    async with httpx2.AsyncClient(timeout=60) as client:
        answer = await client.post(
            f"{suite.url('MATRIX')}/_matrix/client/v3{path}",
            params={"user_id": f"@{name}:{DOMAIN}"},
            headers={"Authorization": f"Bearer {suite.values['APPSERVICE_TOKEN']}"},
            json=body,
        )
    assert answer.status_code == 200, answer.text
    return answer


async def test_changed_state_is_set_again(matrix: Matrix, team: WantedTeam) -> None:
    rooms = Rooms(matrix)
    space_id = await ensure(rooms, team)
    found = await matrix.hierarchy(space_id)
    assert found is not None
    channel = found[1].room_id
    await matrix.put_state(channel, StateEvent("m.room.join_rules", "", {"join_rule": "invite"}))
    await matrix.put_state(space_id, StateEvent("m.space.child", channel, {}))
    await matrix.kick(channel, f"@ben:{DOMAIN}", "test")

    await ensure(rooms, team)

    assert await rooms.channels(space_id) == CHANNELS
    assert (await content(matrix, channel, "m.room.join_rules"))["join_rule"] == "restricted"
    assert "@ben" in await members(matrix, channel)


async def test_only_a_description_renames_a_present_space(matrix: Matrix, team: WantedTeam) -> None:
    rooms = Rooms(matrix)
    space_id = await ensure(rooms, team)
    renamed = replace(team, name="Port", description=None, is_public=True)

    await ensure(rooms, renamed)
    left = await content(matrix, space_id, "m.room.name")
    await rooms.describe(renamed, space_id)

    assert left == {"name": "Harbour"}
    assert await content(matrix, space_id, "m.room.name") == {"name": "Port"}
    assert (await content(matrix, space_id, "m.room.join_rules"))["join_rule"] == "public"


@pytest.mark.parametrize(("invite", "statuses"), [(0, (200, 200)), (100, (200, 403)), (101, (403, 403))])
async def test_access_decides_who_invites(
    suite: Suite, matrix: Matrix, team: WantedTeam, invite: int, statuses: tuple[int, int]
) -> None:
    """The statuses are those of an owner and of a member."""
    rooms = Rooms(matrix)
    space_id = await rooms.ensure_space(team)
    await rooms.ensure_channels(replace(team, space_id=space_id), space_id, CHANNELS[:1])
    ada, ben = MatrixClient.sign_in(suite, "ada"), MatrixClient.sign_in(suite, "ben")

    await rooms.set_access(space_id, RoomAccess(invite))

    for room in await matrix.hierarchy(space_id) or ():
        # Synapse permits 10 invitations by one user at once, and 5 of one user.
        invitees = [f"new-{uuid4().hex[:8]}" for _ in range(2)]
        for each in invitees:
            await matrix.register(each)
        invited = ada.invite(room.room_id, invitees[0]), ben.invite(room.room_id, invitees[1])
        assert tuple(each.status_code for each in invited) == statuses
        levels = {**await content(matrix, room.room_id, "m.room.power_levels"), "invite": 0}
        path = f"/v3/rooms/{room.room_id}/state/m.room.power_levels/"
        assert (ada.call("PUT", path, levels).status_code == 403) is (invite == 101)


async def test_a_removed_user_is_in_no_room(suite: Suite, matrix: Matrix, team: WantedTeam) -> None:
    rooms = Rooms(matrix)
    owned = replace(team, owners=frozenset({"ada", "ben"}))
    space_id = await ensure(rooms, owned)

    await rooms.remove(space_id, ["ben"])
    await rooms.remove(space_id, ["ben"])

    found = await matrix.hierarchy(space_id)
    assert found is not None
    for room in found:
        assert await members(matrix, room.room_id) == {"@chamberlain", "@ada"}
        assert f"@ben:{DOMAIN}" not in str(await content(matrix, room.room_id, "m.room.power_levels"))
    ben = MatrixClient.sign_in(suite, "ben")
    assert ben.rooms().isdisjoint(room.room_id for room in found)


async def test_servers_are_restricted_and_released(matrix: Matrix, team: WantedTeam) -> None:
    rooms = Rooms(matrix)
    space_id = await ensure(rooms, team)

    await rooms.set_access(space_id, RoomAccess(101, allowed_servers=()))
    restricted = await content(matrix, space_id, "m.room.server_acl")
    await rooms.set_access(space_id, RoomAccess(100))

    assert restricted["allow"] == [DOMAIN]
    assert (await content(matrix, space_id, "m.room.server_acl"))["allow"] == ["*"]


async def test_an_owner_cannot_add_a_room_of_another_team(suite: Suite, matrix: Matrix, team: WantedTeam) -> None:
    """The bot administers the rooms of all teams, and owners decide which rooms are in a space."""
    rooms = Rooms(matrix)
    foreign_space = await ensure(rooms, team)
    foreign = (await matrix.hierarchy(foreign_space) or ())[1]
    own = replace(team, key=str(uuid4()), people=("cleo", "dara"), owners=frozenset({"cleo"}))
    space_id = await ensure(rooms, own)
    cleo = MatrixClient.sign_in(suite, "cleo")
    child = f"/v3/rooms/{space_id}/state/m.space.child/"
    for room in (await matrix.hierarchy(space_id) or ())[1:]:
        assert cleo.call("PUT", f"{child}{room.room_id}", {}).status_code == 200
    body = {"via": [DOMAIN], "order": "0000"}
    assert cleo.call("PUT", f"{child}{foreign.room_id}", body).status_code == 200
    before = await matrix.state(foreign.room_id)

    listed = await rooms.channels(space_id)
    await rooms.ensure_channels(replace(own, space_id=space_id), space_id, CHANNELS)
    await rooms.set_access(space_id, RoomAccess(0))
    await rooms.remove(space_id, ["ben"])

    assert listed == ()
    assert await matrix.state(foreign.room_id) == before
    assert "ben" not in (await rooms.read(space_id)).people
    assert await rooms.channels(space_id) == CHANNELS


async def test_an_unknown_space_has_no_channels(matrix: Matrix) -> None:
    rooms = Rooms(matrix)

    assert await rooms.channels(f"!absent:{DOMAIN}") is None
    assert await rooms.channels("no id") is None
    await rooms.set_access("no id", RoomAccess(0))
    await rooms.remove("no id", ["ben"])


async def test_a_user_has_an_account_after_entering(matrix: Matrix, team: WantedTeam) -> None:
    name = f"new-{uuid4().hex[:8]}"
    before = await matrix.has_account(name)

    await ensure(Rooms(matrix), replace(team, people=("ada", name)))

    assert (before, await matrix.has_account(name)) == (False, True)
    # Without an administrator's token, an account stays.
    assert await matrix.deactivate(name) is False
    assert await matrix.deactivate(f"no-{name}") is True


async def test_a_banned_user_stays_out(matrix: Matrix, team: WantedTeam) -> None:
    rooms = Rooms(matrix)
    space_id = await ensure(rooms, team)
    member = f"@ben:{DOMAIN}"
    await matrix.put_state(space_id, StateEvent("m.room.member", member, {"membership": "ban"}))

    await rooms.ensure_space(team)

    assert await members(matrix, space_id) == {"@chamberlain", "@ada"}


@pytest.mark.parametrize("bot", ["chamberlain", "chamberlain-approvals"])
async def test_a_person_cannot_sign_in_as_a_bot(
    suite: Suite, matrix: Matrix, directory: SuiteDirectory, team: WantedTeam, bot: str
) -> None:
    """An administrator of people may give one this name. The bots administer teams and ask for approvals."""
    await Rooms(matrix).ensure_space(team)
    await matrix.register(bot)
    dn = f"uid={bot},ou=people,{suite.base}"
    person = {"objectClass": "inetOrgPerson", "uid": bot, "cn": bot, "sn": bot, "userPassword": password_of(bot)}
    directory.add(dn, person)

    may_sign_in = MatrixClient.may_sign_in(suite, bot)

    directory.delete(dn)
    assert not may_sign_in
