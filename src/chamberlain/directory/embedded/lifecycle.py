# SPDX-License-Identifier: Apache-2.0
"""The lifecycle port, with and without injected faults."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from chamberlain.core.errors import OutsideFault, TryAgain
from chamberlain.directory import port
from chamberlain.directory.embedded.mapping import KEY_MEMBER, mark_of, port_errors, rejected
from chamberlain.directory.models import ObjectType
from chamberlain.embedded.directory import lifecycle
from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import Refused
from chamberlain.embedded.directory.faults import Injection

_TYPES: Mapping[ObjectType, lifecycle.ObjectType] = MappingProxyType(
    {ObjectType.GROUP: lifecycle.GROUP, ObjectType.MAILBOX: lifecycle.MAILBOX}
)


class EmbeddedLifecycle(port.Lifecycle):
    """Removes, restores and changes objects.

    Each work is one transaction. Needs the worker's role.
    """

    def __init__(self, pool: Pool) -> None:
        self._kept = lifecycle.Lifecycle(pool, key_member=KEY_MEMBER)

    async def ensure(self, works: Sequence[port.LifecycleWork]) -> Sequence[OutsideFault | None]:
        """Bring each object into its wanted state."""
        return [await self._ensure(work) for work in works]

    async def _ensure(self, work: port.LifecycleWork) -> OutsideFault | None:
        one = work.object
        type_, mark = _TYPES[one.type], mark_of(one)
        try:
            with port_errors():
                match work:
                    case port.Gone():
                        await self._kept.remove(type_, mark, one.id)
                    case port.Restored():
                        await self._kept.restore(type_, mark, one.id)
                    case port.Renamed():
                        await self._kept.rename(type_, mark, one.id, display_name=work.display_name, name=work.name)
                    case port.Readdressed():
                        await self._kept.change_address(type_, mark, one.id, mail=work.mail)
        except Refused as refused:
            return rejected(refused)
        return None


class FaultyLifecycle(EmbeddedLifecycle):
    """Changes each object in a separate call, with injected faults."""

    def __init__(self, pool: Pool, injection: Injection) -> None:
        super().__init__(pool)
        self._injection = injection

    async def _ensure(self, work: port.LifecycleWork) -> OutsideFault | None:
        try:
            with port_errors():
                self._injection.take_call()
        except TryAgain as fault:
            return fault
        return await super()._ensure(work)
