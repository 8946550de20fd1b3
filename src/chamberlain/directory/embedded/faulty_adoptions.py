"""What was in the embedded directory before, with faults on purpose: each mark is a call of its own."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

from chamberlain.core.errors import OutsideFault, TryAgain
from chamberlain.core.ids import TenantId
from chamberlain.directory.embedded.adoptions import mailbox_page, marked_object_of, markings_of, rejected_of
from chamberlain.directory.embedded.passing import passing
from chamberlain.directory.port import Adoptions, MailboxPage, Marking
from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import NotNow, NotYet, Refused
from chamberlain.embedded.directory.faults import NOT_FOUND, NOT_SHOWN, Injection
from chamberlain.embedded.directory.markings import MarkedObject, Markings

# The wait that is fair before the next look; later ones are up to whoever looks.
_LOOK_AGAIN = timedelta(seconds=1)


class FaultyAdoptions(Adoptions):
    """Marks one by one. What stops one is told for that one alone."""

    def __init__(self, pool: Pool, injection: Injection) -> None:
        self._pool = pool
        self._injection = injection
        self._markings = markings_of(pool)

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> MailboxPage:
        """The next page of what is visible by now."""
        with passing():
            self._injection.answer()
        return await mailbox_page(self._pool, tenant_id, extension, cursor, until=self._injection.visible_until())

    async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Put the marks on as far as it goes."""
        return [await self._change(one, _mark) for one in markings]

    async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Take the marks away as far as it goes."""
        return [await self._change(one, _unmark) for one in markings]

    async def _change(
        self, wanted: Marking, change: Callable[[Markings, MarkedObject], Awaitable[Refused | None]]
    ) -> OutsideFault | None:
        kept, one = self._markings[wanted.type], marked_object_of(wanted)
        try:
            self._injection.take_call()
            [made_at] = await kept.made_at([one])
            # What is not there is refused below; what was made a moment ago is only not there yet.
            if made_at is not None and made_at > self._injection.visible_until():
                raise NotYet(NOT_SHOWN, _LOOK_AGAIN)
            if made_at is not None and made_at > self._injection.known_until():
                raise NotYet(NOT_FOUND, _LOOK_AGAIN)
            return rejected_of(await change(kept, one))
        except NotNow as fault:
            return TryAgain(fault.after, str(fault))


async def _mark(kept: Markings, one: MarkedObject) -> Refused | None:
    [refused] = await kept.mark([one])
    return refused


async def _unmark(kept: Markings, one: MarkedObject) -> Refused | None:
    await kept.unmark([one])
    return None
