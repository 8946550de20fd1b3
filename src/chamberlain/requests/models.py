# SPDX-License-Identifier: Apache-2.0
"""Requests: states, steps, approvals, drafts, and the outcomes of writing a draft.

Every transition from one state to another, by its cause:

                    queued  running  waiting  succeeded  failed  rejected  cancelled  expired
    pendingApproval   a        .        .         .         .        a         c         t
    queued            .        w        .         .         .        .         c         .
    running           .        .        w         w         w        .         .         .
    waiting           .        w        .         .         w        .         c         .
    failed            r        .        .         .         .        .         c         .

    a  the approvers decide               w  the worker makes progress
    c  a user cancels it, and after       r  a user retries it
       a time the service a failed one    t  its deadline passes

A transition is a compare-and-swap on the state (requests/records.py, requests/finish.py). A running request can be
claimed again when its worker is gone; that is no transition. A request that the worker cannot finish, because of a bug
or repeated crashes, waits for an administrator. States that the table does not list on the left are final.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from chamberlain.auth.models import Actor
from chamberlain.changes.models import Change
from chamberlain.core.errors import Fault
from chamberlain.core.idempotency import IdempotencyKey
from chamberlain.core.ids import ClientId, GroupId, MailboxId, RequestId, TemplateId, TenantId, UserId
from chamberlain.core.reasons import Cause, Reason, shown_reason
from chamberlain.core.values import value
from chamberlain.core.waits import Waited
from chamberlain.directory.mailboxes import MailboxOrder, TemplateSource
from chamberlain.directory.models import MailAddress, NamedPerson, PeopleAnswer
from chamberlain.directory.steps import Step
from chamberlain.queue.models import JobKind


class ApprovalMode(StrEnum):
    """The number of approvers of a level who have to approve."""

    ANY = "any"
    ALL = "all"


class ApproverType(StrEnum):
    """The type of an approver in a rule."""

    USER = "user"
    GROUP = "group"
    MANAGER = "manager"


class ApprovalState(StrEnum):
    """The state of one level of approval."""

    NOT_REACHED = "notReached"
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    BLOCKED = "blocked"


class DecisionOutcome(StrEnum):
    """The decision of an approver."""

    APPROVED = "approved"
    REJECTED = "rejected"


# Blocks a request without approvers.
NO_APPROVER = "noApprover"


@dataclass(frozen=True, slots=True)
class Approver:
    """A user, the members of a group, or the requester's manager.

    The manager has no id.
    """

    type: ApproverType
    id: UUID | None


@dataclass(frozen=True, slots=True)
class ApprovalLevel:
    """One level: these approvers, one or all of them."""

    mode: ApprovalMode
    approvers: tuple[Approver, ...]


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """One to three approval levels, opened in order.

    `deadline_days` None means no deadline.
    """

    levels: tuple[ApprovalLevel, ...]
    deadline_days: int | None


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of an approver or a substitute, with a comment.

    `on_behalf_of` is the approver for whom a substitute decided.
    """

    by: Actor
    outcome: DecisionOutcome
    comment: str | None
    decided_at: datetime
    on_behalf_of: NamedPerson | None = None


@dataclass(frozen=True, slots=True)
class LevelSubstitute:
    """A user who may decide for an approver, until a time."""

    id: UserId
    display_name: str
    approver: UserId
    until: datetime


@dataclass(frozen=True, slots=True)
class ApprovalRecord:
    """The current state of one level.

    It gets approvers and a deadline when it opens. The approval job keeps `substitutes` current; the decision itself
    reads the substitute again. `reminded_at` is the time of the reminder. `substitutable` are the approvers who may
    have a substitute: all but those who were found as members of a group. It is None for a level that an older version
    opened.
    """

    level: int
    mode: ApprovalMode
    state: ApprovalState
    deadline: datetime | None = None
    approvers: tuple[NamedPerson, ...] = ()
    decisions: tuple[Decision, ...] = ()
    substitutes: tuple[LevelSubstitute, ...] = ()
    reminded_at: datetime | None = None
    substitutable: tuple[UserId, ...] | None = None


