"""Questions: which groups decide whether somebody may use a template, of whatever kind it is."""

from chamberlain.core.ids import GroupId, UserId
from chamberlain.templates.models import Audience

NO_GROUPS: frozenset[GroupId] = frozenset()


def audience_groups(audience: Audience | None, user: UserId | None) -> frozenset[GroupId]:
    """The groups whose members may use the template; none when that does not matter for this caller. None as the user
    is an application, which is not held to any audience."""
    return NO_GROUPS if audience is None or user is None or user in audience.users else audience.groups
