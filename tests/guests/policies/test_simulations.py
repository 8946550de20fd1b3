# SPDX-License-Identifier: Apache-2.0
"""The counts and texts of a simulation."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.core.ids import GroupId
from chamberlain.directory.subjects import Guest, ObservedSite, ObservedSubject, Sharing, SubjectType
from chamberlain.guests.models import FindingKind, FindingSubject
from chamberlain.guests.policies.models import PolicyAction
from chamberlain.guests.policies.simulation import (
    MAX_OCCURRENCES,
    Occurrence,
    OccurrenceType,
    SimulationRequest,
    SimulationTotals,
    subject_fault,
)
from tests.guests.policies.policy_timeline import ASSIGNED_AT, GIL, HANA, POLICY, SUBJECT, moment
from tests.guests.subjects.subject_values import OBSERVED as EMPTY

pytestmark = pytest.mark.pure

FINDING, REMINDER, ACTION = OccurrenceType.FINDING, OccurrenceType.REMINDER, OccurrenceType.ACTION
EXPIRED, INACTIVE, OWNERS = FindingKind.GUEST_EXPIRED, FindingKind.GUEST_INACTIVE, FindingKind.TOO_FEW_OWNERS
NOTIFY, DELETE = PolicyAction.NOTIFY, PolicyAction.REMOVE
OTHER = replace(SUBJECT, id=GroupId(UUID(int=7)))
GROUP = replace(EMPTY, guests=(GIL, HANA))
SITE = replace(
    GROUP,
    type=SubjectType.SITE,
    site=ObservedSite("https://sites.example/staff", "Staff", Sharing.DISABLED, Sharing.DISABLED),
)


def occurrence(
    day: int,
    type_: OccurrenceType = FINDING,
    kind: FindingKind = EXPIRED,
    guest: Guest | None = GIL,
    *,
    action: PolicyAction = DELETE,
    subject: FindingSubject = SUBJECT,
) -> Occurrence:
    return Occurrence(moment(day), type_, kind, subject, guest, action, None)


def totals() -> SimulationTotals:
    return SimulationTotals(POLICY, ASSIGNED_AT, moment(400))


def test_it_works() -> None:
    found = totals()
    found.add(GROUP, [occurrence(90, ACTION), occurrence(90), occurrence(76, REMINDER), occurrence(83, REMINDER)])
    found.add(
        replace(GROUP, id=OTHER.id, guests=(HANA,)),
        [
            occurrence(80, FINDING, INACTIVE, HANA, subject=OTHER),
            occurrence(80, ACTION, INACTIVE, HANA, action=NOTIFY, subject=OTHER),
            occurrence(95, ACTION, EXPIRED, HANA, subject=OTHER),
        ],
    )

    simulation = found.simulation()

    assert (simulation.policy_id, simulation.since, simulation.until) == (POLICY, ASSIGNED_AT, moment(400))
    assert (simulation.subjects, simulation.guests, simulation.reminders) == (2, 3, 2)
    assert simulation.findings == {EXPIRED: 1, INACTIVE: 1}
    assert list(simulation.actions.items()) == [(NOTIFY, 1), (DELETE, 2)]
    assert [(each.at - ASSIGNED_AT, each.type) for each in simulation.occurrences] == [
        (timedelta(days=day), type_)
        for day, type_ in [
            (76, REMINDER),
            (80, FINDING),
            (80, ACTION),
            (83, REMINDER),
            (90, FINDING),
            (90, ACTION),
            (95, ACTION),
        ]
    ]
    assert simulation.is_whole


def test_nothing_happens_to_nobody() -> None:
    simulation = totals().simulation()

    assert (simulation.subjects, simulation.guests, simulation.reminders) == (0, 0, 0)
    assert (simulation.findings, simulation.actions, simulation.occurrences) == ({}, {}, ())
    assert simulation.is_whole


def test_the_earliest_are_reported_and_all_are_counted() -> None:
    found = totals()
    found.add(GROUP, [occurrence(day) for day in range(150, 0, -1)])
    found.add(GROUP, [occurrence(day, ACTION) for day in range(1, 52)])

    simulation = found.simulation()

    assert MAX_OCCURRENCES == 200
    assert len(simulation.occurrences) == 200
    assert simulation.occurrences[-1].at == moment(149)
    assert (simulation.findings, simulation.actions) == ({EXPIRED: 150}, {DELETE: 51})
    assert not simulation.is_whole


def test_those_of_one_moment_have_an_order() -> None:
    expected = [
        occurrence(1, FINDING, OWNERS, None),
        occurrence(1, REMINDER, EXPIRED, GIL),
        occurrence(1, FINDING, EXPIRED, GIL),
        occurrence(1, ACTION, EXPIRED, GIL),
        occurrence(1, FINDING, INACTIVE, GIL),
        occurrence(1, FINDING, EXPIRED, HANA),
        occurrence(1, FINDING, EXPIRED, GIL, subject=OTHER),
    ]
    found = totals()

    found.add(GROUP, reversed(expected))

    assert list(found.simulation().occurrences) == expected


def test_each_choice_has_its_place() -> None:
    one, two, three = (GroupId(UUID(int=number)) for number in (1, 2, 3))

    assert SimulationRequest((one, two), (three,)).chosen == (
        (SubjectType.GROUP, 0, one),
        (SubjectType.GROUP, 1, two),
        (SubjectType.SITE, 0, three),
    )


@pytest.mark.parametrize(
    ("type_", "observed", "pointer"),
    [
        (SubjectType.GROUP, GROUP, None),
        (SubjectType.SITE, SITE, None),
        (SubjectType.GROUP, SITE, "/groupIds/2"),
        (SubjectType.SITE, GROUP, "/siteIds/2"),
        (SubjectType.GROUP, None, "/groupIds/2"),
        (SubjectType.SITE, None, "/siteIds/2"),
    ],
)
def test_a_choice_has_to_be_there(type_: SubjectType, observed: ObservedSubject | None, pointer: str | None) -> None:
    fault = subject_fault(type_, 2, observed)

    assert (fault and (fault.pointer, fault.code)) == (pointer and (pointer, "groupUnknown"))
