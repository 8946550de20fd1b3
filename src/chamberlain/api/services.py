"""What the handlers may ask for. Bootstrap fills it in; tests fill it in with something small and real."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from uuid import UUID

from chamberlain.api.streams import Streams
from chamberlain.rules.acceptances import WantedAcceptance
from chamberlain.rules.actions import Act, KeptAnswer, RequestView
from chamberlain.rules.adoption_records import AdoptionRecord, AdoptionView
from chamberlain.rules.adoptions import AdoptionRule, Preview
from chamberlain.rules.assignment_drafts import WantedAssignment
from chamberlain.rules.audit import AuditFilter, AuditRecord, AuditRows
from chamberlain.rules.callers import Caller
from chamberlain.rules.decisions import Naming
from chamberlain.rules.deliveries import Attempt, DeliveryFilter, DeliveryRecord
from chamberlain.rules.drift_checks import DriftCheck
from chamberlain.rules.edits import Edit
from chamberlain.rules.event_records import EventRecord
from chamberlain.rules.findings import FindingFilter, FindingRecord
from chamberlain.rules.groups import GroupOrder
from chamberlain.rules.ids import (
    AdoptionId,
    DeliveryId,
    GroupId,
    JobId,
    MailboxId,
    PolicyId,
    RequestId,
    TemplateId,
    TraceId,
)
from chamberlain.rules.jobs import HeldJob
from chamberlain.rules.mailbox_records import AcceptedMailbox, MailboxFilter, MailboxRecord
from chamberlain.rules.mailbox_rehearsals import MailboxRehearsal
from chamberlain.rules.mailboxes import MailboxOrder
from chamberlain.rules.pages import (
    FeedPage,
    FeedPosition,
    FeedWanted,
    NamedPage,
    NamedPageWanted,
    NamePosition,
    Page,
    PageWanted,
    Position,
)
from chamberlain.rules.permissions import Operation, ScopePrefixes
from chamberlain.rules.policy_records import PolicyRecord
from chamberlain.rules.redeliveries import DeliverySpan
from chamberlain.rules.rehearsals import GroupRehearsal
from chamberlain.rules.requests import Accepted, RequestFilter, RequestResult, Submission
from chamberlain.rules.simulations import Simulation, SimulationOrder
from chamberlain.rules.subject_records import SubjectFilter, SubjectRecord
from chamberlain.rules.subjects import SubjectType
from chamberlain.rules.template_records import RotatedWebhook, TemplateRecord
from chamberlain.rules.tenant_records import TenantRecord, TenantSettings
from chamberlain.rules.timeline import Happenings
from chamberlain.shapes.policies import PolicyBody
from chamberlain.shapes.templates import TemplateBody


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must be well before the service is ready; `detail` says what is wrong when it is not."""

    name: str
    passed: bool
    detail: str | None = None


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
ListJobs = Callable[[Caller, PageWanted], Awaitable[Page[HeldJob]]]
ReleaseJob = Callable[[Caller, JobId, Act, Callable[[HeldJob], bytes]], Awaitable[KeptAnswer]]
ListDeliveries = Callable[[Caller, DeliveryFilter, PageWanted], Awaitable[Page[DeliveryRecord]]]
RedeliverDelivery = Callable[[Caller, DeliveryId, Act, Callable[[DeliveryRecord], bytes]], Awaitable[KeptAnswer]]
RedeliverSpan = Callable[[Caller, DeliverySpan, Act, Callable[[int], bytes]], Awaitable[KeptAnswer]]
ListAudit = Callable[[Caller, AuditFilter, PageWanted], Awaitable[Page[AuditRecord]]]
ExportAudit = Callable[[Caller, AuditFilter], Awaitable[AuditRows]]
# A cursor of a position, and back; the text says for whom and for which list. Opening raises Malformed.
SealCursor = Callable[[Position | NamePosition | FeedPosition, str], str]
OpenCursor = Callable[[str, str], Position]
OpenNamedCursor = Callable[[str, str], NamePosition]
OpenFeedCursor = Callable[[str, str], FeedPosition]
# Groups and managed sites, told apart by their type.
AssignTo = Callable[[Caller, WantedAssignment], Awaitable[SubjectRecord]]
ReadSubject = Callable[[Caller, GroupId, SubjectType], Awaitable[SubjectRecord]]
ListSubjects = Callable[[Caller, SubjectFilter, NamedPageWanted], Awaitable[NamedPage[SubjectRecord]]]
ListFindings = Callable[[Caller, FindingFilter, PageWanted], Awaitable[Page[FindingRecord]]]
AcceptFinding = Callable[[Caller, UUID, WantedAcceptance, Act, Callable[[FindingRecord], bytes]], Awaitable[KeptAnswer]]
ConfirmFinding = Callable[[Caller, UUID, Act, Callable[[FindingRecord], bytes]], Awaitable[KeptAnswer]]
AskForDriftCheck = Callable[[Caller, Act, Callable[[DriftCheck], bytes]], Awaitable[KeptAnswer]]
ListEvents = Callable[[Caller, FeedWanted], Awaitable[FeedPage[EventRecord]]]
RequestMailbox = Callable[[Caller, MailboxOrder, Submission], Awaitable[AcceptedMailbox]]
RehearseMailbox = Callable[[Caller, MailboxOrder], Awaitable[MailboxRehearsal]]
ReadMailbox = Callable[[Caller, MailboxId], Awaitable[MailboxRecord]]
ListMailboxes = Callable[[Caller, MailboxFilter, PageWanted], Awaitable[Page[MailboxRecord]]]
ReadRequest = Callable[[Caller, RequestId], Awaitable[RequestView]]
# What lies behind an event and what follows; None when there is nothing, and nothing will be.
WatchRequest = Callable[[Caller, RequestId, int], Awaitable[Happenings | None]]
# Templates are administered alike in every area.
ListTemplates = Callable[[Caller, PageWanted], Awaitable[Page[TemplateRecord]]]
CreateTemplate = Callable[[Caller, TemplateBody, Act, Callable[[TemplateRecord], bytes]], Awaitable[KeptAnswer]]
ReadTemplate = Callable[[Caller, TemplateId], Awaitable[TemplateRecord]]
ReplaceTemplate = Callable[[Caller, TemplateId, TemplateBody, Edit], Awaitable[TemplateRecord]]
DeleteTemplate = Callable[[Caller, TemplateId, Edit], Awaitable[None]]
RotateWebhook = Callable[[Caller, TemplateId, Act, Callable[[RotatedWebhook], bytes]], Awaitable[KeptAnswer]]
# One call with a test event; the answer is what the last argument makes of what came back.
TestWebhook = Callable[[Caller, TemplateId, Act, Callable[[Attempt], bytes]], Awaitable[KeptAnswer]]
ListPolicies = Callable[[Caller, PageWanted], Awaitable[Page[PolicyRecord]]]
CreatePolicy = Callable[[Caller, PolicyBody, Act, Callable[[PolicyRecord], bytes]], Awaitable[KeptAnswer]]
ReadPolicy = Callable[[Caller, PolicyId], Awaitable[PolicyRecord]]
ReplacePolicy = Callable[[Caller, PolicyId, PolicyBody, Edit], Awaitable[PolicyRecord]]
DeletePolicy = Callable[[Caller, PolicyId, Edit], Awaitable[None]]
SimulatePolicy = Callable[[Caller, PolicyId, SimulationOrder], Awaitable[Simulation]]
ReadTenant = Callable[[Caller], Awaitable[TenantRecord]]
ReplaceTenant = Callable[[Caller, TenantSettings, Edit], Awaitable[TenantRecord]]
PreviewAdoption = Callable[[Caller, AdoptionRule], Awaitable[Preview]]
# What was shown, by its digest; the answer is what the last argument makes of the adoption.
ConfirmAdoption = Callable[[Caller, AdoptionRule, str, Act, Callable[[AdoptionView], bytes]], Awaitable[KeptAnswer]]
ListAdoptions = Callable[[Caller, PageWanted], Awaitable[Page[AdoptionRecord]]]
ReadAdoption = Callable[[Caller, AdoptionId], Awaitable[AdoptionView]]
UndoAdoption = Callable[[Caller, AdoptionId, Act, Callable[[AdoptionView], bytes]], Awaitable[KeptAnswer]]
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
class Jobs:
    """What may be asked about jobs that wait for a person."""

    list: ListJobs
    release: ReleaseJob


