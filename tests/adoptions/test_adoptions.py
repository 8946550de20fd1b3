# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from uuid import UUID

import pytest

from chamberlain.adoptions.models import (
    MAX_OBJECTS,
    AdoptionConflict,
    AdoptionFilter,
    AdoptionState,
    ItemState,
    build_preview,
    matches,
    object_type_of,
    require_same_preview,
    require_undoable,
)
from chamberlain.adoptions.rules import (
    AdoptedGroup,
    adopted_group,
    group_candidate,
    mailbox_candidate,
    mailbox_order,
    unique_values,
)
from chamberlain.core.errors import Conflict, NotFound, NotPossible
from chamberlain.core.ids import GroupId, RequestId
from chamberlain.directory.groups import MemberShipType, ObservedGroup
from chamberlain.directory.mailboxes import (
    AddressFields,
    MailboxProperties,
    MailboxType,
    ObservedMailbox,
    PermissionLevel,
    Place,
    RoomEquipment,
    plan_mailbox,
    remaining_of_mailbox,
)
from chamberlain.directory.models import ObjectType
from chamberlain.directory.steps import Step
from chamberlain.groups.models import GroupOrder
from chamberlain.guests.subjects.models import SubjectEntry
from chamberlain.mailboxes.models import wanted_mailbox
from chamberlain.templates.models import GroupTemplate, TemplateKind
from tests.adoptions.adoption_values import ADA, BEN, CLEO, HEAD, RULE, TEMPLATE, candidate, entry, observed
from tests.groups import group_values
from tests.mailboxes.mailbox_values import HOUSE, SHARED, TEMPLATES

pytestmark = pytest.mark.pure

FULL = AddressFields("Kai 7", None, "Estate", "8001", "Zürich", "Switzerland", "+41", "Harbour", ("1", "2"), "Notes")
WHOLE: dict[MailboxType, ObservedMailbox] = {
    MailboxType.SHARED: observed(
        aliases=("Quay@estate.example",),
        address_fields=FULL,
        automatic_reply="At sea.",
        quota_megabytes=500,
        is_hidden=True,
        permissions={ADA: PermissionLevel.FULL_ACCESS, BEN: PermissionLevel.SEND_AS},
        auto_mapped=frozenset({ADA}),
        owners=(CLEO, ADA),
    ),
    MailboxType.ROOM: observed(
        type=MailboxType.ROOM,
        address_fields=replace(FULL, office_location="HQ"),
        place=Place(
            12,
            "Horn",
            "Screen",
            "Eye",
            is_wheel_chair_accessible=True,
            tags=("quiet",),
            equipment=RoomEquipment(has_whiteboard=True),
        ),
        books_automatically=True,
        automatic_reply="Leave it tidy.",
        permissions={BEN: PermissionLevel.FULL_ACCESS},
    ),
    MailboxType.EQUIPMENT: observed(type=MailboxType.EQUIPMENT, books_automatically=True, capacity=3, owners=(ADA,)),
}


@pytest.mark.parametrize("mailbox_type", MailboxType)
def test_a_record_asks_for_just_what_is_there(mailbox_type: MailboxType) -> None:
    there = WHOLE[mailbox_type]
    order = mailbox_order(there, TEMPLATE)

    # When it is wanted like this, nothing is left to be done but the alias' spelling, which the directory keeps.
    wanted = wanted_mailbox(
        order, TEMPLATES[mailbox_type], request_id=RequestId(UUID(int=9)), mail=there.mail, prefix="chamberlain"
    )
    there = replace(there, aliases=tuple(map(str.lower, there.aliases)))
    assert remaining_of_mailbox(wanted, there, plan_mailbox(wanted, people_checked=True)) == ()
    assert wanted.address_fields == there.address_fields
    assert (wanted.permissions, wanted.owners) == (there.permissions, there.owners)


