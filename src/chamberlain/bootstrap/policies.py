"""The use cases of guest policies."""

from chamberlain.api.administration import Policies
from chamberlain.auth.authorization import Authorization
from chamberlain.bootstrap.means import WorkMeans
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.store.clocks import decision_time
from chamberlain.store.database import Database
from chamberlain.usecases.policy_create import CreatePolicy
from chamberlain.usecases.policy_delete import DeletePolicy
from chamberlain.usecases.policy_evaluate import EvaluatePolicies
from chamberlain.usecases.policy_list import ListPolicies
from chamberlain.usecases.policy_read import ReadPolicy
from chamberlain.usecases.policy_replace import ReplacePolicy
from chamberlain.usecases.policy_simulate import ObserveSubjects, SimulatePolicy


def policy_services(database: Database, authorization: Authorization, observe: ObserveSubjects) -> Policies:
    """What the API may ask about guest policies. `observe` is for those who look ahead."""
    return Policies(
        list=ListPolicies(database, authorization),
        create=CreatePolicy(database, authorization, new_id),
        read=ReadPolicy(database, authorization),
        replace=ReplacePolicy(database, authorization),
        delete=DeletePolicy(database, authorization),
        simulate=SimulatePolicy(database, observe, authorization, now),
    )


def policy_work(means: WorkMeans) -> EvaluatePolicies:
    """What a worker does about policies that are assigned."""
    return EvaluatePolicies(means.database, means.guests, new_id, decision_time)
