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


@dataclass(frozen=True, slots=True)
class Approval:
    """A request for an approver.

    `level` is the open level, None if there is none. `represents` is the name of the approver for whom a substitute
    decides. `own` is the last decision of the user, and `decisions` are those of all levels.
    """

    view: RequestView
    values: Sequence[ShownValue]
    level: ApprovalRecord | None
    represents: str | None
    now: datetime
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
    def is_soon(self) -> bool:
        """Return whether the deadline is near."""
        deadline = None if self.level is None else self.level.deadline
        return deadline is not None and deadline - self.now < SOON

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
    own = [each for level in approvals for each in level.decisions if each.by.id == visit.caller.id]
    return Approval(
        view=view,
        values=values,
        level=level,
        represents=None if represented is None else represented.display_name,
        now=now,
        own=own[-1] if own else None,
    )
