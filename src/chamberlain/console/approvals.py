# SPDX-License-Identifier: Apache-2.0
"""Requests as approvers see them: values, level, deadline and decisions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from chamberlain.console.shown import ShownValue, show_values
from chamberlain.console.visit import Visit
from chamberlain.requests.approvals import current_level, represented_by
from chamberlain.requests.models import ApprovalMode, ApprovalRecord, Decision, RequestRecord
from chamberlain.requests.rules import Action, RequestView

# Less time is shown in another colour.
SOON: Final = timedelta(days=1)
# In minutes.
_HOUR: Final = 60
_DAY: Final = 24 * _HOUR


@dataclass(frozen=True, slots=True)
class Remaining:
    """A time in one unit: `minute`, `hour` or `day`."""

    unit: str
    number: int


@dataclass(frozen=True, slots=True)
class Approval:
    """A request for an approver.

    `level` is the open level, None if there is none. `represents` is the name of the approver for whom a substitute
    decides. `remaining` is the time to the deadline, None without one. `own` is the last decision of the user, and
    `decisions` are those of all levels.
    """

    view: RequestView
    values: Sequence[ShownValue]
    level: ApprovalRecord | None
    represents: str | None
    remaining: Remaining | None
    is_soon: bool
    own: Decision | None

    @property
    def record(self) -> RequestRecord:
        """Return the request."""
        return self.view.record

    @property
    def to_decide(self) -> bool:
        """Return whether it is the user's turn."""
        return Action.APPROVE in self.view.actions

    @property
    def levels(self) -> int:
        """Return the number of levels."""
        return len(self.record.approvals)

    @property
    def needs_all(self) -> bool:
        """Return whether all of several approvers have to approve."""
        return self.level is not None and self.level.mode is ApprovalMode.ALL and len(self.level.approvers) > 1

    @property
    def decisions(self) -> Sequence[Decision]:
        """Return the decisions of all levels."""
        return [decision for level in self.record.approvals for decision in level.decisions]


async def show_approvals(visit: Visit, views: Sequence[RequestView]) -> Sequence[Approval]:
    """Return requests as the user sees them, with their submitted values."""
    now = visit.console.sessions.now()
    rows = await show_values(visit, views)
    return [_approval(visit, view, values, now) for view, values in zip(views, rows, strict=True)]


def _approval(visit: Visit, view: RequestView, values: Sequence[ShownValue], now: datetime) -> Approval:
    approvals, user = view.record.approvals, visit.caller.user_id
    level = current_level(approvals)
    represented = None if user is None else represented_by(approvals, user)
    deadline = None if level is None else level.deadline
    left = None if deadline is None else deadline - now
    own = [each for level in approvals for each in level.decisions if each.by.id == visit.caller.id]
    return Approval(
        view=view,
        values=values,
        level=level,
        represents=None if represented is None else represented.display_name,
        remaining=None if left is None else remaining(left),
        is_soon=left is not None and left < SOON,
        own=own[-1] if own else None,
    )


def remaining(left: timedelta) -> Remaining:
    """Return the time to a deadline in its unit. Days are rounded."""
    minutes = max(int(left.total_seconds() // 60), 0)
    if minutes < _HOUR:
        return Remaining("minute", minutes)
    # "In 30 hours" says more than "in 1 day".
    return Remaining("hour", minutes // _HOUR) if minutes < 2 * _DAY else Remaining("day", round(minutes / _DAY))
