"""The body that names approvers."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta

from chamberlain.core.constraints_shape import Shape
from chamberlain.core.ids import UserId
from chamberlain.core.validation import Reader
from chamberlain.requests.rules_decisions import Naming


class ApproversBody(Shape, frozen=True, kw_only=True):
    """Who shall decide at which level."""

    level: Annotated[int, Meta(ge=1, le=3)]
    user_ids: Annotated[tuple[UUID, ...], Meta(min_length=1, max_length=100)]


APPROVERS = Reader(ApproversBody)


def to_naming(body: ApproversBody) -> Naming:
    """The rules' value of it; who is named twice is named once."""
    return Naming(body.level, tuple(dict.fromkeys(map(UserId, body.user_ids))))
