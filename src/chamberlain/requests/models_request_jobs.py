"""The job that provisions each kind of request."""

from chamberlain.queue.models import JobKind
from chamberlain.requests.models import RequestKind


def job_kind_of(kind: RequestKind) -> JobKind:
    """The job that brings about a request of this kind."""
    match kind:
        case RequestKind.GROUP | RequestKind.TEAM:
            return JobKind.GROUP_PROVISION
        case RequestKind.SHARED | RequestKind.EQUIPMENT | RequestKind.ROOM:
            return JobKind.MAILBOX_PROVISION
        case RequestKind.ASSIGNMENT:
            return JobKind.ASSIGNMENT_APPLY
