"""Guest policies: for how long guests stay and who confirms them. So far they are checked and kept."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta

from chamberlain.shapes.fields import Description, Name
from chamberlain.shapes.shape import Shape

# Ten years: longer than any review, and far from what dates can hold.
_Days = Annotated[int, Meta(ge=1, le=3650)]
_ReminderDays = Annotated[tuple[_Days, ...], Meta(max_length=10)]
_Action = Literal["notify", "disable", "remove"]


class ExpiryShape(Shape, frozen=True, kw_only=True):
    """So many days after the clock started."""

    after_days: _Days
    reminder_days: _ReminderDays = ()
    action: _Action


class ReviewShape(Shape, frozen=True, kw_only=True):
    """Somebody confirms the guests again and again."""

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
    """Fewer owners than that are told about; nothing else can be done about it."""

    count: Annotated[int, Meta(ge=1, le=100)]
    reminder_days: _ReminderDays = ()
    action: Literal["notify"] = "notify"


class PolicyShape(Shape, frozen=True, kw_only=True):
    """A guest policy, without what the service adds. A rule that is not there does not apply."""

    id: UUID
    name: Name
    description: Description = ""
    active: bool = True
    expiry: ExpiryShape | None = None
    review: ReviewShape | None = None
    inactivity: InactivityShape | None = None
    minimum_owners: MinimumOwnersShape | None = None
