"""What the handlers may ask for. Bootstrap fills it in; tests fill it in with something small and real."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from chamberlain.api.administration import (
    Adoptions,
    Audit,
    Deliveries,
    Jobs,
    OwnTenant,
    Templates,
    Webhooks,
)
from chamberlain.rules.actions import Act, KeptAnswer, RequestView
from chamberlain.rules.callers import Caller
from chamberlain.rules.decisions import Naming
from chamberlain.rules.drift_checks import DriftCheck
from chamberlain.rules.event_records import EventRecord
from chamberlain.rules.ids import (
    RequestId,
)
from chamberlain.rules.pages import (
    FeedPage,
    FeedWanted,
    Page,
    PageWanted,
)
from chamberlain.rules.requests import RequestFilter
from chamberlain.rules.timeline import Happenings

ListRequests = Callable[[Caller, RequestFilter, PageWanted], Awaitable[Page[RequestView]]]
# Approve, reject, cancel or retry; the answer is what the last argument makes of the request, now or when the same key
# came first.
ActUponRequest = Callable[[Caller, RequestId, Act, Callable[[RequestView], bytes]], Awaitable[KeptAnswer]]
NameApprovers = Callable[[Caller, RequestId, Naming, Act, Callable[[RequestView], bytes]], Awaitable[KeptAnswer]]
AskForDriftCheck = Callable[[Caller, Act, Callable[[DriftCheck], bytes]], Awaitable[KeptAnswer]]
ListEvents = Callable[[Caller, FeedWanted], Awaitable[FeedPage[EventRecord]]]
ReadRequest = Callable[[Caller, RequestId], Awaitable[RequestView]]
# What lies behind an event and what follows; None when there is nothing, and nothing will be.
WatchRequest = Callable[[Caller, RequestId, int], Awaitable[Happenings | None]]


@dataclass(frozen=True, slots=True)
class Requests:
    """What may be asked about requests, whatever they ask for."""

    list: ListRequests
    read: ReadRequest
    watch: WatchRequest
    approve: ActUponRequest
    reject: ActUponRequest
    name_approvers: NameApprovers
    cancel: ActUponRequest
    retry: ActUponRequest


@dataclass(frozen=True, slots=True)
class Services:
    """The use cases of nouns that have no service class yet."""

    requests: Requests
    jobs: Jobs
    deliveries: Deliveries
    audit: Audit
    mailbox_templates: Templates
    collab_templates: Templates
    mailbox_webhooks: Webhooks
    collab_webhooks: Webhooks
    tenant: OwnTenant
    adoptions: Adoptions
    ask_for_drift_check: AskForDriftCheck
    list_events: ListEvents
