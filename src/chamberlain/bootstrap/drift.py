"""The use cases of drift, for callers and for workers."""

from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.usecases.drift_ask import AskForDriftCheck
from chamberlain.usecases.drift_check import CheckDrift


def drift_services(means: Means) -> AskForDriftCheck:
    """What the API may ask about drift."""
    return AskForDriftCheck(means.database, means.authorization, means.notifier, now)


def drift_work(means: WorkMeans) -> CheckDrift:
    """What a worker does about drift."""
    return CheckDrift(means.database, means.directory, means.guests, means.people, means.revisions, new_id, now)
