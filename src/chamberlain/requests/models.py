"""Requests: what was asked for, and how far it has come.

Every move from one state to another, by whom it is made:

                    queued  running  waiting  succeeded  failed  rejected  cancelled  expired
    pendingApproval   a        .        .         .         .        a         c         t
    queued            .        w        .         .         .        .         c         .
    running           .        .        w         w         w        .         .         .
    waiting           .        w        .         .         w        .         c         .
    failed            r        .        .         .         .        .         c         .

    a  the approvers decide               w  the worker does its work
    c  somebody cancels it, and after     r  somebody retries it
       a time the service a failed one    t  its deadline passes

A move is a compare-and-swap on the state (requests/records.py, requests/finish.py). What is
running can be taken up once more when the worker that had it is gone; that is no move. What the worker cannot carry
out, because it meets a bug or is cut short again and again, waits for a person; so does what waited already. All that
is not in the table ends there.
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
from chamberlain.core.values import value
from chamberlain.directory.mailboxes import MailboxOrder, TemplateSource
from chamberlain.directory.models import MailAddress, NamedPerson, PeopleAnswer
from chamberlain.directory.steps import Step
from chamberlain.queue.models import JobKind


class ApprovalMode(StrEnum):
    """Whether one approver of a level is enough."""

    ANY = "any"
    ALL = "all"


class ApproverType(StrEnum):
    """How an approver is named in a rule."""

    USER = "user"
    GROUP = "group"
    MANAGER = "manager"


class ApprovalState(StrEnum):
    """Where one level of a request's approval stands."""

    NOT_REACHED = "notReached"
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    BLOCKED = "blocked"


class DecisionOutcome(StrEnum):
    """What an approver has decided."""

    APPROVED = "approved"
    REJECTED = "rejected"


# What a request that nobody can approve is blocked by.
NO_APPROVER = "noApprover"


@dataclass(frozen=True, slots=True)
class Approver:
    """A named user, the members of a group, or (without an id) the requester's manager."""

    type: ApproverType
    id: UUID | None


@dataclass(frozen=True, slots=True)
class ApprovalLevel:
    """One level: these approvers, one or all of them."""

    mode: ApprovalMode
    approvers: tuple[Approver, ...]


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """One to three levels, each opened when the one before has approved; `deadline_days` None means no deadline."""

    levels: tuple[ApprovalLevel, ...]
    deadline_days: int | None


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody has decided, and what they said to it."""

    by: Actor
    outcome: DecisionOutcome
    comment: str | None
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class ApprovalRecord:
    """One level as it stands. Its approvers are found when it opens, and its deadline counts from then."""

    level: int
    mode: ApprovalMode
    state: ApprovalState
    deadline: datetime | None = None
    approvers: tuple[NamedPerson, ...] = ()
    decisions: tuple[Decision, ...] = ()


def approvers_of(level: ApprovalLevel, answer: PeopleAnswer, *, requester: UserId) -> tuple[NamedPerson, ...]:
    """Who may decide at a level, each once, in the order of the rule; the requester never."""
    found = {person.id: person for approver in level.approvers for person in _people(approver, answer)}
    return tuple([person for person in found.values() if person.id != requester])


def begin_approvals(
    rule: ApprovalRule, answer: PeopleAnswer | None, *, requester: UserId, now: datetime
) -> tuple[ApprovalRecord, ...]:
    """All levels at submission: the first is open, or blocked when nobody is found who may decide.

    An `answer` of None, because the directory gave none, finds nobody either.
    """
    first, *later = rule.levels
    approvers = () if answer is None else approvers_of(first, answer, requester=requester)
    opened = ApprovalRecord(
        level=1,
        mode=first.mode,
        state=ApprovalState.PENDING if approvers else ApprovalState.BLOCKED,
        deadline=None if rule.deadline_days is None else now + timedelta(days=rule.deadline_days),
        approvers=approvers,
    )
    return opened, *[
        ApprovalRecord(number, level.mode, ApprovalState.NOT_REACHED) for number, level in enumerate(later, start=2)
    ]


def close_approvals(approvals: Sequence[ApprovalRecord]) -> tuple[ApprovalRecord, ...]:
    """The levels of a request that is cancelled: nobody has to decide any more. Who was asked, and what was decided,
    stays."""
    open_states = {ApprovalState.PENDING, ApprovalState.BLOCKED}
    return tuple(
        [
            replace(each, state=ApprovalState.NOT_REACHED, deadline=None) if each.state in open_states else each
            for each in approvals
        ]
    )


def blocked_by(approvals: Sequence[ApprovalRecord]) -> str | None:
    """Why nobody can move the request on, if so."""
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
    """What a request brings about: what its template makes, or the effects of an assignment."""

    SHARED = "shared"
    EQUIPMENT = "equipment"
    ROOM = "room"
    GROUP = "group"
    TEAM = "team"
    ASSIGNMENT = "assignment"


class RequestState(StrEnum):
    """Where a request stands."""

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
    """Where one step of a request stands."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    WARNING = "warning"
    FAILED = "failed"


