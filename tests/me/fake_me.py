# SPDX-License-Identifier: Apache-2.0
"""Callers in memory, for endpoints under test."""

from chamberlain.auth.models import Caller
from chamberlain.me.models import Me
from chamberlain.me.service import MeService


class FakeMe(MeService):
    """A directory without people."""

    def __init__(self) -> None:
        """Need no database."""

    async def read(self, caller: Caller) -> Me:
        return Me(caller, "", None, "Example Estate", is_administrator=False, language=None, to_decide=0)
