"""The service of assignments, and the job handlers of assignments and discovery."""

from chamberlain.bootstrap.directory import make_subjects
from chamberlain.bootstrap.means import Means, WorkMeans
from chamberlain.bootstrap.origins import new_id, now
from chamberlain.guests.assignments.jobs import AssignmentJobs
from chamberlain.guests.assignments.service import AssignmentService
from chamberlain.guests.subjects.jobs import SubjectJobs


def assignment_service(means: Means) -> AssignmentService:
    """Build the service that the API calls."""
    directory = make_subjects(means.settings, means.database.pool)
    return AssignmentService(
        means.database, directory, means.authorization, means.assigner, means.notifier, new_id, now
    )


def assignment_jobs(means: WorkMeans) -> AssignmentJobs:
    """Build the handlers of assignments that a worker calls."""
    return AssignmentJobs(means.database, means.guests, means.notifier, new_id, now)


def subject_jobs(means: WorkMeans) -> SubjectJobs:
    """Build the handlers of discovery that a worker calls."""
    return SubjectJobs(means.database, means.guests, new_id, now)
