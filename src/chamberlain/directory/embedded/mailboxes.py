"""Mailboxes in the embedded directory, when it has no faults on purpose: all of one is one statement, and what one is
called that was there before is another."""

from collections.abc import Mapping, Sequence

from chamberlain.directory.embedded.mailbox_entries import mailbox_entry_of, mark_of_mailbox, observed_mailbox_of
from chamberlain.directory.embedded.passing import passing
from chamberlain.directory.embedded.refusals import refusal_of
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.port import MailboxOutcome, MailboxWork
from chamberlain.directory.steps import Step
from chamberlain.embedded.directory.entries import Ensured, MailboxEntry, Mark
from chamberlain.embedded.directory.mailboxes import Mailboxes, MailboxShown


class WholeMailboxes:
    """Makes mailboxes, each whole or not at all."""

    def __init__(self, mailboxes: Mailboxes) -> None:
        self._mailboxes = mailboxes

    async def observe(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        """What the directory shows of each."""
        with passing():
            shown = await self._mailboxes.observe([mark_of_mailbox(one) for one in references])
        return [None if one is None else observed_mailbox_of(one) for one in shown]

    async def ensure(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        """Bring each about; the same mailbox asked for twice in one batch is one mailbox."""
        wanted = [mailbox_entry_of(work.wanted) for work in works]
        unique = list({entry.mark: entry for entry in wanted}.values())
        with passing():
            ensured = await self._mailboxes.ensure(unique)
            by_mark = {entry.mark: one for entry, one in zip(unique, ensured, strict=True)}
            described = {entry.mark: entry for work, entry in zip(works, wanted, strict=True) if _describes(work)}
            by_mark |= await self._describe([one for mark, one in described.items() if by_mark[mark].fault is None])
        return [_outcome(work, by_mark[entry.mark]) for work, entry in zip(works, wanted, strict=True)]

    async def _describe(self, entries: Sequence[MailboxEntry]) -> Mapping[Mark, Ensured[MailboxShown]]:
        """Have these called as they are wanted."""
        await self._mailboxes.describe(entries)
        shown = await self._mailboxes.observe([entry.mark for entry in entries])
        return {entry.mark: Ensured(one, None) for entry, one in zip(entries, shown, strict=True)}


def _describes(work: MailboxWork) -> bool:
    return Step.SET_PROPERTIES in work.steps


def _outcome(work: MailboxWork, ensured: Ensured[MailboxShown]) -> MailboxOutcome:
    mailbox = None if ensured.shown is None else observed_mailbox_of(ensured.shown)
    if ensured.fault is None:
        return MailboxOutcome(mailbox=mailbox, done=work.steps, fault=None)
    done, fault = refusal_of(ensured.fault, work.steps)
    return MailboxOutcome(mailbox=mailbox, done=done, fault=fault)
