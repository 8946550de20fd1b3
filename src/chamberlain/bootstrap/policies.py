"""The service of guest policies, and the work on policies that are assigned."""

from chamberlain.bootstrap.directory import make_subjects
from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.guests.policies.service import PolicyService
from chamberlain.guests.policies.simulation import Simulator
from chamberlain.store.clocks import decision_time
from chamberlain.usecases.policy_evaluate import EvaluatePolicies


def policy_service(means: Means) -> PolicyService:
    """Build the service that the API calls."""
    subjects = make_subjects(means.settings, means.database.pool)
    return PolicyService(means.database, means.authorization, Simulator(means.database, subjects, now), new_id)


def policy_work(means: WorkMeans) -> EvaluatePolicies:
    """What a worker does about policies that are assigned."""
    return EvaluatePolicies(means.database, means.guests, new_id, decision_time)