def test_a_mailbox_holds_its_name_and_its_addresses() -> None:
    there = WHOLE[MailboxType.SHARED]

    assert unique_values(mailbox_order(there, TEMPLATE), there) == (
        ("address", "harbour-1@estate.example"),
        ("address", "quay@estate.example"),
        ("name", "harbour 1"),
    )


@pytest.mark.parametrize(
    ("aliases", "alias"),
    [
        ((), None),
        (("quay@other.example",), None),
        (("o'quay@estate.example", "quay@estate.example"), "quay"),
        (("quay@other.example", "dock@estate.example", "quay@estate.example"), "dock"),
        ((f"{'q' * 64}@estate.example",), "q" * 64),
        ((f"{'q' * 65}@estate.example", "dock@estate.example"), "dock"),
    ],
)
def test_an_alias_is_one_that_a_record_can_hold(aliases: tuple[str, ...], alias: str | None) -> None:
    assert mailbox_order(observed(aliases=aliases), TEMPLATE).alias == alias


@pytest.mark.parametrize(
    ("there", "unwritable", "code"),
    [
        (observed(), None, None),
        (observed(marks={"requestId": "x"}), None, "alreadyManaged"),
        (observed(marks={"requestId": "x"}, type=MailboxType.ROOM), None, "alreadyManaged"),
        (observed(type=MailboxType.ROOM), None, "typeDiffers"),
        (observed(mail="harbour@elsewhere.example"), None, "domainNotVerified"),
        (observed(mail=""), None, "domainNotVerified"),
        (observed(owners=(ADA, BEN, CLEO)), None, "tooManyOwners"),
        (observed(), "name may not hold @.", "notRepresentable"),
    ],
)
def test_what_stands_against_a_mailbox(there: ObservedMailbox, unwritable: str | None, code: str | None) -> None:
    conflict = mailbox_candidate(there, SHARED, HOUSE, unwritable=unwritable).conflict

    assert (conflict and conflict.code) == code


def test_what_the_template_says_and_the_mailbox_does_not_show_is_reported() -> None:
    template = replace(SHARED, defaults=MailboxProperties(country="Switzerland", automatic_reply="Thanks."))

    one = mailbox_candidate(observed(automatic_reply="At sea."), template, HOUSE, unwritable=None)

    # The template's reply is not wanted, so the shown one stays.
    assert one.differences == (Step.SET_ADDRESS_FIELDS,)


@pytest.mark.parametrize(
    ("there", "template", "code"),
    [
        (entry(), group_values.TEMPLATE, None),
        (entry(request_id=RequestId(UUID(int=9))), group_values.TEMPLATE, "alreadyManaged"),
        (entry(is_team=True), group_values.TEMPLATE, "typeDiffers"),
        (entry(), replace(group_values.TEMPLATE, head=group_values.TEAM_HEAD), "typeDiffers"),
        (entry(is_team=True), replace(group_values.TEMPLATE, head=group_values.TEAM_HEAD), None),
        (entry(mail=None), group_values.TEMPLATE, "noAddress"),
        (entry(member_ship_type=MemberShipType.PUBLIC), group_values.TEMPLATE, None),
        (
            entry(member_ship_type=MemberShipType.PUBLIC),
            replace(group_values.TEMPLATE, member_ship_type_changeable=False),
            "memberShipTypeDiffers",
        ),
        (entry(member_ship_type=MemberShipType.DYNAMIC), group_values.TEMPLATE, "memberShipTypeDiffers"),
        (
            entry(member_ship_type=MemberShipType.DYNAMIC),
            replace(group_values.TEMPLATE, member_ship_type=2, membership_rule="user.department -eq 'Sales'"),
            None,
        ),
    ],
)
def test_what_stands_against_a_group(there: SubjectEntry, template: GroupTemplate, code: str | None) -> None:
    conflict = group_candidate(there, template).conflict

    assert (conflict and conflict.code) == code


