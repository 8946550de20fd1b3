"""The service of groups and teams, and their provisioning."""

from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.groups.provision import GroupProvisioner
from chamberlain.groups.service import GroupService


def group_service(means: Means) -> GroupService:
    """Build the service that the API calls."""
    return GroupService(
        database=means.database,
        people=means.people,
        authorization=means.authorization,
        catalog=means.catalog,
        submitter=means.submitter,
        timelines=means.watching.timelines,
        new_id=new_id,
        now=now,
    )


def group_provisioner(means: WorkMeans) -> GroupProvisioner:
    """Build the handler of the worker."""
    return GroupProvisioner(
        database=means.database,
        people=means.people,
        directory=means.directory,
        revisions=means.revisions,
        notifier=means.notifier,
        new_id=new_id,
        now=now,
    )
