"""The service of drift, and its job."""

from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.drift.jobs import CheckDrift
from chamberlain.drift.service import DriftService


def drift_service(means: Means) -> DriftService:
    """Build the service that the API calls."""
    return DriftService(means.database, means.authorization, means.notifier, now)


def drift_work(means: WorkMeans) -> CheckDrift:
    """Build the handler of drift checks."""
    return CheckDrift(means.database, means.directory, means.guests, means.people, means.revisions, new_id, now)
