"""The body of a call that assigns a guest template or policy: a field that is not sent keeps what there is."""

from uuid import UUID

from msgspec import UNSET, UnsetType

from chamberlain.rules.assignments import AssignmentOrder, wish_of
from chamberlain.shapes.fields import Id
from chamberlain.shapes.reading import Reader
from chamberlain.shapes.shape import Shape


class AssignmentBody(Shape, frozen=True, kw_only=True):
    """What is to be assigned; the all-zero UUID clears the field that it is sent for, and null is refused."""

    template_id: Id | UnsetType = UNSET
    policy_id: Id | UnsetType = UNSET


ASSIGNMENT = Reader(AssignmentBody)


def to_assignment_order(body: AssignmentBody) -> AssignmentOrder:
    """What the body asks for."""
    return AssignmentOrder(template=wish_of(_sent(body.template_id)), policy=wish_of(_sent(body.policy_id)))


def _sent(value: str | UnsetType) -> UUID | None:
    return None if value is UNSET else UUID(value)
