# SPDX-License-Identifier: Apache-2.0
"""JSON of guest policies, shared by the API, files and stored rows."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, convert, json

from chamberlain.core.fields import ADDED_BY_THE_SERVICE, Description, Name, Shape
from chamberlain.core.ids import PolicyId, TenantId
from chamberlain.core.json import parse_object
from chamberlain.core.validation import Reader
from chamberlain.guests.policies.models import PolicyHead, PolicyRules, StoredPolicy

# Ten years: longer than any review, and within the range of dates.
_Days = Annotated[int, Meta(ge=1, le=3650)]
_ReminderDays = Annotated[tuple[_Days, ...], Meta(max_length=10)]
_Action = Literal["notify", "disable", "remove"]
_ADDED = ADDED_BY_THE_SERVICE | {"id"}


class ExpiryShape(Shape, frozen=True, kw_only=True):
    """Expiry after a number of days."""

    after_days: _Days
    reminder_days: _ReminderDays = ()
    action: _Action


class ReviewShape(Shape, frozen=True, kw_only=True):
    """Guests are confirmed at an interval."""

    every_days: _Days
    answer_days: _Days
    confirmed_by: Literal["owners", "administrators"]
    reminder_days: _ReminderDays = ()
    action: _Action


class InactivityShape(Shape, frozen=True, kw_only=True):
    """So many days without a sign of the guest."""

    after_days: _Days
    reminder_days: _ReminderDays = ()
    action: _Action


class MinimumOwnersShape(Shape, frozen=True, kw_only=True):
    """A minimum number of owners. The only action is a notification."""

    count: Annotated[int, Meta(ge=1, le=100)]
    reminder_days: _ReminderDays = ()
    action: Literal["notify"] = "notify"


class PolicyBody(Shape, frozen=True, kw_only=True):
    """A guest policy. A missing rule does not apply."""

    name: Name
    description: Description = ""
    active: bool = True
    expiry: ExpiryShape | None = None
    review: ReviewShape | None = None
    inactivity: InactivityShape | None = None
    minimum_owners: MinimumOwnersShape | None = None


class PolicyShape(PolicyBody, frozen=True, kw_only=True):
    """A stored guest policy, without the fields that the service adds."""

    id: UUID


class PolicyReader(Reader[PolicyBody]):
    """Reads a policy. Fields that the service adds are ignored."""

    def read(self, raw: bytes) -> PolicyBody:
        """Parse a body. Raises BodyInvalid with all errors, or Malformed."""
        sent = parse_object(raw)
        return self.read_value({name: each for name, each in sent.items() if name not in _ADDED})


POLICY = PolicyReader(PolicyBody)


def identified_policy(body: PolicyBody, policy_id: PolicyId) -> PolicyShape:
    """Add an id to the policy of a body."""
    members = {name: getattr(body, name) for name in body.__struct_fields__}
    return PolicyShape(**members, id=policy_id)


def stored_policy(shape: PolicyShape, tenant_id: TenantId) -> StoredPolicy:
    """Build the stored policy. Its revision is counted on writing."""
    head = PolicyHead(tenant_id, PolicyId(shape.id), revision=1, name=shape.name, active=shape.active)
    return StoredPolicy(head, json.encode(shape))


def to_policy_rules(shape: PolicyBody) -> PolicyRules:
    """Convert to rules. The fields have the same names."""
    return convert(shape, PolicyRules, from_attributes=True)
