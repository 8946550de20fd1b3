"""Guest rules in the embedded directory, when it has no faults on purpose: all steps of one happen at once."""

from collections.abc import Iterator, Sequence

from chamberlain.directory.embedded.guest_entries import changes_of, entry_of, name_of, observed_of, stayed_of
from chamberlain.directory.embedded.passing import passing
from chamberlain.directory.port import MOST_CHANGES, GuestOutcome, Guests, GuestWork, SubjectChanges
from chamberlain.embedded.directory import guests
from chamberlain.embedded.directory.changes import Changes
from chamberlain.embedded.directory.entries import Ensured
from chamberlain.embedded.directory.errors import CursorUnknown
from chamberlain.embedded.directory.guests import SubjectShown
from chamberlain.rules.errors import Rejected
from chamberlain.rules.ids import TenantId
from chamberlain.rules.subjects import ObservedSubject, SubjectReference


class EmbeddedGuests(Guests):
    """Sets guest rules, each assignment whole or not at all."""

    def __init__(self, kept: guests.Guests, changes: Changes) -> None:
        self._kept = kept
        self._changes = changes

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """What the directory shows of each group or site."""
        with passing():
            shown = await self._kept.observe([name_of(one) for one in references])
        return [None if one is None else observed_of(one) for one in shown]

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        """Bring each about. What a batch wants twice of one group comes about one after the other."""
        outcomes: dict[int, GuestOutcome] = {}
        for numbers in _rounds(works):
            with passing():
                ensured = await self._kept.ensure([entry_of(works[number]) for number in numbers])
            for number, one in zip(numbers, ensured, strict=True):
                outcomes[number] = _outcome(works[number], one)
        return [outcomes[number] for number in range(len(works))]

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        """The next page of groups and sites, or of what has changed."""
        return await read_changes(self._changes, tenant_id, extension, cursor)


async def read_changes(changes: Changes, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
    """The next page, with the faults of the port."""
    try:
        with passing():
            return changes_of(await changes.read(tenant_id, extension, cursor, most=MOST_CHANGES))
    except CursorUnknown as error:
        raise Rejected("cursorUnknown", str(error)) from error


def _rounds(works: Sequence[GuestWork]) -> Iterator[Sequence[int]]:
    """The numbers of the works, so that no round has a group twice and each group keeps its order."""
    left = list(range(len(works)))
    while left:
        first = {name_of(works[number].wanted): number for number in reversed(left)}
        numbers = sorted(first.values())
        yield numbers
        left = [number for number in left if number not in set(numbers)]


def _outcome(work: GuestWork, ensured: Ensured[SubjectShown]) -> GuestOutcome:
    subject = None if ensured.shown is None else observed_of(ensured.shown)
    if ensured.fault is None:
        return GuestOutcome(subject, work.steps, None, stayed_of(work, ensured.shown))
    return GuestOutcome(subject, (), Rejected(ensured.fault.code, ensured.fault.detail))