def approvers_of(level: ApprovalLevel, answer: PeopleAnswer, *, requester: UserId) -> tuple[NamedPerson, ...]:
    """Return the approvers of a level without the requester.

    They are deduplicated, in the order of the rule.
    """
    found = {person.id: person for approver in level.approvers for person in _people(approver, answer)}
    return tuple([person for person in found.values() if person.id != requester])


def substitutable_of(level: ApprovalLevel, answer: PeopleAnswer) -> tuple[UserId, ...]:
    """Return the approvers of a level who may have a substitute.

    Members of a group have none, unless they are approvers by name or as a manager as well.
    """
    others = [approver for approver in level.approvers if approver.type is not ApproverType.GROUP]
    return tuple(dict.fromkeys(person.id for approver in others for person in _people(approver, answer)))


def begin_approvals(
    rule: ApprovalRule, answer: PeopleAnswer | None, *, requester: UserId, now: datetime
) -> tuple[ApprovalRecord, ...]:
    """Return all levels at submission.

    The first is open, or blocked if no approver is found. `answer` is None if the directory did not answer. Then no
    approver is found.
    """
    first, *later = rule.levels
    approvers = () if answer is None else approvers_of(first, answer, requester=requester)
    opened = ApprovalRecord(
        level=1,
        mode=first.mode,
        state=ApprovalState.PENDING if approvers else ApprovalState.BLOCKED,
        deadline=None if rule.deadline_days is None else now + timedelta(days=rule.deadline_days),
        approvers=approvers,
        substitutable=() if answer is None else substitutable_of(first, answer),
    )
    return opened, *[
        ApprovalRecord(number, level.mode, ApprovalState.NOT_REACHED) for number, level in enumerate(later, start=2)
    ]


def close_approvals(approvals: Sequence[ApprovalRecord]) -> tuple[ApprovalRecord, ...]:
    """Return the levels of a cancelled request. Approvers and decisions stay."""
    open_states = {ApprovalState.PENDING, ApprovalState.BLOCKED}
    return tuple(
        [
            replace(each, state=ApprovalState.NOT_REACHED, deadline=None) if each.state in open_states else each
            for each in approvals
        ]
    )


def blocked_by(approvals: Sequence[ApprovalRecord]) -> str | None:
    """Return the reason why no approver can decide, if there is one."""
    return NO_APPROVER if any(each.state is ApprovalState.BLOCKED for each in approvals) else None


def _people(approver: Approver, answer: PeopleAnswer) -> Iterator[NamedPerson]:
    match approver:
        case Approver(type=ApproverType.USER, id=UUID() as user):
            if (person := answer.people.get(UserId(user))) is not None:
                yield NamedPerson(person.id, person.display_name)
        case Approver(type=ApproverType.GROUP, id=UUID() as group):
            yield from answer.relations.members.get(GroupId(group), ())
        case Approver():
            if answer.relations.manager is not None:
                yield answer.relations.manager


class RequestKind(StrEnum):
    """The kind of created object, or an assignment or a repair."""

    SHARED = "shared"
    EQUIPMENT = "equipment"
    ROOM = "room"
    GROUP = "group"
    TEAM = "team"
    ASSIGNMENT = "assignment"
    REPAIR = "repair"


