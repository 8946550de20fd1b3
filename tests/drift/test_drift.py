# SPDX-License-Identifier: Apache-2.0
"""Differences between the desired state and the directory, property by property."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, TypeVar
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamberlain.core.ids import PolicyId, TemplateId, UserId
from chamberlain.directory.groups import MemberShipType, ObservedGroup, WantedGroup
from chamberlain.directory.mailboxes import (
    EFFECTS,
    AddressFields,
    MailboxOrder,
    MailboxProperties,
    MailboxType,
    ObservedMailbox,
    Place,
    RoomEquipment,
    WantedMailbox,
    is_done,
)
from chamberlain.directory.properties import PROPERTIES, DriftProperty, Treatment, treatment_faults, treatment_of
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import AddedBy, ObservedSubject, Sharing
from chamberlain.drift.compare import (
    Difference,
    assignment_differences,
    group_differences,
    mailbox_differences,
    others_permitted,
)
from chamberlain.drift.repair import assignment_repair, group_repair, mailbox_repair, needed_steps
from tests.directory.test_guest_plans import CLEARED, DONE, GROUP_DONE, SITE
from tests.directory.test_guest_plans import WANTED as ASSIGNED
from tests.drift.drift_values import EVERYTHING, FULL, SEND, TEAM, shown_group, shown_of, wanted_of
from tests.groups.group_values import ADA, BEN, CLEO, DARA, ELI

pytestmark = pytest.mark.pure

P = DriftProperty
SHARED, EQUIPMENT, ROOM = MailboxType.SHARED, MailboxType.EQUIPMENT, MailboxType.ROOM


def of_mailbox(
    of_type: MailboxType, changed: Callable[[ObservedMailbox], ObservedMailbox], order: MailboxOrder = EVERYTHING
) -> list[Difference]:
    wanted = wanted_of(of_type, order)
    return list(mailbox_differences(wanted, changed(shown_of(wanted)), replies_freely=False))


def fields_with(**values: Any) -> Callable[[ObservedMailbox], ObservedMailbox]:  # noqa: ANN401 - the fields are of many types.
    return lambda shown: replace(shown, address_fields=replace(shown.address_fields, **values))


def place_with(**values: Any) -> Callable[[ObservedMailbox], ObservedMailbox]:  # noqa: ANN401 - the fields are of many types.
    return lambda shown: replace(shown, place=replace(shown.place or Place(), **values))


def with_equipment(**values: Any) -> Callable[[ObservedMailbox], ObservedMailbox]:  # noqa: ANN401 - the fields are of many types.
    return lambda shown: place_with(equipment=replace((shown.place or Place()).equipment, **values))(shown)


def with_values(**values: Any) -> Callable[[ObservedMailbox], ObservedMailbox]:  # noqa: ANN401 - the fields are of many types.
    return lambda shown: replace(shown, **values)


MAILBOX_CASES = [
    (SHARED, with_values(display_name="Desk 2"), P.MAILBOX_DISPLAY_NAME, "The desk", "Desk 2", (Step.SET_PROPERTIES,)),
    (SHARED, with_values(mail="other@estate.example"), P.MAILBOX_ADDRESS, "desk@estate.example",
     "other@estate.example", ()),
    (SHARED, with_values(aliases=("x@estate.example",)), P.MAILBOX_ALIAS, ["counter@estate.example"],
     ["x@estate.example"], (Step.SET_ALIASES,)),
    (ROOM, fields_with(street_address="2 Low Street"), P.MAILBOX_STREET_ADDRESS, "1 High Street", "2 Low Street",
     (Step.SET_ADDRESS_FIELDS,)),
    (ROOM, fields_with(office_location=None), P.MAILBOX_OFFICE_LOCATION, "HQ", None, (Step.SET_ADDRESS_FIELDS,)),
    (SHARED, fields_with(company_name="X"), P.MAILBOX_COMPANY_NAME, "Estate", "X", (Step.SET_ADDRESS_FIELDS,)),
    (SHARED, fields_with(postal_code="X"), P.MAILBOX_POSTAL_CODE, "8000", "X", (Step.SET_ADDRESS_FIELDS,)),
    (SHARED, fields_with(city="X"), P.MAILBOX_CITY, "Town", "X", (Step.SET_ADDRESS_FIELDS,)),
    (SHARED, fields_with(country="X"), P.MAILBOX_COUNTRY, "Switzerland", "X", (Step.SET_ADDRESS_FIELDS,)),
    (SHARED, fields_with(phone="X"), P.MAILBOX_PHONE, "+41 44 000 00 00", "X", (Step.SET_ADDRESS_FIELDS,)),
    (SHARED, fields_with(department="X"), P.MAILBOX_DEPARTMENT, "Sales", "X", (Step.SET_ADDRESS_FIELDS,)),
    (SHARED, fields_with(business_phones=("1",)), P.MAILBOX_BUSINESS_PHONES, ["1", "2"], ["1"],
     (Step.SET_ADDRESS_FIELDS,)),
    (SHARED, fields_with(notes="X"), P.MAILBOX_NOTES, "A note.", "X", (Step.SET_ADDRESS_FIELDS,)),
    (SHARED, with_values(quota_megabytes=1), P.MAILBOX_CAPACITY, 12, 1, (Step.SET_QUOTA,)),
    (EQUIPMENT, with_values(capacity=1), P.MAILBOX_CAPACITY, 12, 1, (Step.SET_CAPACITY,)),
    (ROOM, place_with(capacity=1), P.MAILBOX_CAPACITY, 12, 1, (Step.SET_PLACE,)),
    (ROOM, place_with(audio_device_name="X"), P.MAILBOX_AUDIO_DEVICE, "Speaker", "X", (Step.SET_PLACE,)),
    (ROOM, place_with(display_device_name="X"), P.MAILBOX_DISPLAY_DEVICE, "Screen", "X", (Step.SET_PLACE,)),
    (ROOM, place_with(video_device_name="X"), P.MAILBOX_VIDEO_DEVICE, "Camera", "X", (Step.SET_PLACE,)),
    (ROOM, place_with(is_wheel_chair_accessible=False), P.MAILBOX_WHEEL_CHAIR, True, False, (Step.SET_PLACE,)),
    (ROOM, place_with(tags=("loud",)), P.MAILBOX_TAGS, ["quiet", "bright"], ["loud"], (Step.SET_PLACE,)),
    (ROOM, with_equipment(has_conference_phone=None), P.MAILBOX_CONFERENCE_PHONE, True, None, (Step.SET_PLACE,)),
    (ROOM, with_equipment(has_whiteboard=True), P.MAILBOX_WHITEBOARD, False, True, (Step.SET_PLACE,)),
    (ROOM, with_equipment(has_video_conferencing=False), P.MAILBOX_VIDEO_CONFERENCING, True, False,
     (Step.SET_PLACE,)),
    (ROOM, with_values(books_automatically=False), P.MAILBOX_BOOKING, True, False, (Step.SET_BOOKING,)),
    (EQUIPMENT, with_values(automatic_reply="No."), P.MAILBOX_AUTOMATIC_REPLY, "Thanks.", "No.",
     (Step.SET_AUTOMATIC_REPLY,)),
    (SHARED, with_values(is_hidden=False), P.MAILBOX_HIDDEN, True, False, (Step.SET_VISIBILITY,)),
    (SHARED, with_values(permissions={BEN: FULL}), P.MAILBOX_PERMISSIONS, {str(CLEO): "SendAs"},
     {str(CLEO): "None"}, (Step.SET_PERMISSIONS,)),
    (SHARED, with_values(permissions={BEN: FULL, CLEO: SEND, DARA: SEND}), P.MAILBOX_PERMISSIONS,
     {str(DARA): "None"}, {str(DARA): "SendAs"}, (Step.SET_PERMISSIONS,)),
    (SHARED, with_values(auto_mapped=frozenset()), P.MAILBOX_AUTO_MAPPING, {str(BEN): True}, {str(BEN): False},
     (Step.SET_PERMISSIONS,)),
    (SHARED, with_values(permissions={BEN: FULL, CLEO: SEND, ELI: FULL}), P.MAILBOX_ADDITIONAL_PERMISSIONS, {},
     {str(ELI): "FullAccess"}, (Step.SET_PERMISSIONS,)),
    (SHARED, with_values(owners=(BEN,)), P.MAILBOX_OWNERS, [str(BEN), str(CLEO)], [str(BEN)], (Step.SET_OWNERS,)),
]  # fmt: skip


@pytest.mark.parametrize(("of_type", "change", "name", "wanted", "observed", "steps"), MAILBOX_CASES)
def test_it_works(
    *,
    of_type: MailboxType,
    change: Callable[[ObservedMailbox], ObservedMailbox],
    name: DriftProperty,
    wanted: object,
    observed: object,
    steps: tuple[Step, ...],
) -> None:
    (difference,) = of_mailbox(of_type, change)

    assert (difference.name, difference.wanted, difference.observed) == (name, wanted, observed)
    assert difference.steps == steps


def changed_group(**values: Any) -> Callable[[ObservedGroup], ObservedGroup]:  # noqa: ANN401 - the fields are of many types.
    return lambda shown: replace(shown, **values)


GROUP_CASES = [
    (changed_group(display_name="Moon"), P.GROUP_DISPLAY_NAME, "Apollo", "Moon", (Step.SET_PROPERTIES,)),
    (changed_group(mail="moon@estate.example"), P.GROUP_MAIL, "apollo@estate.example", "moon@estate.example", ()),
    (changed_group(description=None), P.GROUP_DESCRIPTION, "Rockets", None, (Step.SET_PROPERTIES,)),
    (changed_group(member_ship_type=MemberShipType.PUBLIC), P.GROUP_MEMBER_SHIP_TYPE, 0, 1, (Step.SET_PROPERTIES,)),
    (changed_group(member_ship_type=MemberShipType.DYNAMIC), P.GROUP_MEMBER_SHIP_TYPE, 0, 2, ()),
    (changed_group(owners=frozenset({ADA})), P.GROUP_OWNERS, [str(BEN)], [], (Step.ADD_OWNERS,)),
    (changed_group(owners=frozenset({ADA, BEN, ELI})), P.GROUP_ADDITIONAL_OWNERS, [], [str(ELI)], ()),
    (changed_group(members=frozenset({ADA, BEN, CLEO})), P.GROUP_MEMBERS, [str(ELI)], [], (Step.ADD_MEMBERS,)),
    (changed_group(members=frozenset({ADA, BEN, CLEO, ELI, DARA})), P.GROUP_ADDITIONAL_MEMBERS, [], [str(DARA)], ()),
    (changed_group(label_id=None), P.GROUP_LABEL, TEAM.label_id, None, (Step.SET_LABEL,)),
    (changed_group(channels=None), P.GROUP_IS_TEAM, True, False, (Step.CREATE_TEAM, Step.CREATE_CHANNELS)),
    (changed_group(channels=("General", "Games")), P.GROUP_CHANNELS, ["Planning"], [], (Step.CREATE_CHANNELS,)),
]  # fmt: skip


@pytest.mark.parametrize(("change", "name", "wanted", "observed", "steps"), GROUP_CASES)
def test_it_works_for_groups_and_teams(
    change: Callable[[ObservedGroup], ObservedGroup],
    name: DriftProperty,
    wanted: object,
    observed: object,
    steps: tuple[Step, ...],
) -> None:
    (difference,) = group_differences(TEAM, change(shown_group(TEAM)))

    assert (difference.name, difference.wanted, difference.observed) == (name, wanted, observed)
    assert difference.steps == steps


def ruled(**values: Any) -> ObservedSubject:  # noqa: ANN401 - the fields are of many types.
    assert DONE.rules is not None
    return replace(DONE, rules=replace(DONE.rules, **values))


ASSIGNMENT_CASES = [
    (replace(DONE, template_id=None), P.ASSIGNMENT_TEMPLATE, str(UUID(int=2)), None, Step.MARK_ASSIGNMENT),
    (replace(DONE, policy_id=PolicyId(UUID(int=9))), P.ASSIGNMENT_POLICY, str(UUID(int=3)), str(UUID(int=9)),
     Step.MARK_ASSIGNMENT),
    (ruled(allowed=False), P.ASSIGNMENT_ALLOWED, True, False, Step.SET_GUEST_ACCESS),
    (ruled(added_by=AddedBy.MEMBERS), P.ASSIGNMENT_ADDED_BY, "owners", "members", Step.SET_GUEST_ACCESS),
    (ruled(allowed_domains=("a.example",)), P.ASSIGNMENT_ALLOWED_DOMAINS, ["a.example", "b.example"], ["a.example"],
     Step.SET_GUEST_DOMAINS),
    (ruled(blocked_domains=()), P.ASSIGNMENT_BLOCKED_DOMAINS, ["c.example"], [], Step.SET_GUEST_DOMAINS),
    (replace(DONE, site=replace(SITE, sharing=Sharing.ANYONE)), P.ASSIGNMENT_SHARING, "existingGuests", "anyone",
     Step.SET_SHARING_CAPABILITY),
]  # fmt: skip


@pytest.mark.parametrize(("observed", "name", "wanted", "shown", "step"), ASSIGNMENT_CASES)
def test_it_works_for_assignments(
    observed: ObservedSubject, name: DriftProperty, wanted: object, shown: object, step: Step
) -> None:
    (difference,) = assignment_differences(ASSIGNED, observed)

    assert (difference.name, difference.wanted, difference.observed) == (name, wanted, shown)
    assert difference.steps == (step,)


def test_every_property_has_a_case() -> None:
    tried = {case[2] for case in MAILBOX_CASES} | {case[1] for case in (*GROUP_CASES, *ASSIGNMENT_CASES)}

    assert tried | {P.MAILBOX_EXISTS, P.GROUP_EXISTS} == set(P) == PROPERTIES.keys()


@pytest.mark.parametrize("of_type", MailboxType)
def test_nothing_differs_of_what_is_as_it_is_wanted(of_type: MailboxType) -> None:
    assert of_mailbox(of_type, lambda shown: shown) == []
    assert list(group_differences(TEAM, shown_group(TEAM))) == []
    assert list(assignment_differences(ASSIGNED, DONE)) == []
    assert list(assignment_differences(ASSIGNED, GROUP_DONE)) == []


def test_order_and_letter_case_are_no_difference() -> None:
    def other_ways(shown: ObservedMailbox) -> ObservedMailbox:
        fields_ = replace(shown.address_fields, business_phones=("2", "1"))
        return replace(shown, mail="Desk@Estate.example", aliases=("COUNTER@estate.example",), address_fields=fields_)

    assert of_mailbox(SHARED, other_ways) == []
    assert list(assignment_differences(ASSIGNED, ruled(allowed_domains=("B.example", "a.example.")))) == []


def test_an_unreported_mapping_is_not_compared() -> None:
    assert of_mailbox(SHARED, with_values(auto_mapped=None)) == []


def test_what_nobody_asked_for_is_as_it_may_be() -> None:
    """A mailbox of nothing but its names may show anything."""
    wanted = wanted_of(ROOM, MailboxOrder("Desk", "The desk"))
    shown = replace(shown_of(wanted_of(ROOM)), permissions={}, auto_mapped=frozenset())

    assert list(mailbox_differences(wanted, shown, replies_freely=False)) == []


def test_a_reply_that_people_may_set_is_not_looked_at() -> None:
    wanted = wanted_of(SHARED)
    shown = replace(shown_of(wanted), automatic_reply="On holiday.")

    assert list(mailbox_differences(wanted, shown, replies_freely=True)) == []
    assert len(list(mailbox_differences(wanted, shown, replies_freely=False))) == 1


def test_what_is_gone_is_one_difference() -> None:
    (mailbox,) = mailbox_differences(wanted_of(SHARED), None, replies_freely=False)
    (group,) = group_differences(TEAM, None)

    assert (mailbox.name, mailbox.wanted, mailbox.observed, mailbox.steps) == (P.MAILBOX_EXISTS, True, False, ())
    assert (group.name, group.wanted, group.observed) == (P.GROUP_EXISTS, True, False)


def test_members_of_a_dynamic_group_follow_its_rule() -> None:
    wanted = replace(TEAM, member_ship_type=MemberShipType.DYNAMIC, membership_rule="x", members=())
    shown = replace(shown_group(wanted), members=frozenset({DARA}))

    assert list(group_differences(wanted, shown)) == []


def test_without_a_template_guests_may_do_what_somebody_has_set() -> None:
    wanted = replace(ASSIGNED, template_id=None, rules=None)

    assert list(assignment_differences(wanted, replace(DONE, template_id=None))) == []
    assert list(assignment_differences(CLEARED, replace(DONE, template_id=None, policy_id=None))) == []


@pytest.mark.parametrize(
    ("difference", "sentence"),
    [
        (of_mailbox(SHARED, with_values(is_hidden=False))[0],
         "Whether the address list hides the mailbox: wanted is yes, and the directory shows no."),
        (of_mailbox(ROOM, fields_with(city=None))[0],
         'The city: wanted is "Town", and the directory shows nothing.'),
        (of_mailbox(ROOM, place_with(tags=("a", "b", "c", "d", "e")))[0],
         'The tags: wanted is "quiet", "bright", and the directory shows "a", "b", "c" and 2 more.'),
        (of_mailbox(ROOM, place_with(tags=("a", "b", "c")))[0],
         'The tags: wanted is "quiet", "bright", and the directory shows "a", "b", "c".'),
        (of_mailbox(ROOM, place_with(tags=()))[0],
         'The tags: wanted is "quiet", "bright", and the directory shows nothing.'),
        (of_mailbox(SHARED, with_values(quota_megabytes=None))[0],
         "The capacity: wanted is 12, and the directory shows nothing."),
        (next(group_differences(TEAM, replace(shown_group(TEAM), member_ship_type=MemberShipType.PUBLIC))),
         'The membership type: wanted is "private", and the directory shows "public".'),
    ],
)  # fmt: skip
def test_a_difference_is_a_sentence(difference: Difference, sentence: str) -> None:
    assert difference.detail == sentence


@given(data=st.data(), of_type=st.sampled_from(MailboxType))
def test_the_steps_of_a_difference_put_right_what_differs_and_nothing_else(
    data: st.DataObject, of_type: MailboxType
) -> None:
    """Of a mailbox that is changed in many places some properties are put right: the others stay as they are."""
    cases = [case for case in MAILBOX_CASES if case[0] is of_type]
    chosen = data.draw(st.lists(st.sampled_from(cases), unique_by=id))
    wanted = wanted_of(of_type)
    observed = shown_of(wanted)
    for case in chosen:
        observed = case[1](observed)
    differences = list(mailbox_differences(wanted, observed, replies_freely=False))
    possible = [each for each in differences if each.steps]
    repaired = [each for each in possible if data.draw(st.booleans())]
    broken = {each.name for each in repaired}

    narrow = mailbox_repair(wanted, observed, broken)

    for step, effect in EFFECTS.items():
        if step is not Step.CREATE_MAILBOX and step not in needed_steps(repaired):
            assert not effect.is_wanted(narrow), step
    healed = brought_about(narrow, observed)
    left = {each.name for each in mailbox_differences(wanted, healed, replies_freely=False)}
    assert left == {each.name for each in differences} - broken
    assert all(is_done(step, narrow, healed) for step in needed_steps(repaired))


def brought_about(wanted: WantedMailbox, observed: ObservedMailbox) -> ObservedMailbox:
    """The mailbox of a directory that applies the whole desired state at once."""
    place = None
    if wanted.place is not None and observed.place is not None:
        equipment = _overlaid(wanted.place.equipment, observed.place.equipment)
        place = replace(_overlaid(wanted.place, observed.place), equipment=equipment)
    kept = {user: level for user, level in observed.permissions.items() if user not in wanted.revoked}
    full = {user for user, level in wanted.permissions.items() if level is FULL}
    return replace(
        observed,
        display_name=wanted.display_name,
        aliases=(*observed.aliases, *wanted.aliases),
        address_fields=_overlaid(wanted.address_fields, observed.address_fields),
        place=place,
        books_automatically=wanted.books_automatically or observed.books_automatically,
        automatic_reply=wanted.automatic_reply or observed.automatic_reply,
        quota_megabytes=wanted.quota_megabytes or observed.quota_megabytes,
        capacity=wanted.capacity or observed.capacity,
        is_hidden=observed.is_hidden if wanted.is_hidden is None else wanted.is_hidden,
        permissions={**kept, **wanted.permissions},
        auto_mapped=((observed.auto_mapped or frozenset()) - wanted.permissions.keys())
        | (full if wanted.auto_mapping else set()),
        owners=wanted.owners or observed.owners,
    )


Part = TypeVar("Part", AddressFields, Place, RoomEquipment)


def _overlaid(wanted: Part, observed: Part) -> Part:
    """The desired values, and the observed ones where none are desired."""
    nothing = type(wanted)()
    said = {each.name: getattr(wanted, each.name) for each in fields(wanted)}
    return replace(observed, **{name: each for name, each in said.items() if each != getattr(nothing, name)})


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def test_people_and_domains_are_reported_in_order() -> None:
    # Far apart, so that a set has them in another order.
    users = [UserId(UUID(int=number << 90)) for number in range(1, 60)]
    domains = [f"{number}.example" for number in range(10, 60)]
    wanted = replace(wanted_of(SHARED), permissions=dict.fromkeys(reversed(users), FULL), revoked=frozenset())
    nobody = replace(shown_of(wanted), permissions={}, auto_mapped=frozenset())
    everybody = replace(nobody, permissions=dict.fromkeys(reversed(users), FULL))

    missing = {each.name: each for each in mailbox_differences(wanted, nobody, replies_freely=False)}
    unmapped = {each.name: each for each in mailbox_differences(wanted, everybody, replies_freely=False)}
    ruled_out = ruled(allowed_domains=tuple(reversed(domains)), blocked_domains=("Z.example", *reversed(domains)))
    rules = {each.name: each for each in assignment_differences(ASSIGNED, ruled_out)}

    assert _keys(missing[P.MAILBOX_PERMISSIONS].wanted) == _keys(missing[P.MAILBOX_PERMISSIONS].observed)
    assert _keys(missing[P.MAILBOX_PERMISSIONS].wanted) == [str(user) for user in users]
    assert _keys(unmapped[P.MAILBOX_AUTO_MAPPING].wanted) == [str(user) for user in users]
    assert others_permitted(replace(wanted, permissions={}), everybody) == tuple(users)
    assert rules[P.ASSIGNMENT_ALLOWED_DOMAINS].observed == domains
    assert rules[P.ASSIGNMENT_BLOCKED_DOMAINS].observed == [*domains, "z.example"]
    assert [*mailbox_repair(wanted, nobody, {P.MAILBOX_PERMISSIONS}).permissions] == users


def _keys(value: object) -> list[str]:
    assert isinstance(value, dict)
    return [*value]


def test_a_group_gets_back_its_owner_and_nobody_else() -> None:
    observed = replace(shown_group(TEAM), owners=frozenset({ADA}), members=frozenset({ADA}), label_id=None)

    narrow = group_repair(TEAM, observed, {P.GROUP_OWNERS})

    assert (narrow.owners, narrow.members) == ((BEN,), (BEN,))
    assert (narrow.label_id, narrow.channels) == (None, None)
    assert narrow.marks == {"requestId": str(TEAM.request_id)}


@pytest.mark.parametrize(
    ("broken", "narrow"),
    [
        ({P.GROUP_LABEL}, replace(TEAM, owners=(), members=(), channels=None)),
        ({P.GROUP_MEMBERS}, replace(TEAM, owners=(), members=(CLEO, ELI), label_id=None, channels=None)),
        ({P.GROUP_CHANNELS}, replace(TEAM, owners=(), members=(), label_id=None)),
    ],
)
def test_of_a_group_only_what_is_put_right_is_wanted(broken: set[DriftProperty], narrow: WantedGroup) -> None:
    observed = replace(shown_group(TEAM), members=frozenset({ADA, BEN}))

    assert group_repair(TEAM, observed, broken) == narrow


@pytest.mark.parametrize(
    ("name", "field"),
    [
        (P.GROUP_DISPLAY_NAME, "display_name"),
        (P.GROUP_DESCRIPTION, "description"),
        (P.GROUP_MEMBER_SHIP_TYPE, "member_ship_type"),
        (P.GROUP_LABEL, None),
    ],
)
def test_one_value_of_a_group_is_put_right_and_the_others_stay(name: P, field: str | None) -> None:
    shown: dict[str, Any] = {
        "display_name": "Moon",
        "description": "Landers",
        "member_ship_type": MemberShipType.PUBLIC,
    }

    narrow = group_repair(TEAM, replace(shown_group(TEAM), **shown), {name})

    assert {each: getattr(narrow, each) for each in shown} == {
        each: getattr(TEAM, each) if each == field else value for each, value in shown.items()
    }


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("allowed", P.ASSIGNMENT_ALLOWED),
        ("added_by", P.ASSIGNMENT_ADDED_BY),
        ("allowed_domains", P.ASSIGNMENT_ALLOWED_DOMAINS),
        ("blocked_domains", P.ASSIGNMENT_BLOCKED_DOMAINS),
    ],
)
def test_one_rule_is_put_right_without_the_others(field: str, name: P) -> None:
    shown: dict[str, Any] = {
        "allowed": False,
        "added_by": AddedBy.MEMBERS,
        "allowed_domains": ("a.example",),
        "blocked_domains": ("b.example",),
    }

    narrow = assignment_repair(ASSIGNED, ruled(**shown), {name})

    assert narrow.rules is not None
    assert ASSIGNED.rules is not None
    kept = {each: getattr(narrow.rules, each) for each in shown if each != field}
    assert kept == {each: value for each, value in shown.items() if each != field}
    assert getattr(narrow.rules, field) == getattr(ASSIGNED.rules, field) != shown[field]


def test_one_step_leaves_what_may_differ_as_it_is() -> None:
    observed = ruled(allowed=False, added_by=AddedBy.MEMBERS)
    observed = replace(observed, policy_id=PolicyId(UUID(int=9)), template_id=TemplateId(UUID(int=8)))

    narrow = assignment_repair(ASSIGNED, observed, {P.ASSIGNMENT_ALLOWED, P.ASSIGNMENT_TEMPLATE})

    assert narrow.rules is not None
    assert (narrow.rules.allowed, narrow.rules.added_by) == (True, AddedBy.MEMBERS)
    assert (narrow.template_id, narrow.policy_id) == (ASSIGNED.template_id, observed.policy_id)


@pytest.mark.parametrize("name", DriftProperty)
def test_a_tenant_says_how_a_property_is_treated(name: DriftProperty) -> None:
    assert treatment_of(name, {}) is PROPERTIES[name].treatment
    assert treatment_of(name, {name: Treatment.OBSERVED}) is Treatment.OBSERVED
    faults = list(treatment_faults({name: Treatment.MANAGED}, "/repair/properties"))
    assert [fault.pointer for fault in faults] == (
        [] if PROPERTIES[name].is_repairable else [f"/repair/properties/{name}"]
    )
    assert PROPERTIES[name].is_repairable or PROPERTIES[name].treatment is not Treatment.MANAGED


@pytest.mark.parametrize(
    ("name", "treatment"),
    [
        (P.GROUP_DISPLAY_NAME, Treatment.OBSERVED),
        (P.GROUP_DESCRIPTION, Treatment.IGNORED),
        (P.GROUP_MEMBERS, Treatment.IGNORED),
        (P.GROUP_ADDITIONAL_OWNERS, Treatment.IGNORED),
        (P.GROUP_OWNERS, Treatment.MANAGED),
        (P.MAILBOX_PERMISSIONS, Treatment.MANAGED),
        (P.ASSIGNMENT_ALLOWED, Treatment.MANAGED),
    ],
)
def test_what_people_may_change_by_themselves_is_left_alone(name: DriftProperty, treatment: Treatment) -> None:
    assert treatment_of(name, {}) is treatment


def test_what_no_step_leads_to_can_only_be_observed_or_ignored() -> None:
    assert {name for name in P if not PROPERTIES[name].is_repairable} == {
        P.MAILBOX_EXISTS,
        P.MAILBOX_ADDRESS,
        P.GROUP_EXISTS,
        P.GROUP_MAIL,
        P.GROUP_ADDITIONAL_OWNERS,
        P.GROUP_ADDITIONAL_MEMBERS,
    }
    assert [(fault.pointer, fault.code) for fault in treatment_faults({P.GROUP_MAIL: Treatment.MANAGED}, "/x")] == [
        ("/x/group.mail", "unknownValue")
    ]


def test_every_property_of_a_mailbox_that_a_step_brings_about_is_compared() -> None:
    """Properties that are never compared: the directory does not hold them, or another property covers them."""
    elsewhere = {
        "metadata": None,
        "state": None,
        "domain": P.MAILBOX_ADDRESS,
        "primary_owner": P.MAILBOX_OWNERS,
        "secondary_owner": P.MAILBOX_OWNERS,
        "hide_from_gal": P.MAILBOX_HIDDEN,
        "room_mailbox_metadata": P.MAILBOX_WHITEBOARD,
        "is_allow_automatic_reply_override": None,
        "reason": None,
    }
    paths = {name.path for name in P if name.startswith("mailbox.")}

    for field in fields(MailboxProperties):
        assert field.name in elsewhere or _camel(field.name) in paths
