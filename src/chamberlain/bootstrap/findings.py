"""The service of findings, and its job handlers."""

from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import now
from chamberlain.guests.findings.jobs import FindingJobs
from chamberlain.guests.findings.service import FindingService
from chamberlain.store.clocks import decision_time


def finding_service(means: Means) -> FindingService:
    """Build the service that the API calls."""
    return FindingService(means.database, means.people, means.authorization, now)


def finding_jobs(means: WorkMeans) -> FindingJobs:
    """Build the handlers that a worker calls."""
    return FindingJobs(means.database, decision_time)
