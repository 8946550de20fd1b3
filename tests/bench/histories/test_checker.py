# SPDX-License-Identifier: Apache-2.0
"""The checker finds every kind of broken promise in histories that are written by hand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from bench.histories.checker import check
from bench.histories.records import (
    Assignment,
    AuditRow,
    Call,
    Decision,
    Event,
    FinalRequest,
    FinalState,
    History,
    Level,
    Outcome,
    Page,
    Reading,
    Rule,
    Submission,
    Verb,
)

ADA, BEN, DARA, ELI = "ada", "ben", "dara", "eli"
DONE, APPROVED, REJECTED, CANCELLED = "done", "approved", "rejected", "cancelled"


def ok(begin: float, end: float) -> Call:
    return Call(begin, end, Outcome.OK)


def refused(begin: float, end: float) -> Call:
    return Call(begin, end, Outcome.FAILED)


def unknown(begin: float, end: float) -> Call:
    return Call(begin, end, Outcome.UNKNOWN)


@dataclass
class RecordedHistory:
    """A history with the state at the end, to be changed by a test."""

    history: History
    requests: list[FinalRequest]
    assigned: dict[str, str]
    feed: list[Event]
    audit: list[AuditRow]

    def found(self) -> set[Rule]:
        """The rules that the checker finds broken."""
        final = FinalState(self.requests, self.assigned, self.feed, self.audit)
        return {each.rule for each in check(self.history, final)}

    def change(self, request_id: str, **changes: object) -> None:
        """Change a request as it is at the end."""
        place = [each.request_id for each in self.requests].index(request_id)
        self.requests[place] = replace(self.requests[place], **changes)  # type: ignore[arg-type]  # each test names its own fields

    def read(self, *readers: str) -> None:
        """Let readers follow the feed as it is, two events a page."""
        self.history.pages = [
            Page(reader, str(begin), tuple(self.feed[begin : begin + 2]), str(begin + 2))
            for reader in readers
            for begin in range(0, len(self.feed) + 2, 2)
        ]


@pytest.fixture
def valid_history() -> RecordedHistory:
    """Four requests with each way to end, and a group with three values of which one call is unknown."""
    approved = Level("approved", ((DARA, "approved"),))
    history = History(
        assigned={"staff": "a"},
        submissions=[
            Submission(unknown(0, 1), "Done", "k1"),
            Submission(ok(1, 2), "Done", "k1", DONE, replayed=True),
            Submission(refused(2, 3), "Done other", "k1"),
            Submission(ok(0, 1), "Approved", "k2", APPROVED),
            Submission(ok(0, 1), "Rejected", None, REJECTED),
            Submission(ok(0, 1), "Cancelled", None, CANCELLED),
            Submission(unknown(4, 5), "Lost on the way", None),
            Submission(refused(4, 5), "Refused", None),
        ],
        decisions=[
            Decision(ok(2, 3), APPROVED, DARA, Verb.APPROVE, "d1"),
            Decision(refused(2, 3), APPROVED, BEN, Verb.APPROVE, "d2"),
            Decision(unknown(4, 5), APPROVED, ELI, Verb.APPROVE, "d3"),
            Decision(ok(5, 6), APPROVED, ELI, Verb.APPROVE, "d3", replayed=True),
            Decision(ok(2, 3), REJECTED, DARA, Verb.APPROVE, "d4"),
            Decision(ok(4, 5), REJECTED, ELI, Verb.REJECT, "d5"),
            Decision(ok(2, 3), CANCELLED, ADA, Verb.CANCEL, "d6"),
        ],
        assignments=[
            Assignment(ok(2, 3), "staff", "a", "b"),
            Assignment(refused(2, 4), "staff", "a", "x", is_stale=True),
            Assignment(unknown(5, 6), "staff", "b", "c"),
            Assignment(ok(8, 9), "staff", "c", "d"),
            Assignment(unknown(9, 10), "staff", "d", "y"),
        ],
        readings=[
            Reading(ok(0, 1), "staff", "a"),
            Reading(ok(4, 5), "staff", "b"),
            Reading(ok(6, 7), "staff", "c"),
            Reading(ok(11, 12), "staff", "d"),
        ],
    )
    requests = [
        FinalRequest(DONE, "Done", "succeeded", groups=1),
        FinalRequest(APPROVED, "Approved", "succeeded", (approved, Level("approved", ((ELI, "approved"),))), groups=1),
        FinalRequest(REJECTED, "Rejected", "rejected", (approved, Level("rejected", ((ELI, "rejected"),)))),
        FinalRequest(CANCELLED, "Cancelled", "cancelled", (Level("notReached"), Level("notReached", was_opened=False))),
    ]
    feed = [
        Event("e1", "request.approvalRequired", APPROVED, level=1),
        Event("e2", "request.approvalRequired", REJECTED, level=1),
        Event("e3", "request.approvalRequired", CANCELLED, level=1),
        Event("e4", "group.created", DONE),
        Event("e5", "group.assignmentChanged", "effects 1", "staff", "a", "b"),
        Event("e6", "request.approvalRequired", APPROVED, level=2),
        Event("e7", "request.approvalRequired", REJECTED, level=2),
        Event("e8", "request.cancelled", CANCELLED),
        Event("e9", "request.rejected", REJECTED),
        Event("approved", "request.approved", APPROVED),
        Event("e10", "group.created", APPROVED),
        Event("e11", "group.assignmentChanged", "effects 2", "staff", "b", "c"),
        Event("e12", "group.assignmentChanged", "effects 3", "staff", "c", "d"),
    ]
    acts = [
        *[("group.create", each, ADA) for each in (DONE, APPROVED, REJECTED, CANCELLED)],
        ("request.approve", APPROVED, DARA),
        ("request.approve", APPROVED, ELI),
        ("request.approve", REJECTED, DARA),
        ("request.reject", REJECTED, ELI),
        ("request.cancel", CANCELLED, ADA),
    ]
    audit = [AuditRow(number, *act) for number, act in enumerate(acts)]
    audit += [AuditRow(100 + number, "group.assign", subject="staff") for number in range(3)]
    made = RecordedHistory(history, requests, {"staff": "d"}, feed, audit)
    made.read("one", "other")
    return made


def test_it_finds_nothing_in_a_sound_history(valid_history: RecordedHistory) -> None:
    assert valid_history.found() == set()


Break = Callable[[RecordedHistory], None]


def lose_request(made: RecordedHistory) -> None:
    made.requests.pop(0)


def duplicate_request(made: RecordedHistory) -> None:
    made.requests.append(FinalRequest("again", "Done", "succeeded", groups=1))


def make_refused_request(made: RecordedHistory) -> None:
    made.requests.append(FinalRequest("refused", "Refused", "succeeded", groups=1))


def make_request_of_nobody(made: RecordedHistory) -> None:
    made.requests.append(FinalRequest("x", "Never asked for", "succeeded", groups=1))


def leave_request_unfinished(made: RecordedHistory) -> None:
    made.change(DONE, state="waiting")


def answer_a_key_twice(made: RecordedHistory) -> None:
    made.history.submissions.append(Submission(ok(3, 4), "Done", "k1", "another", replayed=True))


def accept_a_key_twice(made: RecordedHistory) -> None:
    made.history.submissions += [Submission(ok(3, 4), "Approved", "k2", APPROVED)]


def make_two_requests_of_a_key(made: RecordedHistory) -> None:
    made.requests.append(FinalRequest("other", "Done other", "succeeded", groups=1))


def lose_group(made: RecordedHistory) -> None:
    made.change(DONE, groups=0)


def make_two_groups(made: RecordedHistory) -> None:
    made.change(DONE, groups=2)


def make_two_groups_of_a_cancelled_request(made: RecordedHistory) -> None:
    made.change(CANCELLED, groups=2)


def write_twice_from_one_value(made: RecordedHistory) -> None:
    made.history.assignments.append(Assignment(ok(3, 4), "staff", "b", "z"))


def lose_last_assignment(made: RecordedHistory) -> None:
    made.assigned["staff"] = "c"
    made.feed.pop()
    made.audit.pop()
    made.history.readings.pop()
    made.read("one")


def assign_a_refused_value(made: RecordedHistory) -> None:
    made.assigned["staff"] = "x"


def read_a_value_that_is_gone(made: RecordedHistory) -> None:
    made.history.readings.append(Reading(ok(11, 12), "staff", "y"))


def read_an_old_value(made: RecordedHistory) -> None:
    made.history.readings.append(Reading(ok(10, 11), "staff", "b"))


def read_a_value_before_it_was_written(made: RecordedHistory) -> None:
    made.history.readings.append(Reading(ok(0, 1), "staff", "b"))


def write_out_of_order(made: RecordedHistory) -> None:
    made.history.assignments[0] = replace(made.history.assignments[0], call=ok(9.5, 9.6))


def refuse_a_current_value(made: RecordedHistory) -> None:
    made.history.assignments.append(Assignment(refused(13, 14), "staff", "d", "w", is_stale=True))


def lose_decision(made: RecordedHistory) -> None:
    made.change(REJECTED, levels=(Level("approved"), Level("rejected", ((ELI, "rejected"),))))


def record_decision_of_nobody(made: RecordedHistory) -> None:
    made.change(APPROVED, levels=(Level("approved", ((BEN, "approved"),)), Level("approved", ((ELI, "approved"),))))


def count_a_level_twice(made: RecordedHistory) -> None:
    made.history.decisions[1] = Decision(ok(2, 3), APPROVED, BEN, Verb.APPROVE, "d2")
    both = Level("approved", ((DARA, "approved"), (BEN, "approved")))
    made.change(APPROVED, levels=(both, Level("approved", ((ELI, "approved"),))))


def count_a_person_twice(made: RecordedHistory) -> None:
    made.change(APPROVED, levels=(Level("approved", ((ELI, "approved"),)), Level("approved", ((ELI, "approved"),))))


def decide_after_rejection(made: RecordedHistory) -> None:
    made.history.decisions.append(Decision(ok(7, 8), REJECTED, BEN, Verb.APPROVE, "late"))


def approve_after_last_level(made: RecordedHistory) -> None:
    made.history.decisions.append(Decision(ok(7, 8), APPROVED, BEN, Verb.APPROVE, "late"))


def cancel_after_rejection(made: RecordedHistory) -> None:
    made.history.decisions.append(Decision(ok(7, 8), REJECTED, ADA, Verb.CANCEL, "late"))


def fulfil_cancelled_request(made: RecordedHistory) -> None:
    levels = (Level("approved"), Level("approved"))
    made.change(CANCELLED, state="succeeded", groups=1, levels=levels)


def fulfil_rejected_request(made: RecordedHistory) -> None:
    made.change(REJECTED, state="succeeded", groups=1)


def cancel_without_a_call(made: RecordedHistory) -> None:
    made.history.decisions.pop()


def fulfil_without_approval(made: RecordedHistory) -> None:
    made.change(APPROVED, levels=(Level("approved", ((DARA, "approved"),)), Level("pending")))


def reject_without_a_record(made: RecordedHistory) -> None:
    made.change(DONE, state="rejected", groups=0)


def skip_an_event(made: RecordedHistory) -> None:
    made.history.pages[1] = replace(made.history.pages[1], events=made.history.pages[1].events[:1])


def lose_a_read_event(made: RecordedHistory) -> None:
    made.feed.pop(4)


def repeat_an_event_for_a_reader(made: RecordedHistory) -> None:
    first = made.history.pages[0]
    made.history.pages[0] = replace(first, events=first.events * 2)


def repeat_an_event_in_the_feed(made: RecordedHistory) -> None:
    made.feed.append(made.feed[0])


def move_an_event(made: RecordedHistory) -> None:
    made.feed[3], made.feed[7] = made.feed[7], made.feed[3]


def put_an_event_before_what_was_read(made: RecordedHistory) -> None:
    made.history.pages.append(replace(made.history.pages[0], events=(made.feed[7],), is_repeat=True))


def omit_event_of_end(made: RecordedHistory) -> None:
    made.feed.pop(3)
    made.read("one")


def omit_event_of_level(made: RecordedHistory) -> None:
    made.feed.pop(5)
    made.read("one")


def omit_event_of_assignment(made: RecordedHistory) -> None:
    made.feed.pop(10)
    made.read("one")


def omit_event_of_approval(made: RecordedHistory) -> None:
    made.feed.pop(9)
    made.read("one")


def report_acceptance_twice(made: RecordedHistory) -> None:
    made.feed[:0] = [Event(each, "request.accepted", DONE) for each in ("e13", "e14")]
    made.read("one")


def report_acceptance_after_end(made: RecordedHistory) -> None:
    made.feed.append(Event("e13", "request.accepted", DONE))
    made.read("one")


def tell_two_ends(made: RecordedHistory) -> None:
    made.feed.append(Event("e13", "group.created", REJECTED))
    made.read("one")


def tell_of_an_unknown_request(made: RecordedHistory) -> None:
    made.feed.append(Event("e13", "group.created", "nobody's"))
    made.read("one")


def tell_of_a_refused_assignment(made: RecordedHistory) -> None:
    made.feed.append(Event("e13", "group.assignmentChanged", "effects 4", "staff", "a", "x"))
    made.read("one")


def tell_end_before_level(made: RecordedHistory) -> None:
    made.feed[5], made.feed[10] = made.feed[10], made.feed[5]
    made.read("one")


def tell_of_a_block_after_the_opening(made: RecordedHistory) -> None:
    made.feed.insert(6, Event("e13", "request.approvalRequired", REJECTED, level=1, is_blocked=True))
    made.read("one")


def tell_assignments_out_of_order(made: RecordedHistory) -> None:
    made.feed[11], made.feed[12] = made.feed[12], made.feed[11]
    made.read("one")


def omit_audit_row_of_request(made: RecordedHistory) -> None:
    made.audit.pop(0)


def omit_audit_row_of_decision(made: RecordedHistory) -> None:
    made.audit.pop(4)


def audit_a_cancellation_twice(made: RecordedHistory) -> None:
    made.audit.append(replace(made.audit[8], sequence=50))


def omit_audit_row_of_assignment(made: RecordedHistory) -> None:
    made.audit.pop()


def audit_a_lost_request(made: RecordedHistory) -> None:
    made.audit.append(AuditRow(50, "group.create", "lost", ADA))


def number_two_audit_rows_alike(made: RecordedHistory) -> None:
    made.audit[1] = replace(made.audit[1], sequence=made.audit[0].sequence)


BREAKS: Sequence[tuple[Rule, Sequence[Break]]] = [
    (Rule.REQUEST_LOST, [lose_request]),
    (Rule.REQUEST_DUPLICATED, [duplicate_request]),
    (Rule.REQUEST_UNASKED, [make_refused_request, make_request_of_nobody]),
    (Rule.REQUEST_UNFINISHED, [leave_request_unfinished]),
    (Rule.KEY_ANSWERS_DIFFER, [answer_a_key_twice]),
    (Rule.KEY_ACCEPTED_TWICE, [accept_a_key_twice, make_two_requests_of_a_key]),
    (Rule.GROUPS_WRONG, [lose_group, make_two_groups, make_two_groups_of_a_cancelled_request]),
    (Rule.UPDATE_LOST, [write_twice_from_one_value, lose_last_assignment, read_a_value_that_is_gone]),
    (Rule.UPDATE_UNASKED, [assign_a_refused_value]),
    (Rule.UPDATE_OUT_OF_ORDER, [read_an_old_value, read_a_value_before_it_was_written, write_out_of_order]),
    (Rule.REFUSED_WITHOUT_CAUSE, [refuse_a_current_value]),
    (Rule.DECISION_LOST, [lose_decision]),
    (Rule.DECISION_UNASKED, [record_decision_of_nobody]),
    (Rule.DECISION_TWICE, [count_a_level_twice, count_a_person_twice]),
    (Rule.DECISION_AFTER_END, [decide_after_rejection, approve_after_last_level, cancel_after_rejection]),
    (
        Rule.DECISION_CONTRADICTED,
        [
            fulfil_cancelled_request,
            fulfil_rejected_request,
            cancel_without_a_call,
            fulfil_without_approval,
            reject_without_a_record,
        ],
    ),
    (Rule.EVENT_SKIPPED, [skip_an_event]),
    (Rule.EVENT_VANISHED, [lose_a_read_event]),
    (Rule.EVENT_TWICE, [repeat_an_event_for_a_reader, repeat_an_event_in_the_feed]),
    (Rule.EVENT_MOVED, [move_an_event, put_an_event_before_what_was_read]),
    (Rule.EVENT_MISSING, [omit_event_of_end, omit_event_of_level, omit_event_of_approval, omit_event_of_assignment]),
    (
        Rule.EVENT_UNFOUNDED,
        [tell_two_ends, report_acceptance_twice, tell_of_an_unknown_request, tell_of_a_refused_assignment],
    ),
    (
        Rule.EVENT_OUT_OF_ORDER,
        [
            tell_end_before_level,
            report_acceptance_after_end,
            tell_of_a_block_after_the_opening,
            tell_assignments_out_of_order,
        ],
    ),
    (
        Rule.AUDIT_WRONG,
        [
            omit_audit_row_of_request,
            omit_audit_row_of_decision,
            audit_a_cancellation_twice,
            omit_audit_row_of_assignment,
            audit_a_lost_request,
            number_two_audit_rows_alike,
        ],
    ),
]


@pytest.mark.parametrize(
    ("rule", "break_it"),
    [pytest.param(rule, each, id=each.__name__) for rule, breaks in BREAKS for each in breaks],
)
def test_it_finds(valid_history: RecordedHistory, rule: Rule, break_it: Break) -> None:
    break_it(valid_history)

    assert rule in valid_history.found()


def test_every_rule_is_broken_by_a_test() -> None:
    assert [rule for rule, _ in BREAKS] == list(Rule)


@pytest.mark.parametrize("took_effect", [True, False])
def test_an_unknown_call_may_take_effect_or_not(valid_history: RecordedHistory, *, took_effect: bool) -> None:
    if took_effect:
        valid_history.requests.append(FinalRequest("found", "Lost on the way", "succeeded", groups=1))
        valid_history.feed += [
            Event("e13", "group.created", "found"),
            Event("e14", "group.assignmentChanged", "effects 4", "staff", "d", "y"),
        ]
        valid_history.audit += [
            AuditRow(50, "group.create", "found", ADA),
            AuditRow(51, "group.assign", subject="staff"),
        ]
        valid_history.assigned["staff"] = "y"
        valid_history.read("one")

    assert valid_history.found() == set()


def test_an_accepted_request_has_an_event_once_the_feed_is_read(valid_history: RecordedHistory) -> None:
    valid_history.feed.insert(0, Event("e13", "request.accepted", APPROVED))
    valid_history.read("one")

    assert valid_history.found() == set()


def test_a_level_may_be_blocked_before_it_opens(valid_history: RecordedHistory) -> None:
    valid_history.feed.insert(0, Event("e13", "request.approvalRequired", REJECTED, level=1, is_blocked=True))
    valid_history.read("one")

    assert valid_history.found() == set()


def test_two_writes_at_once_may_come_in_either_order(valid_history: RecordedHistory) -> None:
    valid_history.history.readings = [Reading(ok(2.5, 2.6), "staff", "a"), Reading(ok(2.2, 2.3), "staff", "a")]

    assert valid_history.found() == set()
