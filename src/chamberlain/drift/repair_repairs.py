"""Repairs of drift: any directory is asked for what is to be put right, and says of each property what stopped it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeVar
from uuid import UUID

from chamberlain.core.errors import OutsideFault, Rejected, TryAgain
from chamberlain.directory.groups import ObservedGroup
from chamberlain.directory.mailboxes import ObservedMailbox
from chamberlain.directory.port import Directory, Guests, GuestWork, MailboxWork, Work
from chamberlain.directory.properties import DriftProperty
from chamberlain.directory.subjects import ObservedSubject
from chamberlain.drift.compare import Difference
from chamberlain.drift.models import ManagedAssignment, ManagedGroup, ManagedMailbox
from chamberlain.drift.models_drift_looks import Broken, apart
from chamberlain.drift.pages import Place
from chamberlain.drift.repair import assignment_repair, group_repair, mailbox_repair, steps_of


async def mend(directory: Directory, guests: Guests, broken: Sequence[Broken]) -> Mapping[Place, OutsideFault | None]:
    """Put these right, and say of each property what stopped it. A refusal may be of one among several; where the same
    steps put all of them right, it is of these."""
    came = await _ensure(directory, guests, broken)
    faults = _of_places(broken, came)
    for turn in apart([each for each in broken if _is_divisible(each) and isinstance(came.get(each[0].id), Rejected)]):
        faults |= _of_places(turn, await _ensure(directory, guests, turn))
    return faults


def _is_divisible(broken: Broken) -> bool:
    return len({each.steps for each in broken[1]}) > 1


async def _ensure(directory: Directory, guests: Guests, broken: Sequence[Broken]) -> Mapping[UUID, OutsideFault | None]:
    try:
        return {
            **await _ensured(_mailbox_works(broken), directory.ensure_mailboxes),
            **await _ensured(_group_works(broken), directory.ensure),
            **await _ensured(_assignment_works(broken), guests.ensure),
        }
    except TryAgain as fault:
        return {look.id: fault for look, _ in broken}


def _of_places(
    broken: Sequence[Broken], faults: Mapping[UUID, OutsideFault | None]
) -> dict[Place, OutsideFault | None]:
    return {(look.id, each.name.path): faults.get(look.id) for look, differences in broken for each in differences}


class Faulty(Protocol):
    """What came of a piece of work, as far as it matters here."""

    @property
    def fault(self) -> OutsideFault | None: ...


Wanted = TypeVar("Wanted")


async def _ensured(
    works: Mapping[UUID, Wanted], ensure: Callable[[Sequence[Wanted]], Awaitable[Sequence[Faulty]]]
) -> Mapping[UUID, OutsideFault | None]:
    outcomes = await ensure(list(works.values())) if works else ()
    return {id_: outcome.fault for id_, outcome in zip(works, outcomes, strict=True)}


def _mailbox_works(broken: Sequence[Broken]) -> Mapping[UUID, MailboxWork]:
    return {
        look.id: MailboxWork(mailbox_repair(look.managed.wanted, look.observed, _names(each)), steps_of(each))
        for look, each in broken
        if isinstance(look.managed, ManagedMailbox) and isinstance(look.observed, ObservedMailbox)
    }


def _group_works(broken: Sequence[Broken]) -> Mapping[UUID, Work]:
    return {
        look.id: Work(group_repair(look.managed.wanted, look.observed, _names(each)), steps_of(each))
        for look, each in broken
        if isinstance(look.managed, ManagedGroup) and isinstance(look.observed, ObservedGroup)
    }


def _assignment_works(broken: Sequence[Broken]) -> Mapping[UUID, GuestWork]:
    return {
        look.id: GuestWork(assignment_repair(look.managed.assigned.wanted, look.observed, _names(each)), steps_of(each))
        for look, each in broken
        if isinstance(look.managed, ManagedAssignment) and isinstance(look.observed, ObservedSubject)
    }


def _names(differences: Sequence[Difference]) -> frozenset[DriftProperty]:
    return frozenset(each.name for each in differences)
