# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.directory.steps import Step
from chamberlain.requests.models import (
    ENDED,
    Progress,
    RequestError,
    RequestRecord,
    RequestState,
    StepRecord,
    StepState,
    Waiting,
    begin_steps,
)
from chamberlain.requests.steps import Entry, EntryKind, Happening, StateEntry, Timeline, entries_of, happenings_of
from tests.http.http_fixture import record

pytestmark = pytest.mark.pure

MOMENT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
LATER = MOMENT + timedelta(seconds=5)
FIRST = Entry(EntryKind.STATE, state=StateEntry(RequestState.QUEUED, MOMENT))
WAITING = Waiting(Step.CREATE_TEAM, "Not yet.", 1, LATER, MOMENT + timedelta(hours=2))
STEP = StepRecord(Step.CREATE_GROUP, StepState.SUCCEEDED, 1, MOMENT, LATER)


def state(to: RequestState, **more: object) -> Entry:
    return Entry(EntryKind.STATE, state=replace(StateEntry(to, LATER), **more))  # type: ignore[arg-type]  # any member of it


RUNNING, SUCCEEDED = state(RequestState.RUNNING), state(RequestState.SUCCEEDED)


def test_it_works() -> None:
    timeline = Timeline(RequestState.SUCCEEDED, FIRST, 2, (RUNNING, SUCCEEDED))

    assert timeline.after(0) == [(1, FIRST), (2, RUNNING), (3, SUCCEEDED)]
    assert timeline.after(2) == [(3, SUCCEEDED)]
    assert timeline.after(3) == []
    assert (timeline.newest, timeline.has_ended) == (3, True)


def test_a_request_that_was_just_accepted_has_one_entry() -> None:
    timeline = Timeline(RequestState.QUEUED, FIRST, 2, ())

    assert (timeline.after(0), timeline.newest, timeline.has_ended) == ([(1, FIRST)], 1, False)
    assert timeline.result is None


def test_numbers_stay_when_old_entries_are_dropped() -> None:
    timeline = Timeline(RequestState.RUNNING, FIRST, 150, (SUCCEEDED, RUNNING))

    assert timeline.after(0) == [(1, FIRST), (150, SUCCEEDED), (151, RUNNING)]
    assert timeline.after(20) == [(150, SUCCEEDED), (151, RUNNING)]
    assert timeline.newest == 151


def test_a_run_adds_the_steps_that_it_changed_and_then_the_state() -> None:
    before = begin_steps((Step.CREATE_GROUP, Step.CREATE_TEAM))
    progress = Progress(RequestState.WAITING, (STEP, before[1]), waiting=WAITING)

    entries = entries_of(before, progress, result=None, at=LATER)

    assert entries == (Entry(EntryKind.STEP, step=STEP), state(RequestState.WAITING, waiting=WAITING))


def test_a_state_is_reported_as_it_was() -> None:
    error = RequestError(Step.CREATE_TEAM, "directoryNotReady", "Not yet.")
    now = replace(record(), state=RequestState.FAILED, error=error, updated_at=LATER, finished_at=LATER)
    entries = [(1, FIRST), (2, state(RequestState.WAITING, waiting=WAITING)), (3, Entry(EntryKind.STEP, step=STEP))]

    first, second, third = happenings_of(now, entries)

    assert first == Happening(1, replace(record(), state=RequestState.QUEUED, updated_at=MOMENT))
    assert second == Happening(2, replace(record(), state=RequestState.WAITING, waiting=WAITING, updated_at=LATER))
    assert third == Happening(3, STEP)


@pytest.mark.parametrize("to", RequestState)
def test_what_has_ended_has_the_time_of_its_end(to: RequestState) -> None:
    (happening,) = happenings_of(record(), [(2, state(to))])

    assert happening.what == replace(record(), state=to, updated_at=LATER, finished_at=LATER if to in ENDED else None)


@pytest.mark.parametrize("to", RequestState)
def test_only_what_waits_for_an_approval_is_blocked(to: RequestState) -> None:
    blocked = replace(record(), state=RequestState.PENDING_APPROVAL, blocked="noApprover")

    (happening,) = happenings_of(blocked, [(2, state(to))])

    assert isinstance(happening.what, RequestRecord)
    assert happening.what.blocked == ("noApprover" if to is RequestState.PENDING_APPROVAL else None)


def test_watchers_are_reported_these_kinds() -> None:
    assert [str(each) for each in EntryKind] == ["state", "step", "approval"]
