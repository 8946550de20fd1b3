"""Guest rules with faults on purpose: each part of the settings is a writing call of its own, as in a suite."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import NotYet
from chamberlain.embedded.directory.faults import NOT_FOUND, NOT_SHOWN, Injection
from chamberlain.embedded.directory.guests import GuestEntry, Guests, SubjectName, SubjectShown

# The wait that is fair before the next look; later ones are up to whoever looks.
_LOOK_AGAIN = timedelta(seconds=1)


class SuiteGuests:
    """The rules for guests, for those who have to call once for each part."""

    def __init__(self, pool: Pool, injection: Injection) -> None:
        self._kept = Guests(pool)
        self._injection = injection

    def answer(self) -> None:
        """Raises Unreachable during an outage."""
        self._injection.answer()

    async def observe(self, names: Sequence[SubjectName]) -> Sequence[SubjectShown | None]:
        """What is visible of each by now."""
        self._injection.answer()
        until = self._injection.visible_until()
        shown = await self._kept.observe(names)
        made = await self._kept.made_at(names)
        return [one if at is not None and at <= until else None for one, at in zip(shown, made, strict=True)]

    async def find(self, name: SubjectName) -> SubjectShown:
        """One that is there. Raises NotNow when it is not visible yet."""
        [shown] = await self.observe([name])
        if shown is None:
            raise NotYet(NOT_SHOWN, _LOOK_AGAIN)
        return shown

    async def disable(self, tenant_id: UUID, user_id: UUID) -> None:
        """Keep a guest from signing in. Raises Refused and NotNow."""
        self._injection.take_call()
        [refused] = await self._kept.disable([(tenant_id, user_id)])
        if refused is not None:
            raise refused

    async def change(self, part: GuestEntry) -> SubjectShown | None:
        """Bring this part of it about; gives what there is then. Raises Refused and NotNow."""
        self._injection.take_call()
        [made_at] = await self._kept.made_at([part.name])
        # What was never made is refused below; what was made a moment ago is only not there yet.
        if made_at is not None and made_at > self._injection.visible_until():
            raise NotYet(NOT_SHOWN, _LOOK_AGAIN)
        if made_at is not None and made_at > self._injection.known_until():
            raise NotYet(NOT_FOUND, _LOOK_AGAIN)
        [ensured] = await self._kept.ensure([part])
        if ensured.fault is not None:
            raise ensured.fault
        return ensured.shown
