# SPDX-License-Identifier: Apache-2.0
"""Groups as subjects: their guests, and those who can leave."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from uuid import UUID

import pytest

from chamberlain.core.ids import GroupId, RequestId, TenantId, UserId
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.opensuite.entry import Entry, normalized_dn
from chamberlain.directory.opensuite.layout import Branch, Layout, mark_values, marks_of
from chamberlain.directory.opensuite.matrix import Homeserver, StateEvent
from chamberlain.directory.opensuite.members import last_success_of, local_part_of
from chamberlain.directory.opensuite.room_state import TeamInRooms
from chamberlain.directory.opensuite.subjects import leaving_guests, observed_subject, stayed_guests
from chamberlain.directory.subjects import ObservedSubject, SubjectReference

pytestmark = pytest.mark.pure

BASE = "dc=estate,dc=example"
LAYOUT = Layout(
    people=Branch(BASE, "(objectClass=inetOrgPerson)"),
    groups=Branch(f"ou=groups,{BASE}", "(objectClass=groupOfNames)"),
    mailboxes=Branch(f"ou=mailboxes,{BASE}", "(objectClass=chamberlainMailbox)"),
)
TENANT = TenantId(UUID(int=1))
REQUEST = RequestId(UUID(int=9))
EXTENSION = "chamberlain_group"
REFERENCE = SubjectReference(TENANT, GroupId(UUID(int=100)), EXTENSION)


def entry(name: str, number: int, **values: Sequence[str]) -> Entry:
    lowered = {key.lower(): tuple(each) for key, each in values.items()}
    return Entry(f"uid={name},{BASE}", UUID(int=number), "1", {"uid": (name,), **lowered})


ADA, GIL, HANA = (entry(name, number) for number, name in enumerate(("ada", "gil", "hana"), 2))
GUESTS = {normalized_dn(each.dn): each for each in (GIL, HANA)}


def group(owners: Sequence[Entry], members: Sequence[Entry], *, is_dynamic: bool = False) -> Entry:
    return entry(
        "partners",
        100,
        objectClass=["groupOfURLs" if is_dynamic else "groupOfNames", "chamberlainGroup"],
        displayName=["Partners"],
        owner=[each.dn for each in owners],
        member=[each.dn.upper() for each in members],
        chamberlainRequestId=[str(REQUEST)],
        chamberlainMark=mark_values({"templateId": str(UUID(int=5)), "policyId": "x"}, EXTENSION),
    )


def subject_of(
    group: Entry,
    reference: SubjectReference = REFERENCE,
    *,
    team: TeamInRooms | None = None,
    seen: Mapping[str, datetime] = MappingProxyType({}),
) -> ObservedSubject:
    return observed_subject(group, reference, LAYOUT, team=team, guests=GUESTS, seen=seen)


def test_it_works() -> None:
    seen = datetime(2026, 11, 20, tzinfo=UTC)

    shown = subject_of(group([ADA, GIL], [ADA, GIL, HANA]), seen={normalized_dn(HANA.dn): seen})

    assert [(each.id.int, each.last_seen_at) for each in shown.guests] == [(3, None), (4, seen)]
    assert (shown.owners, shown.guest_owners) == (2, frozenset({UserId(GIL.id)}))
    assert (shown.request_id, shown.template_id and shown.template_id.int, shown.policy_id) == (REQUEST, 5, None)
    assert (shown.member_ship_type, shown.is_team, shown.site) == (MemberShipType.PRIVATE, False, None)


@pytest.mark.parametrize(
    ("membership", "server", "guests"),
    [
        ("join", "estate.example", [GIL, HANA]),
        ("invite", "estate.example", [GIL, HANA]),
        ("leave", "estate.example", [GIL]),
        # A user of another homeserver is no user of the directory.
        ("join", "partner.example", [GIL]),
    ],
)
def test_a_guest_in_a_room_is_a_guest_of_the_team(membership: str, server: str, guests: list[Entry]) -> None:
    entered = StateEvent("m.room.member", f"@hana:{server}", {"membership": membership})
    team = TeamInRooms(Homeserver("http://127.0.0.1:8008", "estate.example", "secret"), ((), (entered,)))

    shown = subject_of(group([ADA], [ADA, GIL]), team=team)

    assert [each.id for each in shown.guests] == [each.id for each in guests]


def test_marks_of_another_extension_are_not_shown() -> None:
    other = replace(REFERENCE, extension="other_group")

    shown = subject_of(group([ADA], [ADA]), other)

    assert (shown.request_id, shown.template_id) == (None, None)


@pytest.mark.parametrize(
    ("owners", "members", "is_dynamic", "going"),
    [
        ([ADA], [ADA, GIL], False, [GIL]),
        ([ADA, GIL], [ADA], False, [GIL]),
        ([GIL], [GIL, HANA], False, [HANA]),
        ([GIL, HANA], [GIL, HANA], False, [HANA]),
        ([], [GIL], False, [GIL]),
        ([ADA], [ADA], False, []),
        ([ADA], [GIL, HANA], True, []),
        ([ADA, GIL], [HANA], True, [GIL]),
    ],
)
def test_guests_who_can_leave(
    owners: list[Entry],
    members: list[Entry],
    is_dynamic: bool,  # noqa: FBT001 - a column of the table.
    going: list[Entry],
) -> None:
    assert leaving_guests(group(owners, members, is_dynamic=is_dynamic), GUESTS, LAYOUT) == going


@pytest.mark.parametrize(
    ("owners", "members", "is_dynamic", "codes"),
    [
        ([GIL], [GIL, HANA], False, ["lastOwner"]),
        ([ADA], [GIL, HANA], True, ["membersFollowRule", "membersFollowRule"]),
        ([ADA], [ADA, HANA], False, []),
    ],
)
def test_guests_who_stay(
    owners: list[Entry],
    members: list[Entry],
    is_dynamic: bool,  # noqa: FBT001 - a column of the table.
    codes: list[str],
) -> None:
    shown = subject_of(group(owners, members, is_dynamic=is_dynamic))

    assert [each.code for each in stayed_guests(shown, {UserId(GIL.id), UserId(HANA.id)})] == codes


def test_marks_are_written_and_read() -> None:
    marks = {"requestId": str(REQUEST), "templateId": "a=b", "metadata": "{}"}
    written = entry("g", 1, chamberlainRequestId=[str(REQUEST)], chamberlainMark=mark_values(marks, EXTENSION))
    adopted = entry("g", 1, chamberlainRequestId=[str(REQUEST)])

    assert marks_of(written, EXTENSION) == marks
    assert marks_of(written, "other_group") == {}
    assert marks_of(adopted, EXTENSION) == {"requestId": str(REQUEST)}


@pytest.mark.parametrize(
    ("name", "local_part"),
    [("Ada", "ada"), ("b.okafor-2", "b.okafor-2"), ("zoë", None), ("a b", None), ("", None), ("a@b", None)],
)
def test_local_parts(name: str, local_part: str | None) -> None:
    assert local_part_of(replace(ADA, values={"uid": (name,)}), LAYOUT) == local_part


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("20261120093000Z", datetime(2026, 11, 20, 9, 30, tzinfo=UTC)),
        ("20261120093000.123456Z", datetime(2026, 11, 20, 9, 30, tzinfo=UTC)),
        ("", None),
        ("yesterday", None),
    ],
)
def test_times_of_sign_ins(written: str, expected: datetime | None) -> None:
    assert last_success_of(replace(ADA, values={"pwdlastsuccess": (written,)})) == expected
