"""The use cases of guest policies."""

from chamberlain.api.administration import Policies
from chamberlain.bootstrap.means import WorkMeans
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.rules.permissions import ScopePrefixes
from chamberlain.store.callers import Callers
from chamberlain.store.clocks import decision_time
from chamberlain.store.database import Database
from chamberlain.usecases.policy_create import CreatePolicy
from chamberlain.usecases.policy_delete import DeletePolicy
from chamberlain.usecases.policy_evaluate import EvaluatePolicies
from chamberlain.usecases.policy_list import ListPolicies
from chamberlain.usecases.policy_read import ReadPolicy
from chamberlain.usecases.policy_replace import ReplacePolicy
from chamberlain.usecases.policy_simulate import ObserveSubjects, SimulatePolicy


def policy_services(
    database: Database, callers: Callers, prefixes: ScopePrefixes, observe: ObserveSubjects
) -> Policies:
    """What the API may ask about guest policies. `observe` is for those who look ahead."""
    return Policies(
        list=ListPolicies(database, callers, prefixes),
        create=CreatePolicy(database, callers, prefixes, new_id),
        read=ReadPolicy(database, callers, prefixes),
        replace=ReplacePolicy(database, callers, prefixes),
        delete=DeletePolicy(database, callers, prefixes),
        simulate=SimulatePolicy(database, observe, callers, prefixes, now),
    )


def policy_work(means: WorkMeans) -> EvaluatePolicies:
    """What a worker does about policies that are assigned."""
    return EvaluatePolicies(means.database, means.guests, new_id, decision_time)
