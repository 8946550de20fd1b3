# SPDX-License-Identifier: Apache-2.0
"""Figures in memory, for tests of the API."""

from datetime import date

from chamberlain.auth.models import Caller
from chamberlain.figures.models import Backlog, Figures
from chamberlain.figures.rules import days_of
from chamberlain.figures.service import FigureService

TODAY = date(2026, 11, 20)


class FakeFigures(FigureService):
    """A tenant without requests."""

    def __init__(self) -> None:
        """Need no database."""

    async def read(self, caller: Caller, first: date | None, last: date | None) -> Figures:
        assert caller.user_id is not None
        days_of(first, last, TODAY)
        return Figures((), (), is_truncated=False, backlog=Backlog(0, 0, 0, 0, 0))
