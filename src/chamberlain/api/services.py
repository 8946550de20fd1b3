"""What the handlers may ask for. Bootstrap fills it in; tests fill it in with something small and real."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass

from chamberlain.api.administration import (
    Adoptions,
    Audit,
    Deliveries,
    Findings,
    Jobs,
    Managed,
    OwnTenant,
    Policies,
    Templates,
    Webhooks,
)
from chamberlain.api.streams import Streams
from chamberlain.rules.actions import Act, KeptAnswer, RequestView
from chamberlain.rules.callers import Caller
from chamberlain.rules.decisions import Naming
from chamberlain.rules.drift_checks import DriftCheck
from chamberlain.rules.event_records import EventRecord
from chamberlain.rules.groups import GroupOrder
from chamberlain.rules.ids import (
    MailboxId,
    RequestId,
    TraceId,
)
from chamberlain.rules.mailbox_records import AcceptedMailbox, MailboxFilter, MailboxRecord
from chamberlain.rules.mailbox_rehearsals import MailboxRehearsal
from chamberlain.rules.mailboxes import MailboxOrder
from chamberlain.rules.pages import (
    FeedPage,
    FeedPosition,
    FeedWanted,
    NamePosition,
    Page,
    PageWanted,
    Position,
)
from chamberlain.rules.permissions import Operation, ScopePrefixes
from chamberlain.rules.rehearsals import GroupRehearsal
from chamberlain.rules.requests import Accepted, RequestFilter, RequestResult, Submission
from chamberlain.rules.timeline import Happenings


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of readiness. A failed check has the cause as a sentence and as a stable code.

    The service stays ready when a check fails that is not `required`.
    """

    name: str
    passed: bool
    detail: str | None = None
    reason_code: str | None = None
    required: bool = True


# Whom an Authorization header speaks for; raises Unauthenticated or Unavailable.
Verify = Callable[[str | None], Awaitable[Caller]]
# Raises Forbidden when a caller whose token would do may not do it all the same, not being an administrator.
RequireAllowed = Callable[[Caller, Operation], Awaitable[None]]
RequestGroup = Callable[[Caller, GroupOrder, Submission], Awaitable[Accepted]]
RehearseGroup = Callable[[Caller, GroupOrder], Awaitable[GroupRehearsal]]
AwaitResult = Callable[[Accepted], Coroutine[None, None, RequestResult | None]]
ListRequests = Callable[[Caller, RequestFilter, PageWanted], Awaitable[Page[RequestView]]]
# Approve, reject, cancel or retry; the answer is what the last argument makes of the request, now or when the same key
# came first.
ActUponRequest = Callable[[Caller, RequestId, Act, Callable[[RequestView], bytes]], Awaitable[KeptAnswer]]
NameApprovers = Callable[[Caller, RequestId, Naming, Act, Callable[[RequestView], bytes]], Awaitable[KeptAnswer]]
# A cursor of a position, and back; the text says for whom and for which list. Opening raises Malformed.
SealCursor = Callable[[Position | NamePosition | FeedPosition, str], str]
OpenCursor = Callable[[str, str], Position]
OpenNamedCursor = Callable[[str, str], NamePosition]
OpenFeedCursor = Callable[[str, str], FeedPosition]
AskForDriftCheck = Callable[[Caller, Act, Callable[[DriftCheck], bytes]], Awaitable[KeptAnswer]]
ListEvents = Callable[[Caller, FeedWanted], Awaitable[FeedPage[EventRecord]]]
RequestMailbox = Callable[[Caller, MailboxOrder, Submission], Awaitable[AcceptedMailbox]]
RehearseMailbox = Callable[[Caller, MailboxOrder], Awaitable[MailboxRehearsal]]
ReadMailbox = Callable[[Caller, MailboxId], Awaitable[MailboxRecord]]
ListMailboxes = Callable[[Caller, MailboxFilter, PageWanted], Awaitable[Page[MailboxRecord]]]
ReadRequest = Callable[[Caller, RequestId], Awaitable[RequestView]]
# What lies behind an event and what follows; None when there is nothing, and nothing will be.
WatchRequest = Callable[[Caller, RequestId, int], Awaitable[Happenings | None]]
CheckReadiness = Callable[[], Awaitable[Sequence[Check]]]
# Path template, method, status and seconds of one answered call.
Observe = Callable[[str, str, int, float], None]


@dataclass(frozen=True, slots=True)
class Addresses:
    """The base addresses, without a slash at the end. Addresses in answers are built from them, never from a Host."""

    base_url: str
    insiders_base_url: str
    graph_url: str


@dataclass(frozen=True, slots=True)
class Groups:
    """What may be asked about groups and teams."""

    request: RequestGroup
    rehearse: RehearseGroup


@dataclass(frozen=True, slots=True)
class Mailboxes:
    """What may be asked about mailboxes."""

    request: RequestMailbox
    rehearse: RehearseMailbox
    read: ReadMailbox
    list: ListMailboxes


@dataclass(frozen=True, slots=True)
class Requests:
    """What may be asked about requests, whatever they ask for."""

    list: ListRequests
    read: ReadRequest
    watch: WatchRequest
    await_result: AwaitResult
    approve: ActUponRequest
    reject: ActUponRequest
    name_approvers: NameApprovers
    cancel: ActUponRequest
    retry: ActUponRequest


@dataclass(frozen=True, slots=True)
class Services:
    """The use cases, the ways out and the settings that the API needs.

    `hosts` are the values of the Host header that are ours, in lower case (see hosts.py). `token_url` and
    `authorize_url` are those of the identity platform and appear in the OpenAPI document only; None where they are
    not known.
    """

    verify: Verify
    require_allowed: RequireAllowed
    groups: Groups
    mailboxes: Mailboxes
    requests: Requests
    jobs: Jobs
    deliveries: Deliveries
    audit: Audit
    mailbox_templates: Templates
    collab_templates: Templates
    mailbox_webhooks: Webhooks
    collab_webhooks: Webhooks
    policies: Policies
    tenant: OwnTenant
    managed: Managed
    adoptions: Adoptions
    findings: Findings
    ask_for_drift_check: AskForDriftCheck
    list_events: ListEvents
    seal_cursor: SealCursor
    open_cursor: OpenCursor
    open_named_cursor: OpenNamedCursor
    open_feed_cursor: OpenFeedCursor
    streams: Streams
    check_readiness: CheckReadiness
    observe: Observe
    new_trace_id: Callable[[], TraceId]
    prefixes: ScopePrefixes
    addresses: Addresses
    hosts: frozenset[str]
    retry_after_seconds: int
    body_timeout_seconds: float = 10.0
    authorize_url: str | None = None
    token_url: str | None = None