class RequestState(StrEnum):
    """The state of a request."""

    PENDING_APPROVAL = "pendingApproval"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class StepState(StrEnum):
    """The state of one step of a request."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    WARNING = "warning"
    FAILED = "failed"


@value(frozen=True, slots=True)
class StepRecord:
    """One step of a request.

    `reason` is set for waiting steps and warnings, `next_attempt_at` for waiting steps, `error` for failed ones.
    """

    step: Step
    state: StepState
    attempts: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    reason: str | None = None
    next_attempt_at: datetime | None = None
    error: str | None = None
    # Code and values of the reason. Older versions know the sentence only.
    cause: Cause | None = None
    # The time that a waiting step has waited. Older versions know the start of the step only.
    waited: Waited | None = None

    @property
    def shown_reason(self) -> Reason | None:
        """Return the reason, rendered from code and values."""
        return shown_reason(self.reason, self.cause)

    @property
    def shortfall(self) -> Reason | None:
        """Return the part that a completed step left undone.

        A reason that an older version wrote has no code. It is shown as the words of the directory.
        """
        reason = self.shown_reason if self.state is StepState.WARNING else None
        if reason is None or reason.code is not None:
            return reason
        return Reason.build("partNotSet", problem=reason.sentence)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The reason and the times of a wait.

    The first retry that fails for the same cause after `ends_at` is the last. It is None while the tenant's connection
    to its directory is broken. Both times are None while the request waits for an administrator to release its job.
    """

    step: Step
    reason: str | None
    attempt: int
    next_attempt_at: datetime | None
    ends_at: datetime | None
    cause: Cause | None = None

    @property
    def shown_reason(self) -> Reason:
        """Return the reason, rendered from code and values."""
        return shown_reason(self.reason, self.cause) or Reason("")


@dataclass(frozen=True, slots=True)
class RequestError:
    """The error of a failed request.

    `faults` are errors of its body that the worker found.
    """

    step: Step
    code: str
    detail: str
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a request by its steps.

    Its job runs again at `waiting.next_attempt_at`.
    """

    state: RequestState
    steps: tuple[StepRecord, ...]
    waiting: Waiting | None = None
    error: RequestError | None = None


@dataclass(frozen=True, slots=True)
class RequestResult:
    """The object that a request created. `type` is mailbox, group or team."""

    type: str
    id: UUID
    display_name: str
    mail: str | None


@dataclass(frozen=True, slots=True)
class TemplateReference:
    """The template of a request, with its name and revision at submission."""

    id: TemplateId
    name: str
    revision: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class ShownField:
    """A custom field of a request.

    The label is that of the template at submission, the value is as people read it. Booleans stay booleans.
    """

    key: str
    label: str
    value: str | bool


@value(frozen=True, slots=True)
class Accepted:
    """A request that is queued durably.

    `replayed` marks the answer of an earlier call with the idempotency key.
    """

    request_id: RequestId
    tenant_id: TenantId
    approval_required: bool
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request.

    `body` is the JSON that was sent. A repair, and an assignment that clears, has no template. `made` is the object in
    the directory of a request that has not succeeded, with its id there.
    """

    request_id: RequestId
    tenant_id: TenantId
    approval_required: bool
    kind: RequestKind
    state: RequestState
    display_name: str
    template: TemplateReference | None
    body: bytes
    waiting: Waiting | None
    blocked: str | None
    error: RequestError | None
    warnings: tuple[Reason, ...]
    result: RequestResult | None
    steps: tuple[StepRecord, ...]
    created_at: datetime
    created_by: Actor
    client_id: ClientId
    updated_at: datetime
    finished_at: datetime | None
    approvals: tuple[ApprovalRecord, ...] = ()
    made: RequestResult | None = None


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """Filters of a list of requests; None matches all.

    `mine` selects the requests of the caller, `to_decide` those that wait for the caller's decision. The name or the
    address begins with `prefix`, in any letter case. Requests were accepted at `since` or later, and before `until`.
    """

    state: RequestState | None = None
    kind: RequestKind | None = None
    mine: bool = False
    to_decide: bool = False
    prefix: str | None = None
    since: datetime | None = None
    until: datetime | None = None


