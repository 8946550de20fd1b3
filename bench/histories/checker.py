# SPDX-License-Identifier: Apache-2.0
"""Prove the promises of the service from a history and the state at the end.

Values of assignments are written once each, so the chain of If-Match gives the only possible order of writes. No search
for an order is needed: an operation that completed before another began must not come later in that chain.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TypeVar

from bench.histories.records import (
    Assignment,
    AuditRow,
    Call,
    Decision,
    Event,
    FinalRequest,
    FinalState,
    History,
    Outcome,
    Page,
    Rule,
    Submission,
    Verb,
    Violation,
)

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)

# The event that says how a request ended, by its state.
ENDS: Mapping[str, str] = {
    "succeeded": "group.created",
    "failed": "request.failed",
    "rejected": "request.rejected",
    "cancelled": "request.cancelled",
    "expired": "request.expired",
}
# Written once the feed has been read.
ACCEPTED = "request.accepted"
OPENED = "request.approvalRequired"
APPROVED = "request.approved"
ASSIGNED = "assignmentChanged"
RECORDED: Mapping[Verb, str] = {Verb.APPROVE: "approved", Verb.REJECT: "rejected"}


def check(history: History, final: FinalState) -> list[Violation]:
    """List all broken promises of a round whose work is done and whose readers have read to the end."""
    return [
        *check_requests(history.submissions, final.requests),
        *check_keys(history.submissions, final.requests),
        *check_decisions(history.decisions, final.requests),
        *check_assignments(history, final),
        *check_readers(history.pages, final.feed),
        *check_request_events(final),
        *check_audit(final),
    ]


def check_requests(submissions: Sequence[Submission], requests: Sequence[FinalRequest]) -> Iterator[Violation]:
    """Compare what was acknowledged and refused with the requests and groups that exist."""
    found = _grouped(requests, lambda each: each.name)
    asked = _grouped(submissions, lambda each: each.name)
    for name, attempts in asked.items():
        ids = [each.request_id for each in found[name]]
        acknowledged = {each.request_id for each in attempts if each.call.outcome is Outcome.OK}
        for lost in acknowledged.difference(ids):
            yield Violation(Rule.REQUEST_LOST, name, f"{lost}")
        if len(ids) > 1:
            yield Violation(Rule.REQUEST_DUPLICATED, name, f"{ids}")
        if ids and all(each.call.outcome is Outcome.FAILED for each in attempts):
            yield Violation(Rule.REQUEST_UNASKED, name, "every call was refused")
    for name in found.keys() - asked.keys():
        yield Violation(Rule.REQUEST_UNASKED, name, "no call names it")
    for request in requests:
        if request.state not in ENDS:
            yield Violation(Rule.REQUEST_UNFINISHED, request.request_id, request.state)
        if request.groups > 1 or (request.state == "succeeded" and request.groups == 0):
            yield Violation(Rule.GROUPS_WRONG, request.request_id, f"{request.state} with {request.groups}")


def check_keys(submissions: Sequence[Submission], requests: Sequence[FinalRequest]) -> Iterator[Violation]:
    """Hold every idempotency key to one request and one answer."""
    names = Counter(each.name for each in requests)
    for key, attempts in _grouped([each for each in submissions if each.key], lambda each: str(each.key)).items():
        answers = [each for each in attempts if each.call.outcome is Outcome.OK]
        if len({each.request_id for each in answers}) > 1:
            yield Violation(Rule.KEY_ANSWERS_DIFFER, key, f"{[each.request_id for each in answers]}")
        if sum(not each.replayed for each in answers) > 1:
            yield Violation(Rule.KEY_ACCEPTED_TWICE, key, "two answers are not marked as replayed")
        if (made := sum(names[name] for name in {each.name for each in attempts})) > 1:
            yield Violation(Rule.KEY_ACCEPTED_TWICE, key, f"{made} requests")


def check_decisions(decisions: Sequence[Decision], requests: Sequence[FinalRequest]) -> Iterator[Violation]:
    """Compare approvals, rejections and cancellations with what each request has on record."""
    by_request = _grouped(_merged(decisions), lambda each: each.request_id)
    for request in requests:
        made = by_request[request.request_id]
        yield from _check_recorded(request, made)
        yield from _check_state(request, made)
        yield from _check_after_end(request, [each for each in made if each.call.outcome is Outcome.OK])


def _check_recorded(request: FinalRequest, made: Sequence[Decision]) -> Iterator[Violation]:
    recorded = Counter(chain.from_iterable(level.decisions for level in request.levels))
    acknowledged: Counter[tuple[str, str]] = Counter()
    possible: Counter[tuple[str, str]] = Counter()
    for each in made:
        if each.verb is not Verb.CANCEL and each.call.outcome is not Outcome.FAILED:
            possible[each.person, RECORDED[each.verb]] += 1
            acknowledged[each.person, RECORDED[each.verb]] += each.call.outcome is Outcome.OK
    for lost in acknowledged - recorded:
        yield Violation(Rule.DECISION_LOST, request.request_id, f"{lost}")
    for unasked in recorded - possible:
        yield Violation(Rule.DECISION_UNASKED, request.request_id, f"{unasked}")
    # One decision is enough for each level of these requests.
    if any(len(level.decisions) > 1 for level in request.levels) or len({person for person, _ in recorded}) < sum(
        recorded.values()
    ):
        yield Violation(Rule.DECISION_TWICE, request.request_id, f"{request.levels}")


def _check_state(request: FinalRequest, made: Sequence[Decision]) -> Iterator[Violation]:
    acknowledged = {each.verb for each in made if each.call.outcome is Outcome.OK}
    may_be_cancelled = any(each.verb is Verb.CANCEL and each.call.outcome is not Outcome.FAILED for each in made)
    outcomes = [outcome for level in request.levels for _, outcome in level.decisions]
    is_approved = all(level.state == "approved" for level in request.levels) and "rejected" not in outcomes
    wrong = {
        "an acknowledged rejection": Verb.REJECT in acknowledged and request.state != "rejected",
        "an acknowledged cancellation": Verb.CANCEL in acknowledged and request.state != "cancelled",
        "no rejection on record": request.state == "rejected" and "rejected" not in outcomes,
        "a rejection on record": request.state != "rejected" and "rejected" in outcomes,
        "no cancellation by any client": request.state == "cancelled" and not may_be_cancelled,
        "a level that is not approved": request.state in {"succeeded", "failed"} and not is_approved,
    }
    for reason in [text for text, is_wrong in wrong.items() if is_wrong]:
        yield Violation(Rule.DECISION_CONTRADICTED, request.request_id, f"{request.state} with {reason}")


def _check_after_end(request: FinalRequest, accepted: Sequence[Decision]) -> Iterator[Violation]:
    for late in accepted:
        before = [each for each in accepted if each is not late and each.call.completed < late.call.invoked]
        has_ended = any(each.verb is not Verb.APPROVE for each in before)
        is_approved = len(request.levels) <= sum(each.verb is Verb.APPROVE for each in before)
        if has_ended or (is_approved and late.verb is not Verb.CANCEL):
            yield Violation(Rule.DECISION_AFTER_END, request.request_id, f"{late.verb} by {late.person}")


def _merged(decisions: Sequence[Decision]) -> Iterator[Decision]:
    """Make one decision of all attempts with its key: it is unknown unless one succeeded or all were refused."""
    for attempts in _grouped(decisions, lambda each: each.key).values():
        first = attempts[0]
        outcomes = {each.call.outcome for each in attempts}
        answered = [each.call.answered for each in attempts if each.call.outcome is Outcome.OK]
        outcome = next(each for each in (Outcome.OK, Outcome.UNKNOWN, Outcome.FAILED) if each in outcomes)
        invoked = min(each.call.invoked for each in attempts)
        call = Call(invoked, min(answered, default=max(each.call.answered for each in attempts)), outcome)
        yield Decision(call, first.request_id, first.person, first.verb, first.key)


@dataclass(frozen=True, slots=True)
class _Placed:
    """An operation with the place of its value in the chain; the value before the first write has place 0."""

    call: Call
    place: int
    is_write: bool


def check_assignments(history: History, final: FinalState) -> Iterator[Violation]:
    """Prove for each group or site that its writes and readings are linearizable, and that its events match."""
    by_subject = _grouped(history.assignments, lambda each: each.subject)
    for subject, begin in history.assigned.items():
        writes = by_subject[subject]
        links = _links(writes, begin, final.assigned[subject])
        if links is None:
            yield Violation(Rule.UPDATE_UNASKED, subject, f"{final.assigned[subject]}")
            continue
        for each in writes:
            if each.call.outcome is Outcome.OK and each not in links:
                yield Violation(Rule.UPDATE_LOST, subject, f"{each.seen} -> {each.value}")
        yield from _check_order(history, subject, begin, links)
        yield from _check_links(subject, links, final.feed)
        rows = sum(row.subject == subject for row in final.audit)
        if rows != len(links):
            yield Violation(Rule.AUDIT_WRONG, subject, f"{rows} rows for {len(links)} changes")


def _links(writes: Sequence[Assignment], begin: str, end: str) -> list[Assignment] | None:
    """Follow If-Match back from the last value; None when a value on the way has no write that may have succeeded."""
    by_value = {each.value: each for each in writes if each.call.outcome is not Outcome.FAILED}
    links: list[Assignment] = []
    while end != begin:
        if (write := by_value.pop(end, None)) is None:
            return None
        links.append(write)
        end = write.seen
    return links[::-1]


def _check_order(history: History, subject: str, begin: str, links: Sequence[Assignment]) -> Iterator[Violation]:
    places = {begin: 0} | {each.value: place for place, each in enumerate(links, 1)}
    placed = [_Placed(each.call, places[each.value], is_write=True) for each in links]
    for reading in history.readings:
        if reading.subject != subject:
            continue
        if reading.value not in places:
            yield Violation(Rule.UPDATE_LOST, subject, f"{reading.value} was read and is in no place of the chain")
        else:
            placed.append(_Placed(reading.call, places[reading.value], is_write=False))
    for late in placed:
        reached = max((each.place for each in placed if each.call.completed < late.call.invoked), default=-1)
        if reached > late.place or (late.is_write and reached == late.place):
            yield Violation(Rule.UPDATE_OUT_OF_ORDER, subject, f"place {late.place} after place {reached}")
    for write in history.assignments:
        if write.subject == subject and write.is_stale and write.seen in places:
            yield from _check_refusal(write, places[write.seen], placed)


def _check_refusal(write: Assignment, place: int, placed: Sequence[_Placed]) -> Iterator[Violation]:
    """A refusal as stale is wrong if the value was there before the call and nothing could replace it until its end."""
    was_there = any(each.place == place and each.call.completed < write.call.invoked for each in placed)
    is_replaced = any(each.place > place and each.call.invoked < write.call.answered for each in placed)
    if was_there and not is_replaced:
        yield Violation(Rule.REFUSED_WITHOUT_CAUSE, write.subject, f"{write.seen} -> {write.value}")


def _check_links(subject: str, links: Sequence[Assignment], feed: Sequence[Event]) -> Iterator[Violation]:
    expected: list[tuple[str | None, str | None]] = [(each.seen, each.value) for each in links]
    events = [(each.before, each.after) for each in feed if each.type.endswith(ASSIGNED) and each.subject == subject]
    missing = Counter(expected) - Counter(events)
    unfounded = Counter(events) - Counter(expected)
    for before, after in missing:
        yield Violation(Rule.EVENT_MISSING, subject, f"{before} -> {after}")
    for change in unfounded:
        yield Violation(Rule.EVENT_UNFOUNDED, subject, f"{change[0]} -> {change[1]}")
    if not missing and not unfounded and events != expected:
        yield Violation(Rule.EVENT_OUT_OF_ORDER, subject)


def check_readers(pages: Sequence[Page], feed: Sequence[Event]) -> Iterator[Violation]:
    """Compare what each reader has seen by following cursors with the feed as it is at the end."""
    ids = [each.id for each in feed]
    yield from (Violation(Rule.EVENT_TWICE, each, "in the feed") for each in _repeated(ids))
    for cursor, same in _grouped(pages, lambda each: each.cursor).items():
        texts = sorted(([event.id for event in each.events] for each in same), key=len)
        if any(longer[: len(shorter)] != shorter for shorter, longer in pairwise(texts)):
            yield Violation(Rule.EVENT_MOVED, f"{cursor}", "the cursor shows other events than before")
    followed = [each for each in pages if not each.is_repeat]
    for reader, own in _grouped(followed, lambda each: each.reader).items():
        seen = [event.id for page in own for event in page.events]
        yield from (Violation(Rule.EVENT_TWICE, each, reader) for each in _repeated(seen))
        for event in set(ids).difference(seen):
            yield Violation(Rule.EVENT_SKIPPED, event, reader)
        for event in set(seen).difference(ids):
            yield Violation(Rule.EVENT_VANISHED, event, reader)
        common = set(seen).intersection(ids)
        if [each for each in dict.fromkeys(seen) if each in common] != [
            each for each in dict.fromkeys(ids) if each in common
        ]:
            yield Violation(Rule.EVENT_MOVED, reader, "the order differs from that of the feed")


def check_request_events(final: FinalState) -> Iterator[Violation]:
    """Hold every request to its events in this order: accepted, one for each level that opened, approved, ended."""
    told = _grouped([each for each in final.feed if each.request_id], lambda each: str(each.request_id))
    known = {each.request_id for each in final.requests}
    for request in final.requests:
        yield from _check_blocked(request, told[request.request_id])
        events = [(each.type, each.level) for each in told[request.request_id] if not each.is_blocked]
        opened = sum(level.was_opened for level in request.levels)
        expected: list[tuple[str, int | None]] = [(ACCEPTED, None)] if (ACCEPTED, None) in events else []
        expected += [(OPENED, level + 1) for level in range(opened)]
        if request.levels and all(level.state == "approved" for level in request.levels):
            expected.append((APPROVED, None))
        if request.state in ENDS:
            expected.append((ENDS[request.state], None))
        for type_, level in Counter(expected) - Counter(events):
            yield Violation(Rule.EVENT_MISSING, request.request_id, f"{type_} {level or ''}".strip())
        for type_, level in Counter(events) - Counter(expected):
            yield Violation(Rule.EVENT_UNFOUNDED, request.request_id, f"{type_} {level or ''}".strip())
        if Counter(events) == Counter(expected) and events != expected:
            yield Violation(Rule.EVENT_OUT_OF_ORDER, request.request_id, f"{events}")
    for request_id in told.keys() - known:
        if any(each.type == "group.created" or each.level for each in told[request_id]):
            yield Violation(Rule.EVENT_UNFOUNDED, request_id, "there is no such request")


def _check_blocked(request: FinalRequest, told: Sequence[Event]) -> Iterator[Violation]:
    """A level is blocked once at most, and before it opens."""
    for place, event in enumerate(told):
        if event.is_blocked and event.level in [each.level for each in told[:place]]:
            yield Violation(Rule.EVENT_OUT_OF_ORDER, request.request_id, f"level {event.level} is blocked")


def check_audit(final: FinalState) -> Iterator[Violation]:
    """Hold the audit trail to one row for each request and for each action upon it."""
    yield from (Violation(Rule.AUDIT_WRONG, f"row {row}", "twice") for row in _repeated(_numbers(final.audit)))
    rows = Counter((row.request_id, row.action, row.person) for row in final.audit if row.action != "group.create")
    created = Counter(row.request_id for row in final.audit if row.action == "group.create")
    for request in final.requests:
        made = [
            (request.request_id, f"request.{'approve' if outcome == 'approved' else 'reject'}", person)
            for level in request.levels
            for person, outcome in level.decisions
        ]
        cancelled = sum(
            count
            for (about, action, _), count in rows.items()
            if (about, action) == (request.request_id, "request.cancel")
        )
        if (
            created[request.request_id] != 1
            or cancelled != (request.state == "cancelled")
            or any(rows[each] != 1 for each in made)
        ):
            yield Violation(Rule.AUDIT_WRONG, request.request_id, f"{request.state}, {made}")
    for unknown in created.keys() - {each.request_id for each in final.requests}:
        yield Violation(Rule.AUDIT_WRONG, f"{unknown}", "there is no such request")


def _numbers(rows: Iterable[AuditRow]) -> list[str]:
    return [str(row.sequence) for row in rows]


def _repeated(items: Iterable[str]) -> list[str]:
    return [item for item, count in Counter(items).items() if count > 1]


def _grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> defaultdict[Key, list[Item]]:
    groups: defaultdict[Key, list[Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups
