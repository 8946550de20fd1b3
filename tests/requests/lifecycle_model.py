# SPDX-License-Identifier: Apache-2.0
"""A model of the request lifecycle: what every action makes of a request, and the code of every refusal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from chamberlain.core.ids import TemplateId, UserId
from chamberlain.requests.models import ApprovalMode, ApprovalState, DecisionOutcome, RequestState
from chamberlain.requests.rules import Action
from tests.estates import ADA, BEN, CLEO, DARA, PROJECT_GROUP, SHARED_MAILBOX

ONE_LEVEL = TemplateId(UUID("7e000000-0000-4000-8000-0000000000a1"))
TWO_LEVELS = TemplateId(UUID("7e000000-0000-4000-8000-0000000000a2"))
# The approvers of each level, before the requester is excluded. Only templates of two levels have a deadline.
LEVELS: Mapping[TemplateId, Sequence[tuple[ApprovalMode, Sequence[UserId]]]] = {
    PROJECT_GROUP: (),
    SHARED_MAILBOX: (),
    ONE_LEVEL: ((ApprovalMode.ANY, (DARA, BEN)),),
    TWO_LEVELS: ((ApprovalMode.ANY, (DARA, BEN)), (ApprovalMode.ALL, (CLEO, DARA))),
}
DEADLINE_DAYS = 7

# Where nothing holds the name of a request any more.
RELEASED = frozenset({RequestState.REJECTED, RequestState.CANCELLED, RequestState.EXPIRED})
TO_CANCEL = frozenset({RequestState.PENDING_APPROVAL, RequestState.QUEUED, RequestState.WAITING, RequestState.FAILED})
TO_PROVISION = frozenset({RequestState.QUEUED, RequestState.WAITING})


class DirectoryFault(StrEnum):
    """A fault of the directory that hits one name."""

    TEMPORARY = "temporary"
    PERMANENT = "permanent"


@dataclass(slots=True)
class ModelLevel:
    """A level of approval. Its approvers are named when it opens."""

    mode: ApprovalMode
    asked: Sequence[UserId]
    state: ApprovalState = ApprovalState.NOT_REACHED
    approvers: Sequence[UserId] = ()
    decisions: list[tuple[UserId, DecisionOutcome]] = field(default_factory=list)

    @property
    def undecided(self) -> Sequence[UserId]:
        """The approvers whose turn it is."""
        decided = {user for user, _ in self.decisions}
        is_open = self.state is ApprovalState.PENDING
        return [user for user in self.approvers if is_open and user not in decided]


@dataclass(slots=True)
class ModelRequest:
    """A request with all that can be seen of it. `id` is that of the service; `events` are types, with open levels."""

    id: UUID
    name: str
    template: TemplateId
    requester: UserId
    state: RequestState = RequestState.QUEUED
    levels: list[ModelLevel] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    error: str | None = None
    is_overdue: bool = False

    def __post_init__(self) -> None:
        self.levels = [ModelLevel(mode, asked) for mode, asked in LEVELS[self.template]]
        if self.levels:
            self.state = RequestState.PENDING_APPROVAL
            self.open_level()

    @property
    def is_mailbox(self) -> bool:
        """Whether it is for a mailbox."""
        return self.template == SHARED_MAILBOX

    @property
    def current(self) -> ModelLevel | None:
        """The level that has not approved yet."""
        return next((each for each in self.levels if each.state is not ApprovalState.APPROVED), None)

    @property
    def next_approver(self) -> UserId | None:
        """An approver whose turn it is."""
        level = self.current
        return next(iter(level.undecided), None) if level is not None else None

    @property
    def actions(self) -> set[Action]:
        """The actions of the requester."""
        found = {Action.CANCEL} if self.state in TO_CANCEL else set[Action]()
        return found | {Action.RETRY} if self.state is RequestState.FAILED else found

    def may_read(self, user: UserId) -> bool:
        """Whether it is the user's own, or theirs to decide, or decided by them."""
        decides = any(user in level.undecided or user in [each for each, _ in level.decisions] for level in self.levels)
        return user == self.requester or decides

    def open_level(self) -> None:
        """Name the approvers of the level that is next."""
        level = self.current
        assert level is not None
        level.state = ApprovalState.PENDING
        level.approvers = [user for user in level.asked if user != self.requester]
        self.events.append(f"request.approvalRequired {self.levels.index(level) + 1}")

    def close_level(self) -> None:
        """Close the open level: no approver decides any more."""
        if (level := self.current) is not None and level.state is ApprovalState.PENDING:
            level.state = ApprovalState.NOT_REACHED


