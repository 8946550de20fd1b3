# SPDX-License-Identifier: Apache-2.0
"""In what parts groups are run, and in what portions their actions are asked for."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from chamberlain.core.ids import GroupId, JobId, TraceId, UserId
from chamberlain.directory.subjects import Guest
from chamberlain.guests.policies.evaluation import (
    AssignedPolicy,
    Membership,
    PolicyTask,
    Run,
    keep_due,
    split_actions,
    split_by_guests,
    start_run,
)
from chamberlain.guests.policies.timers import Timer, guest_schedules, start_timer
from chamberlain.queue.models import Job, JobKind
from tests.groups.group_values import TENANT
from tests.guests.policies.policy_timeline import ASSIGNED_AT, GIL, NINETY_DAYS, POLICY, SUBJECT, moment

pytestmark = pytest.mark.pure

[COURSE] = guest_schedules(NINETY_DAYS)
PRESENT = Membership((GIL,), 2)


def guests(number: int) -> tuple[Guest, ...]:
    """So many guests."""
    return tuple([replace(GIL, id=UserId(UUID(int=100 + each))) for each in range(number)])


def job(group: int) -> Job:
    """The job of the group with this number."""
    return Job(JobId(group), TENANT, JobKind.POLICY_EVALUATE, UUID(int=group), TraceId("0" * 32), 0, ASSIGNED_AT)


def run_of(group: int, due: Sequence[Timer]) -> Run:
    """A run of the group with this number in which these are due."""
    policy = AssignedPolicy(POLICY, NINETY_DAYS, ASSIGNED_AT, is_begun=True, idle=None)
    task = PolicyTask((TENANT, GroupId(UUID(int=group))), SUBJECT, policy)
    return keep_due(start_run(job(group), task, PRESENT, moment(0)), tuple(due))


def test_it_works() -> None:
    task = PolicyTask(
        (TENANT, SUBJECT.id), SUBJECT, AssignedPolicy(POLICY, NINETY_DAYS, ASSIGNED_AT, is_begun=False, idle=None)
    )

    run = start_run(job(1), task, PRESENT, moment(0))

    assert [timer.guest for timer in run.evaluation.changed] == [GIL]
    assert run.is_over
    assert run.idle is not None


@pytest.mark.parametrize(
    ("numbers", "most", "parts"),
    [
        ((), 10, [[]]),
        ((1, 2, 3), 10, [[0, 1, 2]]),
        ((5, 5, 1), 10, [[0, 1], [2]]),
        # Those of one group share a part, however many they are.
        ((11, 1), 10, [[0], [1]]),
        ((1, 11), 10, [[0], [1]]),
        # A group that the directory does not show has no guests.
        ((10, None, 1), 10, [[0, 1], [2]]),
    ],
)
def test_a_part_has_so_many_guests_or_is_one_group(
    numbers: Sequence[int | None], most: int, parts: list[list[int]]
) -> None:
    places = [(TENANT, GroupId(UUID(int=group))) for group in range(len(numbers))]
    wanted = {place: job(group) for group, place in enumerate(places)}
    present = {
        place: Membership(guests(number), 2)
        for place, number in zip(places, numbers, strict=True)
        if number is not None
    }

    found = [[places.index(place) for place in part] for part in split_by_guests(wanted, present, most)]

    assert found == parts


@pytest.mark.parametrize(
    ("numbers", "most", "batches"),
    [
        ((), 3, []),
        ((2,), 3, [[(0, 2, True)]]),
        ((3, 3), 3, [[(0, 3, True)], [(1, 3, True)]]),
        # A group is in as many portions as its actions fill, and the last of them is known.
        ((7,), 3, [[(0, 3, False)], [(0, 3, False)], [(0, 1, True)]]),
        ((2, 2, 2), 3, [[(0, 2, True), (1, 1, False)], [(1, 1, True), (2, 2, True)]]),
    ],
)
def test_a_portion_has_so_many_actions(
    numbers: Sequence[int], most: int, batches: list[list[tuple[int, int, bool]]]
) -> None:
    due = [[start_timer(COURSE, guest, POLICY, at=moment(0)) for guest in guests(number)] for number in numbers]
    runs = [run_of(group, timers) for group, timers in enumerate(due)]

    asked = list(split_actions(runs, most))

    assert [[(run.job.subject.int, len(run.evaluation.due), run.is_last) for run in each] for each in asked] == batches
    for group, timers in enumerate(due):
        assert [
            timer for each in asked for run in each if run.job.subject.int == group for timer in run.evaluation.due
        ] == timers
