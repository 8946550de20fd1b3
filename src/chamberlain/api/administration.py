"""What administrators may ask for, noun by noun; services.py holds it together with the rest."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.audit import AuditFilter, AuditRecord, AuditRows
from chamberlain.rules.callers import Caller
from chamberlain.rules.deliveries import Attempt, DeliveryFilter, DeliveryRecord
from chamberlain.rules.edits import Edit
from chamberlain.rules.ids import DeliveryId, JobId, TemplateId
from chamberlain.rules.jobs import HeldJob
from chamberlain.rules.pages import Page, PageWanted
from chamberlain.rules.redeliveries import DeliverySpan
from chamberlain.rules.template_records import RotatedWebhook
from chamberlain.rules.tenant_records import TenantRecord, TenantSettings

ListJobs = Callable[[Caller, PageWanted], Awaitable[Page[HeldJob]]]
ReleaseJob = Callable[[Caller, JobId, Act, Callable[[HeldJob], bytes]], Awaitable[KeptAnswer]]
ListDeliveries = Callable[[Caller, DeliveryFilter, PageWanted], Awaitable[Page[DeliveryRecord]]]
RedeliverDelivery = Callable[[Caller, DeliveryId, Act, Callable[[DeliveryRecord], bytes]], Awaitable[KeptAnswer]]
RedeliverSpan = Callable[[Caller, DeliverySpan, Act, Callable[[int], bytes]], Awaitable[KeptAnswer]]
ListAudit = Callable[[Caller, AuditFilter, PageWanted], Awaitable[Page[AuditRecord]]]
ExportAudit = Callable[[Caller, AuditFilter], Awaitable[AuditRows]]
RotateWebhook = Callable[[Caller, TemplateId, Act, Callable[[RotatedWebhook], bytes]], Awaitable[KeptAnswer]]
# One call with a test event; the answer is what the last argument makes of what came back.
TestWebhook = Callable[[Caller, TemplateId, Act, Callable[[Attempt], bytes]], Awaitable[KeptAnswer]]
ReadTenant = Callable[[Caller], Awaitable[TenantRecord]]
ReplaceTenant = Callable[[Caller, TenantSettings, Edit], Awaitable[TenantRecord]]


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
class Webhooks:
    """What may be done with the webhooks of the templates of one area."""

    rotate: RotateWebhook
    test: TestWebhook


@dataclass(frozen=True, slots=True)
class OwnTenant:
    """What may be asked about the tenant of a caller."""

    read: ReadTenant
    replace: ReplaceTenant


@dataclass(frozen=True, slots=True)
class Audit:
    """What may be asked about the audit trail."""

    list: ListAudit
    export: ExportAudit
