# SPDX-License-Identifier: Apache-2.0
"""Holds requests back by the published limits of Graph.

All processes share them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from chamberlain.core.errors import OutsideFault, Unavailable
from chamberlain.core.ids import TenantId
from chamberlain.directory.budgets import Budget, Budgets
from chamberlain.directory.microsoft365.operations import ADD_TEAM_MEMBERS, Request

# The used part of each limit. Ours: the rest is for other programs, and for refused requests, which count too.
SHARE: Final = 0.8
# Seconds between two halvings by one process: all parts of a batch are refused together. Ours.
_SLOWED_AGAIN: Final = 10.0
_SECOND: Final = timedelta(seconds=1)
# Seconds between two counts of the users.
_COUNTED_AGAIN: Final = 86_400.0
_TEN_SECONDS: Final = timedelta(seconds=10)
# Calls for one team: all in a second, and additions of members in a minute.
_MOST_OF_TEAM: Final = 4
_SHARE_OF_TEAM: Final = 0.7
_MOST_ADDITIONS: Final = 4


@dataclass(frozen=True, slots=True)
class Spent:
    """A part of a budget that a request takes."""

    budget: Budget
    cost: float


class Pace:
    """The budgets of one application in one directory.

    `directory` is the id of the directory. Without budgets, nothing is held back: a check makes a few calls.
    `count_users` asks Graph for the size of the directory, once a day. Its client needs this pace, so it is set later.
    """

    def __init__(self, budgets: Budgets | None, tenant_id: TenantId, *, directory: str, application: str) -> None:
        self.count_users: Callable[[], Awaitable[int]] | None = None
        self._users = 0
        self._count_at = 0.0
        self._budgets = budgets
        self._tenant_id = tenant_id
        self._next_slowing = 0.0
        self._place = f"graph {directory} {application}"
        self._application = f"graph {application}"
        # throttling-limits.md (01351749).
        self._app_units = _budget(f"{self._application} units", 150_000, timedelta(seconds=20))
        self._writes = _budget(f"{self._place} writes", 3_000, timedelta(seconds=150))
        self._app_writes = _budget(f"{self._application} writes", 70_000, timedelta(seconds=300))
        self._extensions = _budget(f"{self._place} extensions", 455, _TEN_SECONDS)

    @property
    def _units(self) -> Budget:
        """Return the budget of units for the size of the directory.

        Source: throttling-limits.md (01351749).
        """
        limit = 3_500 if self._users < 50 else 5_000 if self._users <= 500 else 8_000
        return _budget(f"{self._place} units", limit, _TEN_SECONDS)

    async def begin(self) -> None:
        """Take the turn of some work.

        Raises BudgetWait with the time until its turn, and Unavailable.
        """
        if self._budgets is not None:
            await self._budgets.begin(self._units, self._tenant_id)

    async def take(self, request: Request) -> None:
        """Take a request from its budgets, and wait in place for them.

        Raises BudgetWait and Unavailable.
        """
        if self._budgets is not None:
            await self._learn_size(self.count_users)
            for each in self.spent(request):
                await self._budgets.follow(each.budget, self._tenant_id, each.cost)

    async def _learn_size(self, count_users: Callable[[], Awaitable[int]] | None) -> None:
        """Count the users once a day.

        Without an answer, the last size applies.
        """
        now = asyncio.get_running_loop().time()
        if count_users is None or now < self._count_at:
            return
        # The call that counts is a request, too.
        self._count_at = now + _COUNTED_AGAIN
        with suppress(OutsideFault):
            self._users = await count_users()

    async def slow_down(self, request: Request) -> None:
        """Slow down for all processes, because a limit is reached or near."""
        now = asyncio.get_running_loop().time()
        if self._budgets is None or now < self._next_slowing:
            return
        self._next_slowing = now + _SLOWED_AGAIN
        # Without the database of budgets, no request is made either.
        with suppress(Unavailable):
            for each in self.spent(request):
                if each.budget.name.startswith(self._place):
                    await self._budgets.slow_down(each.budget)

    def spent(self, request: Request) -> Sequence[Spent]:
        """List the budgets of a request."""
        operation = request.operation
        if operation.per_second is not None:
            name = f"{self._place} {operation.name}"
            return [*self._of_team(request), Spent(_budget(name, operation.per_second, _SECOND), 1)]
        units = self._units
        found = [Spent(units, request.units), Spent(self._app_units, request.units)]
        if request.is_background:
            # The other half is for requests, also during a scan of the whole directory.
            found.insert(0, Spent(Budget(f"{units.name} of discovery", units.per_second / 2), request.units))
        if not operation.is_read:
            found += [Spent(self._writes, 1), Spent(self._app_writes, 1)]
        if request.has_extension:
            found.append(Spent(self._extensions, 1))
        return found

    def _of_team(self, request: Request) -> Sequence[Spent]:
        """List the budgets of one team (throttling-teams.md, 017e406a)."""
        if not request.operation.template.startswith("/teams/"):
            return []
        name = f"{self._place} team {request.path.split('/')[2]}"
        # Three in a second: with 80 %, some seconds would have all four.
        found = [Spent(Budget.within(name, _MOST_OF_TEAM, _SECOND, _SHARE_OF_TEAM), 1)]
        if request.operation == ADD_TEAM_MEMBERS:
            # Owners and members of a team are two calls.
            found.append(Spent(Budget(f"{name} members", _MOST_ADDITIONS / 2 / 60, _MOST_ADDITIONS / 2), 1))
        return found


def _budget(name: str, limit: int, window: timedelta) -> Budget:
    return Budget.within(name, limit, window, SHARE)