# For each state, the states that may follow it, as in the table at the top.
MOVES: Mapping[RequestState, frozenset[RequestState]] = {
    RequestState.PENDING_APPROVAL: frozenset(
        {RequestState.QUEUED, RequestState.REJECTED, RequestState.CANCELLED, RequestState.EXPIRED}
    ),
    RequestState.QUEUED: frozenset({RequestState.RUNNING, RequestState.CANCELLED}),
    RequestState.RUNNING: frozenset({RequestState.WAITING, RequestState.SUCCEEDED, RequestState.FAILED}),
    RequestState.WAITING: frozenset({RequestState.RUNNING, RequestState.FAILED, RequestState.CANCELLED}),
    RequestState.FAILED: frozenset({RequestState.QUEUED, RequestState.CANCELLED}),
    RequestState.SUCCEEDED: frozenset(),
    RequestState.REJECTED: frozenset(),
    RequestState.CANCELLED: frozenset(),
    RequestState.EXPIRED: frozenset(),
}

# States that only a user leaves.
ENDED = frozenset(
    {
        RequestState.SUCCEEDED,
        RequestState.FAILED,
        RequestState.REJECTED,
        RequestState.CANCELLED,
        RequestState.EXPIRED,
    }
)


def begin_steps(steps: Iterable[Step]) -> tuple[StepRecord, ...]:
    """Return the records of pending steps."""
    return tuple([StepRecord(step, StepState.PENDING) for step in steps])


@value(frozen=True, slots=True)
class MailboxDraft:
    """The mailbox that is written with its request.

    `name_key` and `alias` are reserved like its address. `order` has the template's defaults, `content` is the order as
    stored JSON. `readers` may read the mailbox without being administrators.
    """

    id: MailboxId
    order: MailboxOrder
    content: bytes
    name_key: str
    alias: str | None
    template_source: TemplateSource
    readers: frozenset[UserId]


@value(frozen=True, slots=True)
class Draft:
    """A valid request to write with all its rows.

    It is not written if the revisions of tenant and template are no longer current. It gets the first free one of
    `addresses`. `job` is None if another step must come first.

    With `ask_addresses` the write asks the directory whether the first address and the alias are taken, and tries no
    other address.
    """

    request_id: RequestId
    tenant_revision: int
    kind: RequestKind
    state: RequestState
    display_name: str
    addresses: tuple[MailAddress, ...]
    template_id: TemplateId
    template_revision: int
    template_name: str
    body: bytes
    approval_required: bool
    people_checked: bool
    steps: tuple[StepRecord, ...]
    idempotency: IdempotencyKey | None
    job: JobKind | None
    change: Change
    approvals: tuple[ApprovalRecord, ...]
    warnings: tuple[Reason, ...]
    mailbox: MailboxDraft | None
    ask_addresses: bool


@dataclass(frozen=True, slots=True)
class Written:
    """The request is durable.

    `at` is the time of the write, for mailboxes only.
    """

    at: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Replayed:
    """The idempotency key was used for the same request before."""

    request_id: RequestId
    approval_required: bool


@dataclass(frozen=True, slots=True)
class Reused:
    """The idempotency key was used for another request."""


@dataclass(frozen=True, slots=True)
class NameTaken:
    """Another mailbox has this name."""


@dataclass(frozen=True, slots=True)
class AddressTaken:
    """Every possible address is taken, or the alias is."""


@dataclass(frozen=True, slots=True)
class TemplateChanged:
    """The template or the tenant has changed since the draft was validated."""


@dataclass(frozen=True, slots=True)
class LimitFull:
    """The tenant has reached a limit.

    `limit` is its name in configuration files.
    """

    limit: str


@dataclass(frozen=True, slots=True)
class Again:
    """The draft lost to another draft, which was then refused. Try again."""


Verdict = Written | Replayed | Reused | NameTaken | AddressTaken | TemplateChanged | LimitFull | Again


def job_kind_of(kind: RequestKind) -> JobKind:
    """Return the kind of job that provisions a request."""
    match kind:
        case RequestKind.GROUP | RequestKind.TEAM:
            return JobKind.GROUP_PROVISION
        case RequestKind.SHARED | RequestKind.EQUIPMENT | RequestKind.ROOM:
            return JobKind.MAILBOX_PROVISION
        case RequestKind.ASSIGNMENT:
            return JobKind.ASSIGNMENT_APPLY
        case RequestKind.REPAIR:
            return JobKind.FINDING_REPAIR
