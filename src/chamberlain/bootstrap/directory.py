"""The embedded directory, wired: as it is, or with the faults that somebody has asked for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from math import ceil

from chamberlain.bootstrap.origins import now
from chamberlain.bootstrap.processes import running
from chamberlain.directory.embedded import (
    KEY_MEMBER,
    EmbeddedAdoptions,
    EmbeddedDirectory,
    EmbeddedGuests,
    EmbeddedPeople,
    EmbeddedSubjects,
    FaultyAdoptions,
    FaultyDirectory,
    FaultyGuests,
)
from chamberlain.directory.port import Adoptions, Directory, Guests, People
from chamberlain.directory.remembered import RememberedPeople
from chamberlain.embedded.directory import guests
from chamberlain.embedded.directory.changes import Changes
from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.faults import (
    Faults,
    FaultyGroups,
    FaultyGuestRules,
    FaultyMailboxes,
    FaultyRegister,
    Injection,
    Outages,
)
from chamberlain.embedded.directory.groups import Groups
from chamberlain.embedded.directory.mailboxes import Mailboxes
from chamberlain.embedded.directory.people import HELD_ADDRESSES, PEOPLE_CHANNEL, Register
from chamberlain.settings import Settings
from chamberlain.store.listener import listen

# In seconds: the shortest that Retry-After can say, and what it says with Microsoft 365.
_SOONEST_LOOK, _LATEST_LOOK = 1, 20


def make_people(settings: Settings, pool: Pool) -> People:
    """Answers who and what there is."""
    injection = make_injection(settings)
    return EmbeddedPeople(Register(pool) if injection is None else FaultyRegister(pool, injection))


def held_addresses(settings: Settings) -> str | None:
    """The function in the same database that tells which addresses are given away. With faults on purpose everybody has
    to ask as one asks a directory elsewhere."""
    return HELD_ADDRESSES if make_injection(settings) is None else None


@asynccontextmanager
async def remembered_people(settings: Settings, pool: Pool, direct: str) -> AsyncIterator[People]:
    """The same people, of whom those who were asked for stay in memory until a change is heard of, for as long as the
    block runs. `direct` is the address where changes are heard of. With faults on purpose nobody is remembered."""
    people = make_people(settings, pool)
    if make_injection(settings) is not None:
        yield people
        return
    remembered = RememberedPeople(people)
    async with running(listen(direct, PEOPLE_CHANNEL, remembered.heard, lost=remembered.lost)):
        yield remembered


def make_directory(settings: Settings, pool: Pool) -> Directory:
    """Brings groups and mailboxes about."""
    injection = make_injection(settings)
    if injection is None:
        return EmbeddedDirectory(Groups(pool, key_member=KEY_MEMBER), Mailboxes(pool, key_member=KEY_MEMBER))
    return FaultyDirectory(
        FaultyGroups(pool, injection, key_member=KEY_MEMBER), FaultyMailboxes(pool, injection, key_member=KEY_MEMBER)
    )


def make_guests(settings: Settings, pool: Pool) -> Guests:
    """Sets the rules for guests, and tells which groups and sites there are. The pool must have the worker's role: one
    batch may be about several tenants."""
    injection = make_injection(settings)
    if injection is None:
        return EmbeddedGuests(guests.Guests(pool), Changes(pool))
    return FaultyGuests(FaultyGuestRules(pool, injection), Changes(pool))


def make_adoptions(settings: Settings, pool: Pool) -> Adoptions:
    """Lists what was in the directory before, as any role, and marks it, as the worker's."""
    injection = make_injection(settings)
    return EmbeddedAdoptions(pool) if injection is None else FaultyAdoptions(pool, injection)


def make_subjects(settings: Settings, pool: Pool) -> EmbeddedSubjects:
    """Looks up groups and sites for callers, one tenant at a time."""
    injection = make_injection(settings)
    return EmbeddedSubjects(pool) if injection is None else EmbeddedSubjects(pool, injection.answer)


def first_look(settings: Settings) -> int:
    """After how many seconds a client should look for what it asked for. Nobody is sent away for longer than clients
    of a real suite are."""
    known_after = faults_of(settings).known_after
    return min(max(_SOONEST_LOOK, ceil(known_after.total_seconds())), _LATEST_LOOK)


def make_injection(settings: Settings) -> Injection | None:
    """The faults at work; None when nobody has asked for any."""
    faults = faults_of(settings)
    return None if faults == Faults() else Injection(faults, now)


def faults_of(settings: Settings) -> Faults:
    """The faults that the settings ask for."""
    return Faults(
        visibility_delay=timedelta(seconds=settings.fault_visibility_delay or 0),
        throttle=settings.fault_throttle,
        not_found_after_create=timedelta(seconds=settings.fault_not_found_after_create or 0),
        outages=None if settings.fault_unavailable is None else _outages(settings.fault_unavailable),
    )


def _outages(written: str) -> Outages:
    lasting, _, every = written.partition("/")
    return Outages(timedelta(seconds=float(lasting)), timedelta(seconds=float(every)))
