"""The clocks of policies, read and written for many groups and sites at a time, by whoever holds the rows of these
(policy_tasks.py)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeAlias
from uuid import UUID

from chamberlain.core.ids import GroupId, PolicyId, TenantId, UserId
from chamberlain.database.transactions import Record, Transaction
from chamberlain.directory.subjects_guests import Guest
from chamberlain.guests.models import FindingSource, FindingState, FindingSubject
from chamberlain.guests.models_assignment_tasks import Place
from chamberlain.guests.policies.evaluation_policy_tasks import PolicyTask
from chamberlain.guests.policies.events_policy_findings import kind_of
from chamberlain.guests.policies.models import PolicyAction
from chamberlain.guests.policies.store_policy_tasks import columns_of
from chamberlain.guests.policies.timers import Clock, ClockPlace, PolicyRule

READ: Final = """
SELECT tenant_id, subject_id, rule, guest_id, guest_mail, guest_name, policy_id, terms, action, started_at, action_at,
    next_at, round, reminded, is_acting, trouble, acted_at
FROM chamberlain.policy_clock
JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, subject_id) USING (tenant_id, subject_id)
"""
# Of single guests, whatever the rule: along the key of the clocks.
READ_GUESTS: Final = """
SELECT tenant_id, subject_id, rule, guest_id, guest_mail, guest_name, policy_id, terms, action, started_at, action_at,
    next_at, round, reminded, is_acting, trouble, acted_at
FROM chamberlain.policy_clock
JOIN unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS i (tenant_id, subject_id, guest_id)
    USING (tenant_id, subject_id, guest_id)
WHERE rule = ANY ($4)
"""
ACCEPTED: Final = """
SELECT tenant_id, subject_id, kind, about, accepted_until FROM chamberlain.finding
JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, subject_id) USING (tenant_id, subject_id)
WHERE state = $3 AND source = $4
"""
PUT: Final = """
INSERT INTO chamberlain.policy_clock AS c (
    tenant_id, subject_id, rule, guest_id, guest_mail, guest_name, policy_id, terms, action, started_at, action_at,
    next_at, round, reminded, is_acting, trouble, acted_at
)
SELECT tenant_id, subject_id, rule, guest_id, guest_mail, guest_name, policy_id, terms, action, started_at, action_at,
    next_at, round, reminded, is_acting, trouble, acted_at
FROM unnest(
    $1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::uuid[], $8::text[], $9::text[],
    $10::timestamptz[], $11::timestamptz[], $12::timestamptz[], $13::integer[], $14::integer[], $15::boolean[],
    $16::text[], $17::timestamptz[]
) AS o (
    tenant_id, subject_id, rule, guest_id, guest_mail, guest_name, policy_id, terms, action, started_at, action_at,
    next_at, round, reminded, is_acting, trouble, acted_at
)
ON CONFLICT (tenant_id, subject_id, rule, guest_id) DO UPDATE SET
    guest_mail = excluded.guest_mail, guest_name = excluded.guest_name, policy_id = excluded.policy_id,
    terms = excluded.terms, action = excluded.action, started_at = excluded.started_at,
    action_at = excluded.action_at, next_at = excluded.next_at, round = excluded.round, reminded = excluded.reminded,
    is_acting = excluded.is_acting, trouble = excluded.trouble, acted_at = excluded.acted_at