@dataclass(slots=True)
class Model:
    """All requests of one tenant, and the rules for them. `keys` has the body of each key."""

    requests: list[ModelRequest] = field(default_factory=list)
    faults: dict[str, DirectoryFault] = field(default_factory=dict)
    keys: dict[tuple[UserId, str], object] = field(default_factory=dict)
    is_suspended: bool = False
    has_outage: bool = False

    def refuse_submission(self, name: str, template: TemplateId) -> str | None:
        """The code that a new submission is refused with; None when it is accepted."""
        if self.is_suspended:
            return "tokenInvalid"
        taken = any(each.name == name and each.is_mailbox and each.state not in RELEASED for each in self.requests)
        return "nameTaken" if taken and template == SHARED_MAILBOX else None

    def refuse_decision_of(self, request: ModelRequest, user: UserId) -> str | None:
        """The code for a user who may never decide on it."""
        if user == request.requester:
            return "selfApproval"
        was_asked = any(user in level.approvers for level in request.levels)
        return None if was_asked else "notFound"

    def refuse_decision_now(self, request: ModelRequest, user: UserId) -> str | None:
        """The code for an approver who may not decide now."""
        level = request.current
        if request.state is not RequestState.PENDING_APPROVAL:
            return "stateDoesNotAllow"
        if self.is_suspended:
            return "tokenInvalid"
        if level is None or user not in level.undecided or request.is_overdue:
            return "stateDoesNotAllow"
        return None

    def refuse_ending_of(self, request: ModelRequest, user: UserId, *, as_administrator: bool) -> str | None:
        """The code for a user who may not cancel or retry it. Ada is the administrator."""
        if as_administrator:
            return None if user == ADA else "notAdministrator"
        if user == request.requester:
            return None
        return "notAdministrator" if request.may_read(user) else "notFound"

    def decide(self, request: ModelRequest, user: UserId, outcome: DecisionOutcome) -> None:
        """Record a decision that is accepted."""
        level = request.current
        assert level is not None
        level.decisions.append((user, outcome))
        if outcome is DecisionOutcome.REJECTED:
            level.state, request.state = ApprovalState.REJECTED, RequestState.REJECTED
            request.events.append("request.rejected")
        elif level.mode is ApprovalMode.ANY or not level.undecided:
            level.state = ApprovalState.APPROVED
            if request.current is None:
                request.state = RequestState.QUEUED
                request.events.append("request.approved")

    def cancel(self, request: ModelRequest) -> None:
        """End a request that can be cancelled."""
        request.close_level()
        request.state = RequestState.CANCELLED
        request.events.append("request.cancelled")

    def retry(self, request: ModelRequest) -> None:
        """Queue a failed request once more."""
        request.state, request.error = RequestState.QUEUED, None
        request.events.append("request.retried")

    def provision(self) -> None:
        """Run all that is queued and waits, if the tenant is served."""
        for request in self.requests:
            if self.is_suspended or request.state not in TO_PROVISION:
                continue
            fault = DirectoryFault.TEMPORARY if self.has_outage else self.faults.get(request.name)
            match fault:
                case None:
                    request.state = RequestState.SUCCEEDED
                    request.events.append("mailbox.created" if request.is_mailbox else "group.created")
                case DirectoryFault.TEMPORARY:
                    request.state = RequestState.WAITING
                case DirectoryFault.PERMANENT:
                    request.state, request.error = RequestState.FAILED, "ruleInvalid"
                    request.events.append("request.failed")

    def attend(self) -> None:
        """Open the levels that are next and end what is overdue, if the tenant is served."""
        for request in self.requests:
            if self.is_suspended or request.state is not RequestState.PENDING_APPROVAL:
                continue
            if request.is_overdue:
                request.close_level()
                request.state = RequestState.EXPIRED
                request.events.append("request.expired")
            elif request.current is not None and request.current.state is ApprovalState.NOT_REACHED:
                request.open_level()

    def pass_deadlines(self) -> None:
        """Let the deadlines of all open levels be in the past."""
        for request in self.requests:
            level = request.current
            is_open = level is not None and level.state is ApprovalState.PENDING
            if request.template == TWO_LEVELS and is_open:
                request.is_overdue = True
