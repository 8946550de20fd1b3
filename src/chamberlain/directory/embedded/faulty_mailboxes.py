"""Mailboxes in the embedded directory with faults on purpose: each step is a call of its own, and may have to wait."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from chamberlain.directory.embedded.mailbox_entries import mailbox_entry_of, mark_of_mailbox, observed_mailbox_of
from chamberlain.directory.embedded.passing import passing
from chamberlain.directory.embedded.walking import walk
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox, remaining_of_mailbox
from chamberlain.directory.port import MailboxOutcome, MailboxWork
from chamberlain.directory.steps import Step
from chamberlain.embedded.directory.entries import MailboxEntry
from chamberlain.embedded.directory.errors import Refused
from chamberlain.embedded.directory.faulty import FaultyMailboxes


class MailboxSteps:
    """Makes mailboxes step by step. What stops a step is told for that mailbox alone; the next run goes on there."""

    def __init__(self, mailboxes: FaultyMailboxes) -> None:
        self._mailboxes = mailboxes

    async def observe(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        """What is visible of each by now."""
        with passing():
            shown = await self._mailboxes.observe([mark_of_mailbox(one) for one in references])
        return [None if one is None else observed_mailbox_of(one) for one in shown]

    async def ensure(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        """Take the steps of each, one after the other, as far as they go; no others."""
        unique = {mark_of_mailbox(_reference(work)): work for work in works}
        mailboxes = await self.observe([_reference(work) for work in unique.values()])
        outcomes = {
            mark: await self._bring_about(work, mailbox)
            for (mark, work), mailbox in zip(unique.items(), mailboxes, strict=True)
        }
        return [outcomes[mark_of_mailbox(_reference(work))] for work in works]

    async def _bring_about(self, work: MailboxWork, mailbox: ObservedMailbox | None) -> MailboxOutcome:
        """What comes of one that looks like `mailbox` at the beginning."""
        entry = mailbox_entry_of(work.wanted)
        walked = await walk(
            work.steps,
            remaining_of_mailbox(work.wanted, mailbox, work.steps),
            lambda step: self._take(step, entry),
            lambda: self._mailboxes.find(entry.mark),
        )
        shown = mailbox if walked.shown is None else observed_mailbox_of(walked.shown)
        made = entry.id if Step.CREATE_MAILBOX in walked.taken else None
        return MailboxOutcome(shown, walked.done, walked.fault, made)

    async def _take(self, step: Step, entry: MailboxEntry) -> None:
        match step:
            case Step.CHECK_PEOPLE:
                await self._check_people(entry)
            case Step.CREATE_MAILBOX:
                await self._mailboxes.create(entry, _bare(entry))
            case Step.SET_PROPERTIES:
                await self._mailboxes.describe(entry)
            case _:
                await self._mailboxes.change(_PARTS[step](_bare(entry), entry))

    async def _check_people(self, entry: MailboxEntry) -> None:
        try:
            await self._mailboxes.check(entry)
        except Refused as refused:
            if refused.code == "userUnknown":
                raise


def _reference(work: MailboxWork) -> MailboxReference:
    return MailboxReference(work.wanted.tenant_id, work.wanted.extension, work.wanted.request_id)


def _bare(entry: MailboxEntry) -> MailboxEntry:
    """The mailbox without all that later steps bring."""
    return MailboxEntry(
        mark=entry.mark,
        id=entry.id,
        recipient_type=entry.recipient_type,
        name=entry.name,
        display_name=entry.display_name,
        mail=entry.mail,
        values=entry.values,
    )


# What each step changes of a mailbox that is there.
_PARTS: Mapping[Step, Callable[[MailboxEntry, MailboxEntry], MailboxEntry]] = {
    Step.SET_ADDRESS_FIELDS: lambda bare, entry: replace(bare, properties=entry.properties, contact=entry.contact),
    Step.SET_PLACE: lambda bare, entry: replace(bare, place=entry.place, resource_capacity=entry.resource_capacity),
    Step.SET_BOOKING: lambda bare, entry: replace(bare, automate_processing=entry.automate_processing),
    Step.SET_AUTOMATIC_REPLY: lambda bare, entry: replace(
        bare, additional_response=entry.additional_response, automatic_reply=entry.automatic_reply
    ),
    Step.SET_QUOTA: lambda bare, entry: replace(bare, quota_megabytes=entry.quota_megabytes),
    Step.SET_CAPACITY: lambda bare, entry: replace(bare, resource_capacity=entry.resource_capacity),
    Step.SET_VISIBILITY: lambda bare, entry: replace(bare, is_hidden=entry.is_hidden),
    Step.SET_ALIASES: lambda bare, entry: replace(bare, aliases=entry.aliases),
    Step.SET_PERMISSIONS: lambda bare, entry: replace(bare, permissions=entry.permissions, revoked=entry.revoked),
    Step.SET_OWNERS: lambda bare, entry: replace(bare, owners=entry.owners),
}
