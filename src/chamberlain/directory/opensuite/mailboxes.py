# SPDX-License-Identifier: Apache-2.0
"""Observes and provisions mailboxes: LDAP entries, rights and replies.

A new mailbox is one atomic add, whose name is its address. Dovecot comes next, and the attributes that record its part
come last. So after a crash at any point the next run finds the missing part, and no part is done twice.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias
from uuid import UUID

from chamberlain.core.errors import Cause, OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import RequestId, TenantId, UserId
from chamberlain.core.reasons import Reason
from chamberlain.directory.mailboxes import (
    MailboxReference,
    MailboxType,
    ObservedMailbox,
    Place,
    WantedMailbox,
    plan_mailbox,
    written_mailbox,
)
from chamberlain.directory.opensuite.addresses import Addresses, address_taken
from chamberlain.directory.opensuite.doveadm import MailboxState
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.entry import Entry, Values, differences, escaped_name
from chamberlain.directory.opensuite.layout import REQUEST_ID, Layout, marks_of
from chamberlain.directory.opensuite.ldap import RETRY_BUSY, Operation, Refused, Result
from chamberlain.directory.opensuite.mailbox_access import MailboxAccess
from chamberlain.directory.opensuite.mailbox_values import (
    Change,
    addresses_of,
    changed_values,
    mailbox_name,
    missing_aliases,
    new_values,
    recorded_values,
)
from chamberlain.directory.opensuite.mailstore import Mailstore
from chamberlain.directory.opensuite.observed_mailboxes import has_reply, observed_mailbox
from chamberlain.directory.opensuite.sogo_cache import SogoCache
from chamberlain.directory.opensuite.texts import rejected, require_storable
from chamberlain.directory.opensuite.users import Users, users_by_id, users_by_names
from chamberlain.directory.port import MailboxOutcome, MailboxWork, Outcome, Shortfall
from chamberlain.directory.steps import Step

_KEY: Final = "requestId"
# Steps that are complete when the entry exists.
_FIRST_STEPS: Final = frozenset({Step.CHECK_PEOPLE, Step.CREATE_MAILBOX})
# Steps with a part in Dovecot, or after it.
_LATE_STEPS: Final = frozenset({Step.SET_AUTOMATIC_REPLY, Step.SET_PERMISSIONS})
# Steps whose change SOGo shows only after its cache has expired.
_CACHED_STEPS: Final = (Step.CREATE_MAILBOX, Step.SET_BOOKING, Step.SET_CAPACITY, Step.SET_ALIASES)

# Identity of a mailbox: tenant, extension attribute and request.
Key: TypeAlias = tuple[TenantId, str, RequestId]


@dataclass(slots=True)
class _Run:
    """The steps of one mailbox so far.

    `entry` is None before it exists. `is_written` is true of a new mailbox with all steps of its plan: it has exactly
    the desired state.
    """

    work: MailboxWork
    entry: Entry | None
    fault: OutsideFault | None = None
    done: tuple[Step, ...] = ()
    is_written: bool = False
    shortfalls: tuple[Shortfall, ...] = ()

    @property
    def wanted(self) -> WantedMailbox:
        return self.work.wanted

    def complete_until(self, late: Collection[Step]) -> None:
        """Complete the steps before the first of these."""
        steps = self.work.steps
        self.done = steps[: next((at for at, step in enumerate(steps) if step in late), len(steps))]


class Mailboxes:
    """The mailboxes of one tenant.

    `cache` is None without the memcached server of SOGo.
    """

    def __init__(self, entries: Entries, mailstore: Mailstore, layout: Layout, cache: SogoCache | None) -> None:
        self._entries = entries
        self._mailstore = mailstore
        self._access = MailboxAccess(mailstore, layout.names)
        self._layout = layout
        self._names = layout.names
        self._cache = cache

    async def observe(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        """Read the state of each mailbox.

        None if it does not exist. Raises TryAgain.
        """
        found = await self._find(references)
        present = {entry.id: (entry, one.extension) for one, entry in zip(references, found, strict=True) if entry}
        observed = await self.observe_entries(list(present.values()))
        return [None if entry is None else observed[entry.id] for entry in found]

    async def observe_entries(self, entries: Sequence[tuple[Entry, str]]) -> Mapping[UUID, ObservedMailbox]:
        """Read the state of mailboxes with their marks.

        Raises TryAgain.
        """
        names = self._names
        states = await asyncio.gather(*[self._state(entry) for entry, _ in entries])
        attributes = names.full_access, names.send_as, names.auto_mapped, names.owner
        dns = {dn for entry, _ in entries for attribute in attributes for dn in entry.all(attribute)}
        folders = [folder for state in states if state is not None for folder in state.folders.values()]
        with_rights = {name for folder in folders for name in folder.rights}
        users = await users_by_names(self._entries, self._layout, dns=dns, names=with_rights)
        return {
            entry.id: observed_mailbox(entry, state, users, names, extension)
            for (entry, extension), state in zip(entries, states, strict=True)
        }

    async def ensure(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        """Provision each mailbox.

        A retry ends in the same state (idempotent). Raises TryAgain.
        """
        unique = list({_key(work): work for work in works}.values())
        found, users = await asyncio.gather(
            self._find([_reference(work.wanted) for work in unique]),
            users_by_id(self._entries, self._layout, _named_users(unique)),
        )
        runs = [_Run(work, entry) for work, entry in zip(unique, found, strict=True)]
        await self._refuse(runs, users)
        await asyncio.gather(*[self._provision(run, users) for run in runs if run.fault is None])
        is_forgotten = await self._forget(runs)
        observed = await self._observe_again(runs)
        outcomes = {_key(run.work): _outcome(run, observed, is_forgotten=is_forgotten) for run in runs}
        return [outcomes[_key(work)] for work in works]

    async def _find(self, references: Sequence[MailboxReference]) -> Sequence[Entry | None]:
        """Read the entry of each request. Of several, the id selects one."""
        branch = self._layout.mailboxes
        ids = {str(one.request_id) for one in references}
        entries = await self._entries.by_values(branch.base, REQUEST_ID, ids, within=branch.filter)
        by_mark: dict[tuple[str, str], list[Entry]] = {}
        for extension in {one.extension for one in references}:
            for entry in sorted(entries, key=lambda each: each.id):
                by_mark.setdefault((extension, marks_of(entry, extension).get(_KEY, "").lower()), []).append(entry)
        candidates = [by_mark.get((one.extension, str(one.request_id)), []) for one in references]
        return [
            next((entry for entry in each if entry.id == one.id), each[0] if each else None)
            for one, each in zip(references, candidates, strict=True)
        ]

    async def _state(self, entry: Entry) -> MailboxState | None:
        name = entry.one(self._names.name)
        return None if name is None else await self._mailstore.observe(name, has_reply=has_reply(entry, self._names))

    async def _refuse(self, runs: Sequence[_Run], users: Users) -> None:
        """Find the reason against each work.

        Nothing of a rejected one is written.
        """
        for run in runs:
            run.fault = _unstorable(run.wanted) or _unknown_user(run.wanted, users)
            if run.fault is None and Step.CHECK_PEOPLE in run.work.steps:
                run.done = (Step.CHECK_PEOPLE,)
        wanted = {
            _key(run.work): self._new_addresses(run, users)
            for run in runs
            if run.fault is None and (run.entry is None or Step.SET_ALIASES in run.work.steps)
        }
        addresses = await Addresses.read(
            self._entries, self._layout, [address for each in wanted.values() for address in each]
        )
        for run in runs:
            key = _key(run.work)
            if key in wanted:
                run.fault = addresses.claim(wanted[key], None if run.entry is None else run.entry.id, key)
        # Another worker may have created the mailbox meanwhile.
        lost = [run for run in runs if run.entry is None and _key(run.work) in wanted and run.fault is not None]
        for run, entry in zip(lost, await self._find([_reference(run.wanted) for run in lost]), strict=True):
            if entry is not None:
                run.entry, run.fault = entry, None

    def _new_addresses(self, run: _Run, users: Users) -> Sequence[str]:
        if run.entry is None:
            return [run.wanted.mail, *run.wanted.aliases]
        return missing_aliases(self._change_of(run, run.entry, users))

    async def _provision(self, run: _Run, users: Users) -> None:
        """Run the steps of one mailbox until a fault."""
        try:
            is_new = run.entry is None and await self._create(run, users)
            if run.entry is None:
                return
            run.complete_until(frozenset(run.work.steps) - _FIRST_STEPS)
            entry = run.entry if is_new else await self._change(run, run.entry, users)
            run.complete_until(_LATE_STEPS)
            change = self._change_of(run, entry, users)
            run.shortfalls = await (self._access.create(change) if is_new else self._access.correct(change))
            await self._record(run, entry, users, known=entry if is_new else None)
        except Refused as refused:
            run.fault = rejected(refused)
        except (TryAgain, Rejected) as fault:
            run.fault = fault
        else:
            run.done = run.work.steps
            run.is_written = is_new and set(plan_mailbox(run.wanted, people_checked=True)) <= set(run.work.steps)

    async def _create(self, run: _Run, users: Users) -> bool:
        """Add the entry, or read that of another worker.

        Return whether it is new.
        """
        if Step.CREATE_MAILBOX not in run.work.steps:
            # Deleted meanwhile. Only work that creates it may do so.
            raise TryAgain(RETRY_BUSY, Reason.build("mailboxNotVisible"), Cause.NOT_YET)
        names = self._names
        values = new_values(run.work, users, names)
        dn = f"{names.name}={escaped_name(mailbox_name(run.wanted.mail))},{self._layout.mailboxes.base}"
        try:
            run.entry = await self._entries.add(dn, values)
        except Refused as refused:
            if refused.result not in (Result.ALREADY_EXISTS, Result.CONSTRAINT_VIOLATION):
                raise
            [run.entry] = await self._find([_reference(run.wanted)])
            if run.entry is None:
                run.fault = await self._taken([run.wanted.mail, *run.wanted.aliases], None) or _not_added(run, refused)
            return False
        return True

    async def _change(self, run: _Run, entry: Entry, users: Users) -> Entry:
        """Set the values that need the entry only.

        Return the entry as it was before.
        """
        read = [entry]

        def decide(fresh: Entry) -> Values:
            read.append(fresh)
            return changed_values(self._change_of(run, fresh, users))

        try:
            await self._entries.update(entry.dn, decide)
            await self._order_owners(run, read[-1], users)
        except Refused as refused:
            if refused.result == Result.NO_SUCH_OBJECT:
                # Deleted meanwhile.
                raise TryAgain(RETRY_BUSY, Reason.build("mailboxNotVisible"), Cause.NOT_YET) from refused
            if refused.result == Result.CONSTRAINT_VIOLATION:
                raise await self._taken(run.wanted.aliases, entry.id) or refused from refused
            raise
        return read[-1]

    async def _order_owners(self, run: _Run, entry: Entry, users: Users) -> None:
        """Set the order of the owners: the first one is primary.

        For the server it is no difference.
        """
        attribute = self._names.owner
        owners = [users.by_id[each].dn for each in run.wanted.owners] if Step.SET_OWNERS in run.work.steps else []
        present = list(entry.all(attribute))
        if len(owners) > 1 and present != owners and not differences(entry, {attribute: owners}):
            await self._entries.change(entry.dn, [(Operation.REPLACE, attribute, owners)])

    async def _record(self, run: _Run, entry: Entry, users: Users, *, known: Entry | None) -> None:
        """Record the part of Dovecot in the entry.

        `known` is a new one.
        """

        def decide(fresh: Entry) -> Values:
            return recorded_values(self._change_of(run, fresh, users))

        if differences(entry, decide(entry)):
            await self._entries.update(entry.dn, decide, known=known)

    async def _taken(self, addresses: Sequence[str], own_id: UUID | None) -> Rejected | None:
        """Return the rejection of the address that another entry has."""
        found = await Addresses.read(self._entries, self._layout, addresses)
        return found.claim(addresses, own_id, own_id)

    async def _forget(self, runs: Sequence[_Run]) -> bool:
        """Delete the names of written mailboxes from SOGo's cache.

        Return whether it answered.

        A run without changes does this as well: the one before may have ended before it.
        """
        entries = [run.entry for run in runs if run.entry is not None and not isinstance(run.fault, Rejected)]
        names = [entry.one(self._names.name) or "" for entry in entries]
        addresses = [address for entry in entries for address in addresses_of(entry, self._names)]
        aliases = [alias for run in runs if run.fault is None for alias in run.wanted.aliases]
        try:
            if self._cache is not None:
                await self._cache.forget([*names, *addresses, *aliases])
        except TryAgain:
            return False
        return True

    async def _observe_again(self, runs: Sequence[_Run]) -> Mapping[UUID, ObservedMailbox]:
        """Read the mailboxes again.

        Those that were written as a whole, and those that wait, are left out.
        """
        left = {
            run.entry.id: run
            for run in runs
            if run.entry is not None and not run.is_written and not isinstance(run.fault, TryAgain)
        }
        branch = self._layout.mailboxes
        try:
            fresh = await self._entries.by_ids(branch.base, left.keys(), within=branch.filter)
            return await self.observe_entries([(entry, left[each].wanted.extension) for each, entry in fresh.items()])
        except TryAgain as fault:
            for run in left.values():
                run.fault = run.fault or fault
            return {}

    def _change_of(self, run: _Run, entry: Entry, users: Users) -> Change:
        return Change(run.wanted, run.work.steps, entry, users, self._names)


def _key(work: MailboxWork) -> Key:
    return work.wanted.tenant_id, work.wanted.extension, work.wanted.request_id


def _reference(wanted: WantedMailbox) -> MailboxReference:
    return MailboxReference(wanted.tenant_id, wanted.extension, wanted.request_id)


def _named_users(works: Iterable[MailboxWork]) -> frozenset[UserId]:
    """Return all people that works name.

    Revoked ones may not exist any more.
    """
    wanted = [work.wanted for work in works]
    return frozenset(user for each in wanted for user in (*each.owners, *each.permissions, *each.revoked))


def _not_added(run: _Run, refused: Refused) -> Rejected:
    """Return the rejection of a new entry.

    Only the name of an entry can be taken without its address.
    """
    return address_taken(run.wanted.mail) if refused.result == Result.ALREADY_EXISTS else rejected(refused)


def _unstorable(wanted: WantedMailbox) -> Rejected | None:
    fields, place = wanted.address_fields, wanted.place or Place()
    texts = [getattr(fields, name) for name in fields.__dataclass_fields__ if name != "business_phones"]
    devices = [place.audio_device_name, place.display_device_name, place.video_device_name]
    names = [wanted.name, wanted.display_name, wanted.mail, *wanted.aliases, wanted.automatic_reply]
    try:
        require_storable([*names, *texts, *fields.business_phones, *devices, *place.tags, *wanted.marks.values()])
    except Rejected as fault:
        return fault
    return None


def _unknown_user(wanted: WantedMailbox, users: Users) -> Rejected | None:
    unknown = [user for user in (*wanted.owners, *wanted.permissions) if user not in users.by_id]
    if not unknown:
        return None
    sentence = f"The directory has no user {unknown[0]}. Leave this user out, or add the user to the directory first."
    return Rejected("userUnknown", sentence)


def _outcome(run: _Run, observed: Mapping[UUID, ObservedMailbox], *, is_forgotten: bool) -> MailboxOutcome:
    if run.entry is None:
        return Outcome(None, run.done, run.fault)
    shown = _written(run.wanted, run.entry.id) if run.is_written else observed.get(run.entry.id)
    fault = run.fault
    if fault is None and shown is None:
        fault = TryAgain(RETRY_BUSY, Reason.build("mailboxMadeNotShown"), Cause.NOT_YET)
    # The last step is complete only when the mailbox is visible.
    done = run.done if shown is not None else run.done[: len(run.work.steps) - 1]
    shortfalls = run.shortfalls if is_forgotten else (*run.shortfalls, *_delayed(done))
    return Outcome(shown, done, fault, run.entry.id, shortfalls)


def _written(wanted: WantedMailbox, mailbox_id: UUID) -> ObservedMailbox:
    """Return a new mailbox as `observe` shows it."""
    place = wanted.place or Place() if wanted.type is MailboxType.ROOM else None
    marks = {**wanted.marks, _KEY: str(wanted.request_id)}
    return replace(written_mailbox(wanted, mailbox_id), place=place, marks=marks)


def _delayed(done: Collection[Step]) -> tuple[Shortfall, ...]:
    """Return the shortfall of a calendar that shows a change late."""
    step = next((each for each in _CACHED_STEPS if each in done), None)
    if step is None:
        return ()
    problem = "The memcached server of SOGo did not answer, so calendars show this up to five minutes later."
    return (Shortfall(step, Reason.build("partNotSet", problem=problem)),)
