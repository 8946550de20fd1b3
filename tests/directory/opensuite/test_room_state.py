# SPDX-License-Identifier: Apache-2.0
"""State of Matrix rooms: compared with the wanted one, and set."""

from dataclasses import replace

import pytest

from chamberlain.directory.opensuite.matrix import Homeserver, StateEvent
from chamberlain.directory.opensuite.room_state import (
    DEFAULT_ACCESS,
    RoomAccess,
    WantedRoom,
    access_of,
    differing,
    enforced_rules,
    levels_without,
    wanted_state,
)
from chamberlain.directory.opensuite.rooms import channel_key
from chamberlain.directory.subjects import AddedBy, GuestRules

pytestmark = pytest.mark.pure

SERVER = Homeserver("http://127.0.0.1:8008", "estate.example", "secret")
SPACE = WantedRoom(
    key="f1",
    name="Harbour",
    topic=None,
    people=("ada", "ben"),
    owners=frozenset({"ada"}),
    is_public=False,
    access=None,
)
CHANNEL = replace(SPACE, key="f1-0", name="General", space_id="!space:estate.example")
RULES = GuestRules(allowed=True, added_by=AddedBy.MEMBERS, allowed_domains=(), blocked_domains=(), sharing=None)
BOT, ADA, BEN = "@chamberlain:estate.example", "@ada:estate.example", "@ben:estate.example"


def state_of(wanted: WantedRoom, version: str = "11") -> list[StateEvent]:
    """Return the state of a room that was created as wanted."""
    create = StateEvent("m.room.create", "", {"room_version": version})
    return [create, *wanted_state(wanted, replace(SERVER, room_version=version), ())]


def content(events: list[StateEvent], event_type: str) -> dict[str, object]:
    [found] = [each.content for each in events if each.type == event_type]
    return found


@pytest.mark.parametrize("wanted", [SPACE, CHANNEL], ids=["space", "channel"])
@pytest.mark.parametrize("version", ["10", "11", "12"])
def test_a_complete_room_needs_no_event(wanted: WantedRoom, version: str) -> None:
    state = state_of(wanted, version)

    assert differing(wanted_state(wanted, SERVER, state), state) == []


def test_each_missing_or_changed_event_is_set() -> None:
    state = state_of(CHANNEL)
    for lost in state[1:]:
        half = [each for each in state if each is not lost]
        changed = [replace_content(each) if each is lost else each for each in state]

        assert differing(wanted_state(CHANNEL, SERVER, half), half) == [lost]
        assert [each.type for each in differing(wanted_state(CHANNEL, SERVER, changed), changed)] == [lost.type]


def replace_content(event: StateEvent) -> StateEvent:
    """Return the event as another program could have set it."""
    if event.type == "m.room.power_levels":
        return StateEvent(event.type, event.state_key, {**event.content, "users": {BOT: 200}})
    return StateEvent(event.type, event.state_key, dict.fromkeys(event.content, "changed"))


def test_the_creator_has_a_level_up_to_version_eleven() -> None:
    users = {
        version: content(state_of(SPACE, version), "m.room.power_levels")["users"] for version in ("6", "11", "12")
    }

    assert users == {"6": {BOT: 200, ADA: 100}, "11": {BOT: 200, ADA: 100}, "12": {ADA: 100}}


def test_levels_that_users_have_set_stay() -> None:
    state = state_of(SPACE)
    levels = content(state, "m.room.power_levels")
    by_hand = {**levels, "kick": 100, "users": {BOT: 200, ADA: 150, BEN: 50}}
    changed = [StateEvent("m.room.power_levels", "", by_hand) if "power" in each.type else each for each in state]

    assert differing(wanted_state(SPACE, SERVER, changed), changed) == []


def test_the_body_has_the_whole_state_but_the_levels() -> None:
    body = CHANNEL.body(SERVER)

    assert (body["room_alias_name"], body["room_version"], body["visibility"]) == ("chamberlain-f1-0", "11", "private")
    assert body["creation_content"] == {}
    assert SPACE.body(SERVER)["creation_content"] == {"type": "m.space"}
    initial = body["initial_state"]
    assert isinstance(initial, list)
    assert {each["type"] for each in initial} == {
        "m.room.name",
        "m.room.join_rules",
        "m.room.guest_access",
        "m.space.parent",
    }


