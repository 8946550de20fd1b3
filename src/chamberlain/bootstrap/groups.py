"""The use cases of groups and teams, for callers and for workers."""

from chamberlain.api.services import Groups
from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.usecases.group_provision import ProvisionGroups
from chamberlain.usecases.group_request import RequestGroup


def group_services(means: Means) -> Groups:
    """What the API may ask about groups and teams."""
    request = RequestGroup(
        database=means.database,
        people=means.people,
        authorization=means.authorization,
        catalog=means.catalog,
        submitter=means.submitter,
        new_id=new_id,
        now=now,
    )
    return Groups(request=request, rehearse=request.rehearse)


def group_work(means: WorkMeans) -> ProvisionGroups:
    """What a worker does about them."""
    return ProvisionGroups(
        database=means.database,
        people=means.people,
        directory=means.directory,
        revisions=means.revisions,
        notifier=means.notifier,
        new_id=new_id,
        now=now,
    )
