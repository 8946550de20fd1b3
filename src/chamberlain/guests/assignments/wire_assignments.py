"""The body of a call that assigns a guest template or policy: a field that is not sent keeps what there is."""

from uuid import UUID

from msgspec import UNSET, UnsetType

from chamberlain.core.constraints_shape import Shape
from chamberlain.core.validation import Reader
from chamberlain.core.validation_fields import Id
from chamberlain.guests.assignments.models import AssignmentOrder, wish_of


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
