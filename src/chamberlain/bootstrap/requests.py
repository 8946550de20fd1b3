"""The use cases of requests, whatever they ask for."""

from chamberlain.api.services import Requests
from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.requests.actions import Deeds
from chamberlain.store.clocks import decision_time
from chamberlain.store.request_looks import RequestLooks
from chamberlain.usecases.approval_attend import AttendApprovals
from chamberlain.usecases.approver_name import NameApprovers
from chamberlain.usecases.request_cancel import CancelRequest
from chamberlain.usecases.request_decide import DecideRequest
from chamberlain.usecases.request_list import ListRequests
from chamberlain.usecases.request_read import ReadRequest
from chamberlain.usecases.request_retry import RetryRequest
from chamberlain.usecases.request_watch import WatchRequest


def request_services(means: Means) -> Requests:
    """What the API may ask about requests."""
    database, authorization, watching = means.database, means.authorization, means.watching
    deeds = Deeds(database, authorization, watching.notifier)
    decide = DecideRequest(deeds, authorization, means.people, means.notifier, new_id, now)
    return Requests(
        list=ListRequests(database, authorization),
        read=ReadRequest(RequestLooks(database), authorization),
        watch=WatchRequest(database, authorization, watching.timelines),
        approve=decide.approve,
        reject=decide.reject,
        name_approvers=NameApprovers(database, authorization, means.people, watching.notifier, new_id, now),
        cancel=CancelRequest(deeds, new_id, now),
        retry=RetryRequest(deeds, means.notifier, now),
    )


def approval_work(means: WorkMeans) -> AttendApprovals:
    """Attends to requests that wait for approval."""
    return AttendApprovals(means.database, means.people, means.notifier, new_id, decision_time)