@pytest.mark.parametrize(
    ("rules", "access"),
    [
        (None, DEFAULT_ACCESS),
        (RULES, RoomAccess(0)),
        (replace(RULES, added_by=AddedBy.OWNERS), RoomAccess(100)),
        (replace(RULES, added_by=AddedBy.ADMINISTRATORS), RoomAccess(101)),
        (replace(RULES, allowed=False), RoomAccess(101, allowed_servers=())),
        (replace(RULES, allowed_domains=("Partner.example.",)), RoomAccess(0, ("partner.example",))),
        (replace(RULES, blocked_domains=("rival.example",)), RoomAccess(0, None, ("rival.example",))),
    ],
)
def test_access_of_rules(rules: GuestRules | None, access: RoomAccess) -> None:
    assert access_of(rules) == access


@pytest.mark.parametrize(
    ("access", "acl"),
    [
        (RoomAccess(100), None),
        (RoomAccess(101, allowed_servers=()), (["estate.example"], [])),
        (RoomAccess(0, ("partner.example",)), (["estate.example", "partner.example"], [])),
        # The own server cannot be blocked: the room would have no users then.
        (RoomAccess(0, None, ("rival.example", "estate.example")), (["*"], ["rival.example"])),
    ],
)
def test_servers_that_may_take_part(access: RoomAccess, acl: tuple[list[str], list[str]] | None) -> None:
    events = [each.content for each in access.events(SERVER, state_of(SPACE)) if each.type == "m.room.server_acl"]

    expected = [] if acl is None else [{"allow": acl[0], "deny": acl[1], "allow_ip_literals": False}]
    assert events == expected


def test_a_cleared_restriction_of_servers_is_written() -> None:
    state = [*state_of(SPACE), StateEvent("m.room.server_acl", "", {"allow": ["estate.example"], "deny": []})]

    events = RoomAccess(100).events(SERVER, state)

    assert events[-1].content == {"allow": ["*"], "deny": [], "allow_ip_literals": False}


def test_a_removed_user_loses_the_level() -> None:
    state = state_of(SPACE)

    [event] = levels_without({ADA, BEN}, state)

    assert event.content["users"] == {BOT: 200}
    assert levels_without({BEN}, state) == ()


def test_the_key_of_a_channel_depends_on_its_name_alone() -> None:
    assert channel_key("f1", "General") == channel_key("f1", "General")
    assert len({channel_key("f1", name) for name in ("General", "general", "Häfen")}) == 3


OWNERS = replace(RULES, added_by=AddedBy.OWNERS)


def with_access(rules: GuestRules) -> list[StateEvent]:
    """Return the state of a room with the access of rules."""
    return [*state_of(replace(SPACE, access=access_of(rules)))]


@pytest.mark.parametrize(
    "rules",
    [
        RULES,
        OWNERS,
        replace(RULES, allowed=False),
        replace(OWNERS, allowed_domains=("Partner.example", "estate.example"), blocked_domains=("rival.example",)),
    ],
)
def test_rooms_as_wanted_enforce_the_rules(rules: GuestRules) -> None:
    assert enforced_rules(rules, [with_access(rules)] * 2, SERVER) == rules


@pytest.mark.parametrize(
    ("rules", "found", "enforced"),
    [
        (OWNERS, RoomAccess(0), RULES),
        (OWNERS, RoomAccess(50), RULES),
        (replace(RULES, added_by=AddedBy.ADMINISTRATORS), RoomAccess(100), OWNERS),
        # Owners may permit less.
        (RULES, RoomAccess(50), None),
        (OWNERS, RoomAccess(101, ()), None),
        (replace(OWNERS, allowed=False), RoomAccess(0), OWNERS),
        (replace(OWNERS, allowed=False), RoomAccess(101), OWNERS),
        (replace(OWNERS, allowed_domains=("partner.example",)), RoomAccess(100), OWNERS),
        (replace(OWNERS, blocked_domains=("rival.example", "estate.example")), RoomAccess(100), OWNERS),
        (replace(OWNERS, blocked_domains=("estate.example",)), RoomAccess(101), None),
    ],
)
def test_a_changed_room_enforces_other_rules(rules: GuestRules, found: RoomAccess, enforced: GuestRules | None) -> None:
    """None are the same rules."""
    changed = state_of(replace(SPACE, access=found))

    assert enforced_rules(rules, [with_access(rules), changed], SERVER) == (enforced or rules)
