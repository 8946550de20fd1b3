# SPDX-License-Identifier: Apache-2.0
"""Substitutes in memory, for endpoints under test."""

from datetime import UTC, datetime

from chamberlain.auth.models import Caller, Edit
from chamberlain.core.ids import UserId
from chamberlain.directory.models import NamedPerson
from chamberlain.substitutes.models import Naming, OwnSubstitutions, Represented
from chamberlain.substitutes.service import SubstituteService

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


class FakeSubstitutes(SubstituteService):
    """Keep the substitutes of all callers."""

    def __init__(self) -> None:
        """Need no database."""
        self.now = lambda: NOW
        self.named: dict[UserId, Naming] = {}

    async def read(self, caller: Caller) -> OwnSubstitutions:
        naming = self.named.get(UserId(caller.id))
        if naming is None:
            return OwnSubstitutions(None, ())
        person = NamedPerson(naming.substitute_id, "Ben Okafor")
        return OwnSubstitutions(Represented(person, naming.until), ())

    async def name(self, caller: Caller, naming: Naming, _: Edit) -> OwnSubstitutions:
        self.named[UserId(caller.id)] = naming
        return await self.read(caller)

    async def withdraw(self, caller: Caller, _: Edit) -> None:
        self.named.pop(UserId(caller.id), None)
