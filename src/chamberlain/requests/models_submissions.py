"""Submissions: a request as it is written when it is accepted, and what can come of writing it."""

from dataclasses import dataclass, field
from datetime import datetime

from chamberlain.changes.models import Change
from chamberlain.core.idempotency import IdempotencyKey
from chamberlain.core.ids import MailboxId, RequestId, TemplateId, UserId
from chamberlain.core.values import value
from chamberlain.directory.mailboxes import MailboxOrder, TemplateSource
from chamberlain.directory.models_mail_addresses import MailAddress
from chamberlain.queue.models import JobKind
from chamberlain.requests.models import RequestKind, RequestState, StepRecord
from chamberlain.requests.models_approvals import ApprovalRecord


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
