"""What was in the embedded directory before, when it has no faults on purpose."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import WRITTEN_ID, TenantId
from chamberlain.directory.embedded.errors import passing
from chamberlain.directory.embedded.groups import KEY_MEMBER
from chamberlain.directory.embedded.mailboxes import observed_mailbox_of
from chamberlain.directory.models import ObjectType
from chamberlain.directory.port import MOST_CHANGES, Adoptions, MailboxPage, Marking
from chamberlain.embedded.directory import markings
from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.entries import Mark
from chamberlain.embedded.directory.errors import NotNow, NotYet, Refused
from chamberlain.embedded.directory.faults import NOT_FOUND, NOT_SHOWN, Injection
from chamberlain.embedded.directory.mailboxes import list_mailboxes
from chamberlain.embedded.directory.markings import MarkedObject, Markings


class EmbeddedAdoptions(Adoptions):
    """Lists mailboxes as any role, one tenant at a time; marks need the worker's role."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._markings = markings_of(pool)

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> MailboxPage:
        """The next page of what there is."""
        return await mailbox_page(self._pool, tenant_id, extension, cursor, until=None)

    async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Put all marks on, those of mailboxes in one transaction and those of groups in another."""
        return await self._by_type(markings, lambda kept, objects: kept.mark(objects))

    async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Take all marks away."""
        await self._by_type(markings, _unmark)
        return [None] * len(markings)

    async def _by_type(
        self,
        wanted: Sequence[Marking],
        change: Callable[[Markings, Sequence[MarkedObject]], Awaitable[Sequence[Refused | None]]],
    ) -> Sequence[OutsideFault | None]:
        faults: dict[tuple[ObjectType, UUID], Refused | None] = {}
        for type_, kept in self._markings.items():
            of_type = [one for one in wanted if one.type is type_]
            if of_type:
                with passing():
                    refused = await change(kept, [marked_object_of(one) for one in of_type])
                faults |= {(type_, one.id): each for one, each in zip(of_type, refused, strict=True)}
        return [rejected_of(faults[one.type, one.id]) for one in wanted]


async def mailbox_page(
    pool: Pool, tenant_id: TenantId, extension: str, cursor: str | None, *, until: datetime | None
) -> MailboxPage:
    """A page of the mailboxes that were made until then. Raises TryAgain, and Rejected for a cursor that is none."""
    if cursor is not None and not WRITTEN_ID.fullmatch(cursor):
        raise Rejected("cursorUnknown", "The directory does not know this cursor. Begin again without one.")
    behind = None if cursor is None else UUID(cursor)
    with passing():
        shown = await list_mailboxes(pool, tenant_id, extension, behind=behind, until=until, most=MOST_CHANGES)
    more = len(shown) == MOST_CHANGES
    return MailboxPage(tuple([observed_mailbox_of(one) for one in shown]), str(shown[-1].id) if more else None)


def markings_of(pool: Pool) -> Mapping[ObjectType, Markings]:
    """What keeps the marks of each type."""
    return {
        ObjectType.MAILBOX: Markings(pool, markings.MAILBOXES, key_member=KEY_MEMBER),
        ObjectType.GROUP: Markings(pool, markings.GROUPS, key_member=KEY_MEMBER),
    }


def marked_object_of(wanted: Marking) -> MarkedObject:
    """A marking in the words of the directory."""
    return MarkedObject(wanted.id, Mark(wanted.tenant_id, wanted.extension, str(wanted.request_id)))


def rejected_of(refused: Refused | None) -> Rejected | None:
    """A refusal in the words of the port."""
    return None if refused is None else Rejected(refused.code, refused.detail)


async def _unmark(kept: Markings, objects: Sequence[MarkedObject]) -> Sequence[Refused | None]:
    await kept.unmark(objects)
    return [None] * len(objects)


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
        return [await self._change(one, _mark_one) for one in markings]

    async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Take the marks away as far as it goes."""
        return [await self._change(one, _unmark_one) for one in markings]

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


async def _mark_one(kept: Markings, one: MarkedObject) -> Refused | None:
    [refused] = await kept.mark([one])
    return refused


async def _unmark_one(kept: Markings, one: MarkedObject) -> Refused | None:
    await kept.unmark([one])
    return None
