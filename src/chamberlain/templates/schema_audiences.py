"""Who may use a template."""

from collections.abc import Iterator

from chamberlain.core.constraints_doubles import doubles
from chamberlain.core.constraints_shape import Shape
from chamberlain.core.errors import Fault
from chamberlain.core.ids import GroupId, UserId
from chamberlain.core.validation_fields import ManyIds
from chamberlain.templates.models import Audience


class AudienceShape(Shape, frozen=True, kw_only=True):
    """These users, and the members of these groups. A template without an audience is for everyone."""

    users: ManyIds = ()
    groups: ManyIds = ()


def audience_faults(shape: AudienceShape | None, pointer: str) -> Iterator[Fault]:
    """Users and groups that are named twice."""
    if shape is not None:
        yield from doubles(shape.users, f"{pointer}/users")
        yield from doubles(shape.groups, f"{pointer}/groups")


def to_audience(shape: AudienceShape) -> Audience:
    """The rules' value of it."""
    return Audience(
        users=frozenset(UserId(each) for each in shape.users), groups=frozenset(GroupId(each) for each in shape.groups)
    )