@pytest.mark.parametrize(
    ("there", "template", "steps"),
    [
        (entry(), group_values.TEMPLATE, ()),
        (entry(), replace(group_values.TEMPLATE, label_id="label"), (Step.SET_LABEL,)),
        (
            entry(),
            replace(group_values.TEMPLATE, owners=(ADA,), members=(CLEO,), label_id="label"),
            (Step.ADD_OWNERS, Step.ADD_MEMBERS, Step.SET_LABEL),
        ),
        (
            entry(member_ship_type=MemberShipType.DYNAMIC),
            replace(group_values.TEMPLATE, member_ship_type=2, membership_rule="a -eq 'b'", members=(CLEO,)),
            (),
        ),
        (
            entry(is_team=True),
            replace(group_values.TEMPLATE, head=group_values.TEAM_HEAD, channels=("Planning",)),
            (Step.CREATE_CHANNELS,),
        ),
        (entry(mail=None), replace(group_values.TEMPLATE, label_id="label"), ()),
    ],
)
def test_what_a_template_asks_for_is_reported_of_a_group(
    there: SubjectEntry, template: GroupTemplate, steps: tuple[Step, ...]
) -> None:
    assert group_candidate(there, template).differences == steps


def test_a_group_has_an_owner_who_stands_for_whoever_asked() -> None:
    group = ObservedGroup(
        GroupId(UUID(int=1)), "Crew", "crew@estate.example", "crew", frozenset({BEN, ADA}), frozenset({CLEO}), "label",
        None, {},
    )  # fmt: skip

    adopted = adopted_group(group, TemplateKind.GROUP, TEMPLATE, MemberShipType.PUBLIC)

    order = GroupOrder("Crew", TEMPLATE, member_ship_type=MemberShipType.PUBLIC, owners=(ADA, BEN), label_id="label")
    assert adopted == AdoptedGroup(order, ADA)
    nobody = adopted_group(replace(group, owners=frozenset()), TemplateKind.GROUP, TEMPLATE, MemberShipType.PUBLIC)
    assert isinstance(nobody, AdoptionConflict)
    assert nobody.code == "noOwner"
    team = adopted_group(replace(group, channels=()), TemplateKind.GROUP, TEMPLATE, MemberShipType.PUBLIC)
    assert isinstance(team, AdoptionConflict)
    assert team.code == "typeDiffers"


@pytest.mark.parametrize(
    ("chosen", "is_so"),
    [
        (AdoptionFilter(), True),
        (AdoptionFilter(prefix="HAR"), True),
        (AdoptionFilter(prefix="the har"), True),
        (AdoptionFilter(prefix="info@"), True),
        (AdoptionFilter(prefix="bour"), False),
        (AdoptionFilter(domain="Estate.Example"), True),
        (AdoptionFilter(domain="example"), False),
        (AdoptionFilter(ids=frozenset({UUID(int=1)})), True),
        (AdoptionFilter(ids=frozenset()), False),
        (AdoptionFilter(prefix="har", domain="other.example"), False),
    ],
)
def test_whom_a_filter_names(chosen: AdoptionFilter, is_so: bool) -> None:  # noqa: FBT001 - a table of cases
    names = ("Harbour", "The harbour")

    assert matches(chosen, object_id=UUID(int=1), names=names, mail="info@estate.example") is is_so


def test_of_two_with_one_name_the_first_by_address_is_taken() -> None:
    second, first = candidate(2, held=(("name", "x"),)), candidate(1, held=(("name", "x"),))

    preview = build_preview(RULE, HEAD, [second, first], given=frozenset())

    assert preview.taken == (first,)
    assert [(one, conflict.code) for one, conflict in preview.conflicts] == [(second, "nameTaken")]


def test_what_is_given_away_is_not_taken_again() -> None:
    one, other = candidate(1, held=(("address", "a@x"),)), candidate(2, held=(("name", "n"),))

    preview = build_preview(RULE, HEAD, [one, other], given={("address", "a@x"), ("name", "n")})

    assert preview.taken == ()
    assert preview.conflict_counts == {"addressTaken": 1, "nameTaken": 1}


