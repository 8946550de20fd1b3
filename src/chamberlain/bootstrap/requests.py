"""The service of requests, and its job handlers."""

from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.requests.jobs import RequestJobs
from chamberlain.requests.service import RequestService
from chamberlain.store.clocks import decision_time
from chamberlain.store.request_looks import RequestLooks


def request_service(means: Means) -> RequestService:
    """Build the service that the API calls."""
    return RequestService(
        database=means.database,
        authorization=means.authorization,
        people=means.people,
        looks=RequestLooks(means.database),
        timelines=means.watching.timelines,
        workers=means.notifier,
        watchers=means.watching.notifier,
        new_id=new_id,
        now=now,
    )


def request_jobs(means: WorkMeans) -> RequestJobs:
    """Build the handlers that a worker calls."""
    return RequestJobs(means.database, means.people, means.notifier, new_id, decision_time)
