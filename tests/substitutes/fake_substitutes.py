# SPDX-License-Identifier: Apache-2.0
"""Substitutes in memory, for endpoints under test."""

from chamberlain.auth.models import Caller
from chamberlain.substitutes.models import OwnSubstitutions
from chamberlain.substitutes.service import SubstituteService


class FakeSubstitutes(SubstituteService):
    """Approvers without substitutes."""

    def __init__(self) -> None:
        """Need no database."""

    async def read(self, _: Caller) -> OwnSubstitutions:
        return OwnSubstitutions(None, ())
