"""The use cases of groups and sites that guest rules are assigned to, for callers and for workers."""

from chamberlain.api.administration import Managed
from chamberlain.bootstrap.directory import make_subjects
from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.usecases.assignment_apply import ApplyAssignments
from chamberlain.usecases.assignment_change import ChangeAssignment
from chamberlain.usecases.subject_discover import DiscoverSubjects
from chamberlain.usecases.subject_list import ListSubjects
from chamberlain.usecases.subject_read import ReadSubject


def managed_services(means: Means) -> Managed:
    """What the API may ask about groups and managed sites."""
    database, authorization = means.database, means.authorization
    look_up = make_subjects(means.settings, database.pool).look_up
    return Managed(
        list=ListSubjects(database, authorization),
        read=ReadSubject(database, look_up, authorization, now),
        assign=ChangeAssignment(database, look_up, authorization, means.assigner, means.notifier, new_id, now),
    )


def assignment_work(means: WorkMeans) -> ApplyAssignments:
    """What a worker does about what is assigned."""
    return ApplyAssignments(means.database, means.guests, means.notifier, new_id, now)


def discovery(means: WorkMeans) -> DiscoverSubjects:
    """What finds out which groups and sites there are."""
    return DiscoverSubjects(means.database, means.guests, new_id, now)
