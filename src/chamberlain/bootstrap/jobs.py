"""The service of held jobs, and the worker's handlers by kind."""

from collections.abc import Mapping
from datetime import timedelta

from chamberlain.audit.jobs import AuditSealer
from chamberlain.bootstrap.adoptions import adoption_work
from chamberlain.bootstrap.assignments import assignment_jobs, subject_jobs
from chamberlain.bootstrap.drift import drift_work
from chamberlain.bootstrap.findings import finding_jobs
from chamberlain.bootstrap.groups import group_provisioner
from chamberlain.bootstrap.mailboxes import mailbox_provisioner
from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import new_id, new_trace_id, now
from chamberlain.bootstrap.policies import policy_work
from chamberlain.bootstrap.requests import request_jobs
from chamberlain.metrics import rows_removed
from chamberlain.queue.service import JobService
from chamberlain.rules.jobs import JobKind
from chamberlain.rules.retention import Retention
from chamberlain.usecases.retention_sweep import SweepRetention
from chamberlain.worker.loop import Handler


def job_service(means: Means) -> JobService:
    """Build the service that the API calls."""
    return JobService(means.database, means.authorization, means.notifier)


def request_handlers(means: WorkMeans) -> Mapping[JobKind, Handler]:
    """Build the handlers of jobs that a caller waits for."""
    return {
        JobKind.GROUP_PROVISION: group_provisioner(means),
        JobKind.MAILBOX_PROVISION: mailbox_provisioner(means),
        JobKind.ASSIGNMENT_APPLY: assignment_jobs(means).apply,
        JobKind.APPROVAL_ATTEND: request_jobs(means).attend_approvals,
    }


async def errand_handlers(means: WorkMeans) -> Mapping[JobKind, Handler]:
    """Build the handlers of background jobs, and queue the recurring ones.

    A run takes seconds, and no caller waits for it.
    """
    sweep = SweepRetention(
        database=means.database, watchers=means.notifier, keep=_retention(means), new_id=new_id, observe=rows_removed
    )
    audit, subjects, evaluate = AuditSealer(means.database, now), subject_jobs(means), policy_work(means)
    await sweep.begin(new_trace_id())
    await audit.begin(new_trace_id())
    await subjects.begin(new_trace_id())
    await evaluate.begin(new_trace_id())
    check = drift_work(means)
    await check.begin(new_trace_id())
    return {
        JobKind.RETENTION_SWEEP: sweep,
        JobKind.SUBJECT_DISCOVER: subjects.discover,
        JobKind.POLICY_EVALUATE: evaluate,
        JobKind.DRIFT_CHECK: check,
        JobKind.ADOPTION_RUN: adoption_work(means),
        JobKind.AUDIT_SEAL: audit.seal,
        JobKind.AUDIT_SEAL_BEGIN: audit.find_tenants,
        JobKind.FINDING_REOPEN: finding_jobs(means).reopen,
    }


def _retention(means: WorkMeans) -> Retention:
    return Retention(
        failed_requests=timedelta(days=means.settings.failed_request_days),
        finished_requests=timedelta(days=means.settings.retention_requests),
        events=timedelta(days=means.settings.retention_events),
    )