@dataclass(frozen=True, slots=True)
class Deliveries:
    """What may be asked about deliveries of webhooks."""

    list: ListDeliveries
    redeliver: RedeliverDelivery
    redeliver_span: RedeliverSpan


@dataclass(frozen=True, slots=True)
class Templates:
    """What may be asked about the templates of one area; `offer` is for those who ask for something."""

    list: ListTemplates
    create: CreateTemplate
    read: ReadTemplate
    replace: ReplaceTemplate
    delete: DeleteTemplate
    offer: ListTemplates


@dataclass(frozen=True, slots=True)
class Webhooks:
    """What may be done with the webhooks of the templates of one area."""

    rotate: RotateWebhook
    test: TestWebhook


@dataclass(frozen=True, slots=True)
class Policies:
    """What may be asked about guest policies."""

    list: ListPolicies
    create: CreatePolicy
    read: ReadPolicy
    replace: ReplacePolicy
    delete: DeletePolicy
    simulate: SimulatePolicy


@dataclass(frozen=True, slots=True)
class OwnTenant:
    """What may be asked about the tenant of a caller."""

    read: ReadTenant
    replace: ReplaceTenant


@dataclass(frozen=True, slots=True)
class Managed:
    """What may be asked about groups and managed sites."""

    list: ListSubjects
    read: ReadSubject
    assign: AssignTo


@dataclass(frozen=True, slots=True)
class Findings:
    """What may be asked about findings."""

    list: ListFindings
    accept: AcceptFinding
    confirm: ConfirmFinding


@dataclass(frozen=True, slots=True)
class Adoptions:
    """What may be asked about mailboxes and groups that are taken under management."""

    preview: PreviewAdoption
    confirm: ConfirmAdoption
    list: ListAdoptions
    read: ReadAdoption
    undo: UndoAdoption


@dataclass(frozen=True, slots=True)
class Audit:
    """What may be asked about the audit trail."""

    list: ListAudit
    export: ExportAudit


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