def test_conflicts_are_counted_in_the_order_of_their_codes() -> None:
    codes = ["typeDiffers", "noOwner", "typeDiffers", "alreadyManaged", "gone", "domainNotVerified"]
    candidates = [replace(candidate(number), conflict=AdoptionConflict(code, "")) for number, code in enumerate(codes)]

    counts = build_preview(RULE, HEAD, candidates, given=()).conflict_counts

    assert [*counts.items()] == [
        ("alreadyManaged", 1), ("domainNotVerified", 1), ("gone", 1), ("noOwner", 1), ("typeDiffers", 2),
    ]  # fmt: skip


def test_states_and_types_are_called_so_in_answers() -> None:
    assert [*AdoptionState] == ["running", "succeeded", "undoing", "undone"]
    assert [*ItemState] == ["pending", "adopted", "refused", "released"]
    assert [*ObjectType] == ["mailbox", "group"]


@pytest.mark.parametrize(
    ("kind", "noun"),
    [
        (TemplateKind.SHARED, ObjectType.MAILBOX),
        (TemplateKind.EQUIPMENT, ObjectType.MAILBOX),
        (TemplateKind.ROOM, ObjectType.MAILBOX),
        (TemplateKind.GROUP, ObjectType.GROUP),
        (TemplateKind.TEAM, ObjectType.GROUP),
    ],
)
def test_a_template_makes_mailboxes_or_groups(kind: TemplateKind, noun: ObjectType) -> None:
    assert object_type_of(kind) is noun


def test_nothing_is_adopted_by_a_template_of_guests() -> None:
    with pytest.raises(ValueError, match="guest"):
        object_type_of(TemplateKind.GUEST)


def test_a_digest_is_of_those_who_are_taken_and_of_nobody_else() -> None:
    one, other = candidate(1), candidate(2)
    violations = replace(candidate(3), conflict=AdoptionConflict("gone", "It is not there."))
    digest = build_preview(RULE, HEAD, [one, other], given=()).digest

    assert build_preview(RULE, HEAD, [other, violations, one], given=()).digest == digest
    assert build_preview(RULE, HEAD, [one], given=()).digest != digest
    assert build_preview(RULE, HEAD, [one, replace(other, display_name="Quay")], given=()).digest != digest
    assert build_preview(RULE, replace(HEAD, revision=2), [one, other], given=()).digest != digest


def test_what_was_not_shown_is_not_taken() -> None:
    shown, now = (
        build_preview(RULE, HEAD, [candidate(1)], given=()),
        build_preview(RULE, HEAD, [candidate(2)], given=()),
    )

    require_same_preview(shown, shown.digest)
    with pytest.raises(Conflict) as refused:
        require_same_preview(now, shown.digest)
    assert refused.value.code == "previewChanged"


@pytest.mark.parametrize(("many", "code"), [(0, "nothingToAdopt"), (MAX_OBJECTS + 1, "tooManyToAdopt")])
def test_nothing_and_too_many_are_refused(many: int, code: str) -> None:
    preview = build_preview(RULE, HEAD, [candidate(number) for number in range(many)], given=())

    with pytest.raises(NotPossible) as refused:
        require_same_preview(preview, preview.digest)
    assert [fault.code for fault in refused.value.faults] == [code]


def test_what_can_be_undone() -> None:
    require_undoable(AdoptionState.RUNNING)
    require_undoable(AdoptionState.SUCCEEDED)
    for state in (AdoptionState.UNDOING, AdoptionState.UNDONE):
        with pytest.raises(Conflict) as refused:
            require_undoable(state)
        assert refused.value.code == "stateDoesNotAllow"
    with pytest.raises(NotFound):
        require_undoable(None)
