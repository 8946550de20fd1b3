"""Build the job handlers of a worker."""

from collections.abc import Mapping
from datetime import timedelta

from chamberlain.adoptions.jobs import RunAdoptions
from chamberlain.app.clock_and_ids import new_id, now
from chamberlain.app.dependencies import WorkMeans
from chamberlain.app.directory import make_adoptions
from chamberlain.app.retention import Retention, SweepRetention
from chamberlain.audit.jobs import AuditSealer
from chamberlain.database.clock import decision_time
from chamberlain.drift.jobs import DriftJobs
from chamberlain.groups.provision import GroupProvisioner
from chamberlain.guests.assignments.jobs import AssignmentJobs
from chamberlain.guests.assignments.new_groups import NewGroupRules
from chamberlain.guests.discovery.jobs import SubjectJobs
from chamberlain.guests.findings.jobs import FindingJobs
from chamberlain.guests.policies.jobs import EvaluatePolicies
from chamberlain.http.calls import new_trace_id
from chamberlain.mailboxes.provision import MailboxProvisioner
from chamberlain.observability.metrics import rows_removed
from chamberlain.queue.models import JobKind
from chamberlain.queue.worker import Handler
from chamberlain.requests.jobs import RequestJobs


def request_handlers(means: WorkMeans) -> Mapping[JobKind, Handler]:
    """Build the handlers of jobs that a caller waits for."""
    groups = GroupProvisioner(
        database=means.database,
        people=means.people,
        directory=means.directory,
        revisions=means.revisions,
        guest_rules=NewGroupRules(new_id, now),
        notifier=means.notifier,
        new_id=new_id,
        now=now,
    )
    mailboxes = MailboxProvisioner(
        database=means.database,
        people=means.people,
        directory=means.directory,
        revisions=means.revisions,
        notifier=means.notifier,
        new_id=new_id,
        now=now,
    )
    assignments = AssignmentJobs(means.database, means.guests, means.notifier, new_id, now)
    requests = RequestJobs(means.database, means.people, means.notifier, new_id, decision_time)
    return {
        JobKind.GROUP_PROVISION: groups,
        JobKind.MAILBOX_PROVISION: mailboxes,
        JobKind.ASSIGNMENT_APPLY: assignments.apply,
        JobKind.APPROVAL_ATTEND: requests.attend_approvals,
    }


async def errand_handlers(means: WorkMeans) -> Mapping[JobKind, Handler]:
    """Build the handlers of background jobs, and queue the recurring ones.

    A run takes seconds, and no caller waits for it.
    """
    database = means.database
    sweep = SweepRetention(
        database=database, watchers=means.notifier, keep=_retention(means), new_id=new_id, observe=rows_removed
    )
    audit = AuditSealer(database, now)
    subjects = SubjectJobs(database, means.guests, new_id, now)
    evaluate = EvaluatePolicies(database, means.guests, new_id, decision_time)
    drift = DriftJobs(database, means.directory, means.guests, means.people, means.revisions, new_id, now)
    adoptions = make_adoptions(means.settings, database.pool)
    for recurring in (sweep, audit, subjects, evaluate, drift):
        await recurring.begin(new_trace_id())
    return {
        JobKind.RETENTION_SWEEP: sweep,
        JobKind.SUBJECT_DISCOVER: subjects.discover,
        JobKind.POLICY_EVALUATE: evaluate,
        JobKind.DRIFT_CHECK: drift.check,
        JobKind.ADOPTION_RUN: RunAdoptions(database, adoptions, means.directory, means.people, new_id, now),
        JobKind.AUDIT_SEAL: audit.seal,
        JobKind.AUDIT_SEAL_BEGIN: audit.find_tenants,
        JobKind.FINDING_REOPEN: FindingJobs(database, decision_time).reopen,
    }


def _retention(means: WorkMeans) -> Retention:
    return Retention(
        failed_requests=timedelta(days=means.settings.failed_request_days),
        finished_requests=timedelta(days=means.settings.retention_requests),
        events=timedelta(days=means.settings.retention_events),
    )