"""
REMOVE: Final = """
DELETE FROM chamberlain.policy_clock c
USING unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[]) AS o (tenant_id, subject_id, rule, guest_id)
WHERE c.tenant_id = o.tenant_id AND c.subject_id = o.subject_id AND c.rule = o.rule AND c.guest_id = o.guest_id
"""
LEAVE: Final = "DELETE FROM chamberlain.policy_clock WHERE tenant_id = $1 AND subject_id = ANY ($2)"

# Whom the rule about owners is about.
NO_GUEST: Final = UserId(UUID(int=0))

SubjectClock: TypeAlias = tuple[FindingSubject, Clock]
# A guest of a group or site.
GuestPlace: TypeAlias = tuple[Place, UserId]


async def read(tx: Transaction, tasks: Sequence[PolicyTask]) -> Sequence[PolicyTask]:
    """The same with their clocks."""
    if not tasks:
        return ()
    columns = columns_of([task.place for task in tasks])
    clocks = _by_place(await tx.fetch(READ, *columns))
    accepted = await _accepted(tx, columns)
    return [
        replace(task, clocks=tuple(clocks.get(task.place, ())), accepted=accepted.get(task.place, {})) for task in tasks
    ]


async def read_guests(
    tx: Transaction, tasks: Sequence[PolicyTask], guests: Collection[GuestPlace]
) -> Sequence[PolicyTask]:
    """The same with the clocks of these guests alone, and without what is accepted. None may be named twice."""
    columns = zip(*[(tenant_id, group_id, guest_id) for (tenant_id, group_id), guest_id in guests], strict=True)
    clocks = _by_place(await tx.fetch(READ_GUESTS, *map(list, columns), list(PolicyRule))) if guests else {}
    return [replace(task, clocks=tuple(clocks.get(task.place, ()))) for task in tasks]


async def put(tx: Transaction, clocks: Sequence[SubjectClock]) -> None:
    """Keep clocks as they are by now. None may be there twice."""
    if clocks:
        await tx.execute(PUT, *map(list, zip(*[row_of(*each) for each in clocks], strict=True)))


async def remove(tx: Transaction, clocks: Iterable[SubjectClock]) -> None:
    """Forget clocks that count no more."""
    rows = [_key(*each) for each in clocks]
    if rows:
        await tx.execute(REMOVE, *map(list, zip(*rows, strict=True)))


async def leave(tx: Transaction, tenant_id: TenantId, subject_ids: Sequence[GroupId]) -> None:
    """Forget the clocks of groups that are not there any more."""
    await tx.execute(LEAVE, tenant_id, subject_ids)


def row_of(subject: FindingSubject, clock: Clock) -> tuple[object, ...]:
    """The columns of a clock in their order, the first four of which name it."""
    guest = clock.guest
    return (
        *_key(subject, clock),
        None if guest is None else guest.mail,
        "" if guest is None else guest.display_name,
        clock.policy_id,
        clock.terms,
        clock.action,
        clock.started_at,
        clock.action_at,
        clock.next_at,
        clock.round,
        clock.reminded,
        clock.is_acting,
        clock.trouble,
        clock.acted_at,
    )


def _by_place(rows: Sequence[Record]) -> Mapping[Place, list[Clock]]:
    found: dict[Place, list[Clock]] = {}
    for row in rows:
        found.setdefault((row["tenant_id"], row["subject_id"]), []).append(_clock(row))
    return found


async def _accepted(
    tx: Transaction, columns: tuple[list[UUID], list[UUID]]
) -> Mapping[Place, Mapping[ClockPlace, datetime | None]]:
    rules = {kind_of(rule): rule for rule in PolicyRule}
    found: dict[Place, dict[ClockPlace, datetime | None]] = {}
    for row in await tx.fetch(ACCEPTED, *columns, FindingState.ACCEPTED, FindingSource.POLICY):
        guest_id = UserId(UUID(row["about"])) if row["about"] else None
        of_place = found.setdefault((row["tenant_id"], row["subject_id"]), {})
        of_place[rules[row["kind"]], guest_id] = row["accepted_until"]
    return found


def _clock(row: Record) -> Clock:
    rule, guest_id = PolicyRule(row["rule"]), row["guest_id"]
    guest = None
    if rule is not PolicyRule.MINIMUM_OWNERS:
        guest = Guest(UserId(guest_id), row["guest_mail"], row["guest_name"])
    return Clock(
        rule=rule,
        guest=guest,
        policy_id=PolicyId(row["policy_id"]),
        terms=row["terms"],
        action=PolicyAction(row["action"]),
        started_at=row["started_at"],
        action_at=row["action_at"],
        next_at=row["next_at"],
        round=row["round"],
        reminded=row["reminded"],
        is_acting=row["is_acting"],
        trouble=row["trouble"],
        acted_at=row["acted_at"],
    )


def _key(subject: FindingSubject, clock: Clock) -> tuple[object, ...]:
    return subject.tenant_id, subject.id, clock.rule, NO_GUEST if clock.guest is None else clock.guest.id
