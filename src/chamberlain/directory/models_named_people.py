"""People and groups that somebody names, and which of them the directory does not have."""

from collections.abc import Iterable, Iterator

from chamberlain.core.errors import Fault
from chamberlain.core.ids import GroupId, UserId
from chamberlain.directory.models import PeopleAnswer

# Each with the pointer to where it stands.
PlacedUsers = Iterable[tuple[str, UserId]]
PlacedGroups = Iterable[tuple[str, GroupId]]


def unknown_people(users: PlacedUsers, groups: PlacedGroups, answer: PeopleAnswer) -> Iterator[Fault]:
    """A fault for each place where a user or group is named that the directory does not have."""
    for pointer, user in users:
        if user not in answer.people:
            yield Fault(pointer, "userUnknown", f"{user} is no user of this tenant. Leave this id out.")
    for pointer, group in groups:
        if group not in answer.known_groups:
            yield Fault(pointer, "groupUnknown", f"{group} is no group of this tenant. Leave this id out.")