@value(frozen=True, slots=True)
class StepRecord:
    """One step as the caller sees it. `reason` belongs to a wait or a warning, `next_attempt_at` to a wait, and `error`
    to a failure."""

    step: Step
    state: StepState
    attempts: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    reason: str | None = None
    next_attempt_at: datetime | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a request waits, and until when: a try that fails after `ends_at` is the last. Both times are None where it
    waits for a person to release its job."""

    step: Step
    reason: str
    attempt: int
    next_attempt_at: datetime | None
    ends_at: datetime | None


@dataclass(frozen=True, slots=True)
class RequestError:
    """Why a request failed. `faults` are those of a body that could be checked only after it was accepted."""

    step: Step
    code: str
    detail: str
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """What the steps say of their request. Its job runs again at `waiting.next_attempt_at`."""

    state: RequestState
    steps: tuple[StepRecord, ...]
    waiting: Waiting | None = None
    error: RequestError | None = None


@dataclass(frozen=True, slots=True)
class RequestResult:
    """What a request has brought about. `type` is mailbox, group or team."""

    type: str
    id: UUID
    display_name: str
    mail: str | None


@dataclass(frozen=True, slots=True)
class TemplateReference:
    """The template of a request, as it was called at submission."""

    id: TemplateId
    name: str


@value(frozen=True, slots=True)
class Accepted:
    """A request that is queued durably. `replayed` says that an earlier call with the same key had been accepted."""

    request_id: RequestId
    tenant_id: TenantId
    approval_required: bool
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request whole. `body` is the JSON that was sent; an assignment that clears has no template. `made` is what
    exists of it in the directory, by the id there, while it has not succeeded."""

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
    warnings: tuple[str, ...]
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
    """Which requests somebody wants to see; None is any, `mine` are those that the caller asked for, and `to_decide`
    those that it is the caller's turn to decide on."""

    state: RequestState | None = None
    kind: RequestKind | None = None
    mine: bool = False
    to_decide: bool = False


# For each state, the states that may follow it, as it is drawn on top. No other move exists.
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

# The states in which nothing more happens by itself.
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
    """The records of steps that nobody has worked on yet."""
    return tuple([StepRecord(step, StepState.PENDING) for step in steps])


@value(frozen=True, slots=True)
class MailboxDraft:
    """What is written of a mailbox beside its request. `name_key` and `alias` are reserved as its address is.

    `order` has the template's defaults, `content` is the order as stored JSON.
    `readers` may read the mailbox without being administrators.
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
    """A request that was found right and is to be written with all that belongs to it.

    The revisions say which tenant and template it was checked against; when they are no longer the current ones,
    nothing is written. The first of `addresses` that is free is taken. `job` is None when something must happen first.

    With `ask_addresses` nobody has asked the directory whether it has given the addresses away: the write does that for
    the first of them and the alias, and takes no other.
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
    warnings: tuple[str, ...]
    mailbox: MailboxDraft | None
    ask_addresses: bool


@dataclass(frozen=True, slots=True)
class Written:
    """It is durable. `at` is when it was written, as far as somebody wants to know: for mailboxes alone."""

    at: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Replayed:
    """The same key was used for the same thing before; this came of it."""

    request_id: RequestId
    approval_required: bool


@dataclass(frozen=True, slots=True)
class Reused:
    """The same key was used for something else."""


@dataclass(frozen=True, slots=True)
class NameTaken:
    """Another mailbox has this name."""


@dataclass(frozen=True, slots=True)
class AddressTaken:
    """Every address that would do is given away, or the alias is."""


@dataclass(frozen=True, slots=True)
class TemplateChanged:
    """The template or the tenant is not what the draft was checked against."""


@dataclass(frozen=True, slots=True)
class LimitFull:
    """The tenant has as many as it may have; `limit` is the name of what is full, as configuration files have it."""

    limit: str


@dataclass(frozen=True, slots=True)
class Again:
    """It lost to another one that was then refused itself."""


Verdict = Written | Replayed | Reused | NameTaken | AddressTaken | TemplateChanged | LimitFull | Again


def job_kind_of(kind: RequestKind) -> JobKind:
    """The job that brings about a request of this kind."""
    match kind:
        case RequestKind.GROUP | RequestKind.TEAM:
            return JobKind.GROUP_PROVISION
        case RequestKind.SHARED | RequestKind.EQUIPMENT | RequestKind.ROOM:
            return JobKind.MAILBOX_PROVISION
        case RequestKind.ASSIGNMENT:
            return JobKind.ASSIGNMENT_APPLY
