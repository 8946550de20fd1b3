# SPDX-License-Identifier: Apache-2.0
"""Looks at single things: what counts as different in a tenant, who is missing, and what is put right in one turn."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from chamberlain.core.ids import GroupId, MailboxId, UserId
from chamberlain.directory.mailboxes import MailboxType
from chamberlain.directory.properties import DriftProperty, Treatment
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import PresentGuests, SubjectType
from chamberlain.drift.compare import Comparison, Difference, compare, compare_without, missing_people
from chamberlain.drift.models import ManagedAssignment, ManagedGroup, ManagedMailbox, Observed, people_in
from chamberlain.drift.repair import split_by_steps
from chamberlain.guests.models import Assigned, Assignment, FindingMailbox, FindingSubject
from chamberlain.templates.models import GuestTemplate
from tests.directory.test_guest_plans import DONE, POLICY, RULES, TEMPLATE
from tests.drift.drift_values import FULL, TEAM, shown_group, shown_of, wanted_of
from tests.groups.group_values import ADA, BEN, CLEO, DARA, ELI, TENANT
from tests.mailboxes.mailbox_values import HOUSE

pytestmark = pytest.mark.pure

P = DriftProperty
NOW = datetime(2026, 11, 20, 2, tzinfo=UTC)
WANTED = wanted_of(MailboxType.SHARED)
SHOWN = shown_of(WANTED)
MAILBOX = ManagedMailbox(FindingMailbox(TENANT, MailboxId(UUID(int=1)), "The desk"), NOW, WANTED, replies_freely=False)
CREW = FindingSubject(TENANT, GroupId(UUID(int=2)), SubjectType.GROUP, "Apollo")
GROUP = ManagedGroup(CREW, NOW, TEAM)
ASSIGNED = Assigned(
    tenant_id=TENANT,
    id=CREW.id,
    type=SubjectType.SITE,
    display_name="Apollo",
    extension="chamberlain_group",
    generation=1,
    assignment=Assignment(TEMPLATE, POLICY),
    template=GuestTemplate("Partners", RULES, PresentGuests.KEEP),
)
ASSIGNMENT = ManagedAssignment(CREW, NOW, ASSIGNED)
# People are looked after in this tenant.
WATCHFUL = replace(HOUSE, repair_properties={P.GROUP_MEMBERS: Treatment.MANAGED})


def names(look: Comparison) -> list[DriftProperty]:
    return [each.name for each in look.differences]


def test_it_works() -> None:
    assert names(compare(HOUSE, MAILBOX, SHOWN)) == []
    assert names(compare(HOUSE, MAILBOX, replace(SHOWN, is_hidden=False))) == [P.MAILBOX_HIDDEN]
    assert names(compare(HOUSE, MAILBOX, None)) == [P.MAILBOX_EXISTS]
    assert names(compare(HOUSE, GROUP, replace(shown_group(TEAM), display_name="Moon"))) == [P.GROUP_DISPLAY_NAME]
    assert names(compare(HOUSE, GROUP, None)) == [P.GROUP_EXISTS]
    assert names(compare(HOUSE, ASSIGNMENT, DONE)) == []
    assert names(compare(HOUSE, ASSIGNMENT, replace(DONE, policy_id=None))) == [P.ASSIGNMENT_POLICY]
    assert names(compare(HOUSE, ASSIGNMENT, None)) == []
    assert compare(HOUSE, MAILBOX, SHOWN).id == UUID(int=1)


def test_a_reply_that_people_may_set_does_not_count() -> None:
    managed = replace(MAILBOX, replies_freely=True)

    assert names(compare(HOUSE, managed, replace(SHOWN, automatic_reply="On holiday."))) == []


def test_what_a_tenant_ignores_does_not_count() -> None:
    tenant = replace(HOUSE, repair_properties={P.MAILBOX_HIDDEN: Treatment.IGNORED})

    assert names(compare(tenant, MAILBOX, replace(SHOWN, is_hidden=False))) == []
    assert names(compare(HOUSE, GROUP, replace(shown_group(TEAM), members=frozenset({ADA, BEN})))) == []
    assert names(compare(WATCHFUL, GROUP, replace(shown_group(TEAM), members=frozenset({ADA, BEN})))) == [
        P.GROUP_MEMBERS
    ]


def test_a_guest_whom_a_policy_has_removed_is_wanted_no_more() -> None:
    managed = replace(GROUP, removed=frozenset({ELI, BEN}))
    shown = replace(shown_group(TEAM), owners=frozenset({ADA}), members=frozenset({ADA, BEN, CLEO}))

    look = compare(WATCHFUL, managed, shown)

    assert names(look) == []
    assert isinstance(look.managed, ManagedGroup)
    # A user who is there again stays.
    assert (look.managed.wanted.owners, look.managed.wanted.members) == ((ADA,), (ADA, BEN, CLEO))


def test_those_whom_a_mailbox_lacks() -> None:
    shown = replace(SHOWN, owners=(CLEO,), permissions={CLEO: FULL, ELI: FULL}, auto_mapped=frozenset({CLEO}))

    assert missing_people(compare(HOUSE, MAILBOX, SHOWN)) == frozenset()
    assert missing_people(compare(HOUSE, MAILBOX, shown)) == {BEN}
    assert missing_people(compare(HOUSE, MAILBOX, replace(SHOWN, owners=()))) == {BEN, CLEO}
    assert missing_people(compare(HOUSE, MAILBOX, None)) == frozenset()


def test_those_whom_a_group_lacks() -> None:
    no_owner = replace(shown_group(TEAM), owners=frozenset({ADA}))
    no_member = replace(shown_group(TEAM), members=frozenset({ADA, BEN}))

    assert missing_people(compare(HOUSE, GROUP, shown_group(TEAM))) == frozenset()
    assert missing_people(compare(HOUSE, GROUP, no_owner)) == {BEN}
    assert missing_people(compare(WATCHFUL, GROUP, no_member)) == {CLEO, ELI}
    # Properties that do not count as different are not looked up.
    assert missing_people(compare(HOUSE, GROUP, no_member)) == frozenset()
    ignoring = replace(HOUSE, repair_properties={P.GROUP_OWNERS: Treatment.IGNORED})
    assert missing_people(compare(ignoring, GROUP, no_owner)) == frozenset()


def test_those_who_have_left_are_wanted_no_more() -> None:
    look = compare(HOUSE, MAILBOX, replace(SHOWN, owners=(CLEO,), permissions={CLEO: WANTED.permissions[CLEO]}))
    group = compare(HOUSE, GROUP, replace(shown_group(TEAM), owners=frozenset({ADA})))

    assert names(look) == [P.MAILBOX_OWNERS, P.MAILBOX_PERMISSIONS]
    assert names(compare_without(HOUSE, look, {BEN, DARA})) == []
    assert names(compare_without(HOUSE, group, {BEN})) == []
    # Another user has left.
    assert compare_without(HOUSE, look, {DARA, UserId(UUID(int=77))}) is look
    assert compare_without(HOUSE, group, {ADA}) is group


def difference(name: DriftProperty, *steps: Step) -> Difference:
    return Difference(name, None, None, steps, "digest")


def test_what_the_same_steps_put_right_is_put_right_together() -> None:
    city, phone = (difference(name, Step.SET_ADDRESS_FIELDS) for name in (P.MAILBOX_CITY, P.MAILBOX_PHONE))
    hidden = difference(P.MAILBOX_HIDDEN, Step.SET_VISIBILITY)
    reply = difference(P.MAILBOX_AUTOMATIC_REPLY, Step.SET_AUTOMATIC_REPLY)
    first, second = compare(HOUSE, MAILBOX, SHOWN), compare(HOUSE, GROUP, shown_group(TEAM))

    turns = split_by_steps([(first, [city, hidden, phone]), (second, [reply]), (first, [reply, hidden, city])])

    assert turns == [
        [(first, [city, phone]), (second, [reply]), (first, [reply])],
        [(first, [hidden]), (first, [hidden])],
        [(first, [city])],
    ]
    assert split_by_steps([]) == []


@pytest.mark.parametrize(
    ("observed", "people"),
    [(SHOWN, 2), (shown_group(TEAM), 6), (DONE, 2), (None, 0)],
)
def test_people_who_are_named_take_memory(observed: Observed | None, people: int) -> None:
    assert people_in(observed) == people
