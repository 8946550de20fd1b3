"""What administrators may ask for, noun by noun; services.py holds it together with the rest."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.audit import AuditFilter, AuditRecord, AuditRows
from chamberlain.rules.callers import Caller
from chamberlain.rules.edits import Edit
from chamberlain.rules.ids import JobId
from chamberlain.rules.jobs import HeldJob
from chamberlain.rules.pages import Page, PageWanted
from chamberlain.rules.tenant_records import TenantRecord, TenantSettings

ListJobs = Callable[[Caller, PageWanted], Awaitable[Page[HeldJob]]]
ReleaseJob = Callable[[Caller, JobId, Act, Callable[[HeldJob], bytes]], Awaitable[KeptAnswer]]
ListAudit = Callable[[Caller, AuditFilter, PageWanted], Awaitable[Page[AuditRecord]]]
ExportAudit = Callable[[Caller, AuditFilter], Awaitable[AuditRows]]
ReadTenant = Callable[[Caller], Awaitable[TenantRecord]]
ReplaceTenant = Callable[[Caller, TenantSettings, Edit], Awaitable[TenantRecord]]


@dataclass(frozen=True, slots=True)
class Jobs:
    """What may be asked about jobs that wait for a person."""

    list: ListJobs
    release: ReleaseJob


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
