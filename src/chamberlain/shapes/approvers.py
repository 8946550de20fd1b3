"""The body that names approvers."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta

from chamberlain.rules.decisions import Naming
from chamberlain.rules.ids import UserId
from chamberlain.shapes.reading import Reader
from chamberlain.shapes.shape import Shape


class ApproversBody(Shape, frozen=True, kw_only=True):
    """Who shall decide at which level."""

    level: Annotated[int, Meta(ge=1, le=3)]
    user_ids: Annotated[tuple[UUID, ...], Meta(min_length=1, max_length=100)]


APPROVERS = Reader(ApproversBody)


def to_naming(body: ApproversBody) -> Naming:
    """The rules' value of it; who is named twice is named once."""
    return Naming(body.level, tuple(dict.fromkeys(map(UserId, body.user_ids))))
