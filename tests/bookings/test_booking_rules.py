# SPDX-License-Identifier: Apache-2.0
"""Versions of invitations, conflicts and decisions."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamberlain.bookings.models import (
    WHOLE,
    Answer,
    AnswerState,
    Appointment,
    Booked,
    Invitation,
    InvitationStatus,
    Method,
    Period,
    Refusal,
    StoredAnswer,
    Version,
)
from chamberlain.bookings.rules import booking_uid, conflicts, decide, is_own, occurrence_uid, peak, status_of

pytestmark = pytest.mark.pure
NOW = datetime(2026, 11, 20, 8, tzinfo=UTC)
DAY = datetime(2026, 12, 1, tzinfo=UTC)
VERA = "vera@outside.example"
OCCURRENCE = "20261208T090000Z"


def hours(start: float, end: float) -> Period:
    return Period(DAY + timedelta(hours=start), DAY + timedelta(hours=end))


def appointment(sequence: int = 0, minutes: int = 0, *, recurrence: str = WHOLE, is_asked: bool = True) -> Appointment:
    return Appointment(recurrence, Version(sequence, NOW + timedelta(minutes=minutes)), (), is_asked)


def known(
    sequence: int = 0,
    minutes: int = 0,
    *,
    recurrence: str = WHOLE,
    method: Method = Method.REQUEST,
    organizer: str = VERA,
    state: AnswerState = AnswerState.DONE,
) -> StoredAnswer:
    version = Version(sequence, NOW + timedelta(minutes=minutes))
    return StoredAnswer(recurrence, version, method, organizer, state, NOW)


def invitation(*periods: Period, is_supported: bool = True, recurrence: str = WHOLE) -> Invitation:
    each = Appointment(recurrence, Version(0, NOW), (), is_supported=is_supported)
    return Invitation("uid", Method.REQUEST, VERA, "birch@estate.example", "Planning", (each,), periods)


def booked(*periods: Period, uid: str = "other", organizer: str | None = None) -> Booked:
    return Booked(uid, organizer, periods)


CANCEL = Method.CANCEL


@pytest.mark.parametrize(
    ("new", "method", "before", "expected"),
    [
        pytest.param(appointment(), Method.REQUEST, [], InvitationStatus.NEW, id="first"),
        pytest.param(appointment(), Method.REQUEST, [known()], InvitationStatus.DONE, id="the same mail twice"),
        pytest.param(
            appointment(),
            Method.REQUEST,
            [known(state=AnswerState.CLAIMED)],
            InvitationStatus.CONTINUED,
            id="cut short",
        ),
        pytest.param(
            appointment(),
            Method.REQUEST,
            [known(state=AnswerState.SENDING)],
            InvitationStatus.CONTINUED,
            id="cut short later",
        ),
        pytest.param(appointment(1), Method.REQUEST, [known()], InvitationStatus.NEW, id="change"),
        pytest.param(
            appointment(0), Method.REQUEST, [known(1)], InvitationStatus.OUTDATED, id="late mail before a change"
        ),
        pytest.param(appointment(0, 5), Method.REQUEST, [known()], InvitationStatus.NEW, id="asked again"),
        pytest.param(
            appointment(0, 5, is_asked=False),
            Method.REQUEST,
            [known()],
            InvitationStatus.DONE,
            id="another guest was added",
        ),
        pytest.param(appointment(0, -5), Method.REQUEST, [known()], InvitationStatus.OUTDATED, id="older stamp"),
        pytest.param(appointment(0, 5), CANCEL, [known()], InvitationStatus.NEW, id="cancelled as by Outlook"),
        pytest.param(appointment(), CANCEL, [known()], InvitationStatus.NEW, id="cancelled with the same stamp"),
        pytest.param(appointment(), CANCEL, [known(method=CANCEL)], InvitationStatus.DONE, id="cancelled twice"),
        pytest.param(
            appointment(),
            Method.REQUEST,
            [known(method=CANCEL)],
            InvitationStatus.OUTDATED,
            id="invitation after its end",
        ),
        pytest.param(
            appointment(0, 9),
            Method.REQUEST,
            [known(method=CANCEL)],
            InvitationStatus.NEW,
            id="invited again after an end",
        ),
        pytest.param(
            appointment(recurrence=OCCURRENCE),
            Method.REQUEST,
            [known()],
            InvitationStatus.NEW,
            id="one occurrence changes",
        ),
        pytest.param(
            appointment(0, 1, recurrence=OCCURRENCE),
            Method.REQUEST,
            [known(1, 9, method=CANCEL)],
            InvitationStatus.OUTDATED,
            id="occurrence of an ended series",
        ),
        pytest.param(
            appointment(5),
            CANCEL,
            [known(organizer="eve@other.example")],
            InvitationStatus.OUTDATED,
            id="another organizer",
        ),
    ],
)
def test_versions(new: Appointment, method: Method, before: list[StoredAnswer], expected: InvitationStatus) -> None:
    assert status_of(new, method, VERA, before) is expected


@pytest.mark.parametrize(
    ("wanted", "others", "most", "expected"),
    [
        pytest.param([hours(9, 10)], [], 1, [], id="free"),
        pytest.param([hours(9, 10)], [hours(10, 11), hours(8, 9)], 1, [], id="neighbours"),
        pytest.param([hours(9, 10)], [hours(9.5, 11)], 1, [hours(9, 10)], id="overlap"),
        pytest.param([hours(9, 10)], [hours(8, 12)], 1, [hours(9, 10)], id="inside"),
        pytest.param([hours(8, 12)], [hours(9, 10)], 1, [hours(8, 12)], id="around"),
        pytest.param([hours(9, 10)], [hours(9, 10)], 2, [], id="second unit"),
        pytest.param([hours(9, 10)], [hours(9, 10), hours(9, 10)], 2, [hours(9, 10)], id="no third unit"),
        pytest.param([hours(8, 12)], [hours(8, 9), hours(10, 11)], 2, [], id="one after the other"),
        pytest.param([hours(9, 10)], [hours(9, 10)] * 9, 0, [], id="any number"),
        pytest.param([hours(9, 10), hours(33, 34)], [hours(33, 35)], 1, [hours(33, 34)], id="one of a series"),
    ],
)
def test_conflicts(wanted: list[Period], others: list[Period], most: int, expected: list[Period]) -> None:
    assert list(conflicts(wanted, others, most)) == expected


_PERIODS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 10)).map(lambda pair: hours(pair[0], pair[0] + pair[1])), max_size=12
)


@given(_PERIODS, st.integers(1, 3))
def test_accepted_bookings_never_exceed_the_units(requests: list[Period], most: int) -> None:
    taken: list[Period] = []
    for each in requests:
        if not list(conflicts([each], taken, most)):
            taken.append(each)

    moments = sorted({moment for each in taken for moment in (each.start, each.end)})
    for start, end in pairwise(moments):
        assert len([each for each in taken if each.overlaps(Period(start, end))]) <= most


def test_a_peak_is_counted_inside_the_period() -> None:
    assert peak([hours(0, 2), hours(1, 3), hours(5, 6)], hours(2, 8)) == 1


@pytest.mark.parametrize(
    ("wanted", "others", "answer", "refusal"),
    [
        (invitation(hours(9, 10)), [], Answer.ACCEPTED, None),
        (invitation(hours(9, 10)), [booked(hours(9, 10))], Answer.DECLINED, Refusal.OCCUPIED),
        (invitation(hours(9, 10)), [booked(hours(9, 10), uid="uid")], Answer.ACCEPTED, None),
        (invitation(hours(9, 10)), [booked(hours(9, 10), uid=occurrence_uid("uid", "x"))], Answer.ACCEPTED, None),
        (invitation(hours(-400, -399)), [], Answer.DECLINED, Refusal.PAST),
        (invitation(hours(9, 10), is_supported=False), [], Answer.DECLINED, Refusal.RULE_UNSUPPORTED),
        # A series that has begun is not declined because of its past.
        (invitation(hours(-400, -399), hours(9, 10)), [booked(hours(-400, -399))], Answer.ACCEPTED, None),
    ],
)
def test_decisions(wanted: Invitation, others: Sequence[Booked], answer: Answer, refusal: Refusal | None) -> None:
    decision = decide(wanted, others, 1, NOW)

    assert (decision.answer, decision.refusal) == (answer, refusal)


def test_an_occurrence_without_its_series_has_a_booking_of_its_own() -> None:
    single = invitation(hours(9, 10), recurrence=OCCURRENCE)

    assert booking_uid(single, has_series=True) == "uid"
    assert booking_uid(single, has_series=False) == f"uid_occurrence_{OCCURRENCE}"


@pytest.mark.parametrize(
    ("uid", "organizer", "expected"),
    [
        ("uid", VERA, True),
        ("uid", None, True),
        (f"uid_occurrence_{OCCURRENCE}", VERA, True),
        ("uid2", VERA, False),
        ("uid", "eve@other.example", False),
    ],
)
def test_own_bookings(uid: str, organizer: str | None, *, expected: bool) -> None:
    assert is_own(booked(uid=uid, organizer=organizer), invitation(hours(9, 10))) is expected
