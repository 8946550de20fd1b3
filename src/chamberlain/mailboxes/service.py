# SPDX-License-Identifier: Apache-2.0
"""Request and read mailboxes.

A request is validated as a whole, queued durably, and then answered. A dry run takes the same way without writing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import (
    Conflict,
    Fault,
    Forbidden,
    NotFound,
    NotPossible,
    TryAgain,
    Unavailable,
    first_faults,
)
from chamberlain.core.idempotency import Submission
from chamberlain.core.ids import EventId, MailboxId, RequestId
from chamberlain.core.paging import Page, PageWanted
from chamberlain.database.transactions import Database
from chamberlain.directory.capabilities import Capable
from chamberlain.directory.mailboxes import MailboxOrder, MailboxType
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion
from chamberlain.directory.port import People
from chamberlain.mailboxes import records, store
from chamberlain.mailboxes.capabilities import capability_faults
from chamberlain.mailboxes.dry_run import MailboxDryRun, plan_dry_run
from chamberlain.mailboxes.models import AcceptedMailbox, MailboxFilter, MailboxRecord, at_acceptance, record_of_draft
from chamberlain.mailboxes.rules import (
    MailboxNames,
    MailboxSituation,
    address_taken,
    caller_question,
    faults_in_directory,
    faults_without_directory,
    mailbox_draft_of,
    mailbox_not_allowed,
    name_taken,
    named_in,
    names_of,
    people_question,
    sent_user_faults,
    situation_of,
)
from chamberlain.mailboxes.wire import write_mailbox_order
from chamberlain.requests import records as request_records
from chamberlain.requests.approvals import NO_REQUEST, approvers_question
from chamberlain.requests.models import Accepted, AddressTaken, Draft, NameTaken, Replayed, RequestResult, Written
from chamberlain.requests.timeline import Timelines, await_result
from chamberlain.requests.visibility import visible_owner
from chamberlain.templates import submission as template_submission
from chamberlain.templates.cache import Catalog, Choice
from chamberlain.templates.drafts import Moment
from chamberlain.templates.mailbox_types import no_default_template, type_of_body
from chamberlain.templates.models import MAILBOX_KINDS
from chamberlain.templates.rules import template_fault
from chamberlain.templates.submission import Basis, Submitter, again
from chamberlain.tenants import records as tenant_records


@dataclass(slots=True)
class MailboxService:
    """Request, wait for, read and list mailboxes.

    `capable` states the capabilities of the directory, `new_id` returns random ids, `now` the time of the database.
    """

    database: Database
    people: People
    capable: Capable
    authorization: Authorization
    catalog: Catalog
    submitter: Submitter
    timelines: Timelines
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def request(self, caller: Caller, order: MailboxOrder, submission: Submission) -> AcceptedMailbox:
        """Queue a request for a mailbox.

        Raises NotPossible with all errors, Forbidden, Conflict, KeyReused, LimitReached and Unavailable. Nothing has
        changed then.
        """
        try:
            return await self._accept(caller, order, submission)
        except (NotPossible, Forbidden, Conflict):
            if (earlier := await self.submitter.earlier(caller, submission)) is not None:
                return await self._again(caller, earlier)
            raise

    async def await_result(self, accepted: Accepted) -> RequestResult | None:
        """Wait for the result of a request; None without success."""
        return await await_result(self.timelines, accepted)

    async def read(self, caller: Caller, mailbox_id: MailboxId) -> MailboxRecord:
        """Read a mailbox.

        Callers see mailboxes that they requested, own or have a permission on; administrators see all. Raises NotFound,
        Forbidden and Unavailable.
        """
        reader = await self.authorization.reader(caller, Operation.READ_MAILBOXES)
        async with self.database.transaction(caller.tenant_id) as tx:
            record = await records.find(tx, mailbox_id, reader=reader)
        if record is None:
            raise NotFound("There is no such mailbox, or it is not yours to read.")
        return record

    async def list(self, caller: Caller, wanted: MailboxFilter, page: PageWanted) -> Page[MailboxRecord]:
        """List the mailboxes that the caller may read, newest first.

        Raises Forbidden and Unavailable.
        """
        reader = await self.authorization.reader(caller, Operation.READ_MAILBOXES)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await store.find_page(tx, wanted, reader=reader, page=page)

    async def dry_run(self, caller: Caller, order: MailboxOrder) -> MailboxDryRun:
        """Validate and plan a mailbox without writing.

        Uses up no number of a naming rule. A taken name or address and an exhausted limit are reported as conflicts.
        Raises NotPossible, Forbidden and Unavailable.
        """
        entry = await self.catalog.current(caller.tenant_id, await self._choice(caller, order))
        situation = await self._situation(caller, order, Basis(entry, ask_addresses=False), NO_REQUEST)
        names, answer = await self._checked(situation, await self._caller(situation), None)
        async with self.database.transaction(caller.tenant_id) as tx:
            addresses = await records.reserved(tx, "address", names.addresses)
            is_name_reserved = bool(await records.reserved(tx, "name", [names.name_key]))
            full_limit = await tenant_records.find_full_limit(tx, entry.tenant)
        approvers = None
        if (rule := situation.template.approval) is not None:
            question = approvers_question(rule.levels, tenant_id=caller.tenant_id, requester=situation.requester)
            approvers = await self._look_up(question)
        return plan_dry_run(
            situation,
            names,
            answer=answer,
            approvers=approvers,
            reserved_addresses=addresses,
            is_name_reserved=is_name_reserved,
            full_limit=full_limit,
        )

    async def _accept(self, caller: Caller, order: MailboxOrder, submission: Submission) -> AcceptedMailbox:
        choice = await self._choice(caller, order)
        draft, outcome = await self.submitter.submit(
            caller, choice, lambda basis: self._draft(caller, order, submission, basis)
        )
        match outcome:
            case Written(at=at):
                accepted = Accepted(draft.request_id, caller.tenant_id, draft.approval_required)
                return AcceptedMailbox(record_of_draft(draft, at or self.now()), accepted)
            case Replayed():
                return await self._again(caller, outcome)
            case NameTaken():
                raise await self._name_taken(caller, order, _names_in(draft))
            case AddressTaken():
                raise await self._address_taken(caller, _names_in(draft), frozenset())

    async def _again(self, caller: Caller, replayed: Replayed) -> AcceptedMailbox:
        """Return the first answer of an idempotency key."""
        async with self.database.transaction(caller.tenant_id) as tx:
            record = await records.find_of_request(tx, replayed.request_id)
        if record is None:
            raise LookupError(f"Request {replayed.request_id} was accepted under this key and has no mailbox.")
        return AcceptedMailbox(at_acceptance(record), again(caller, replayed))

    async def _choice(self, caller: Caller, order: MailboxOrder) -> Choice:
        """Return the requested template, or the type whose default template applies."""
        if order.template_id is not None:
            return order.template_id
        match type_of_body(order):
            case Fault() as fault:
                raise NotPossible([fault, *await self._faults_of_people(caller, order)])
            case MailboxType() as mailbox_type:
                return mailbox_type

    async def _draft(self, caller: Caller, order: MailboxOrder, submission: Submission, basis: Basis) -> Draft:
        situation = await self._situation(caller, order, basis, RequestId(self.new_id()))
        names, answer = await self._names(situation)
        if answer is not None and not answer.taken_addresses.isdisjoint(names.addresses):
            raise await self._taken(caller, order, names, answer.taken_addresses)
        return mailbox_draft_of(
            situation,
            submission,
            names,
            answer,
            mailbox_id=MailboxId(self.new_id()),
            content=write_mailbox_order(situation.order),
            moment=None if situation.approval is None else Moment(EventId(self.new_id()), self.now()),
        )

    async def _situation(
        self, caller: Caller, order: MailboxOrder, basis: Basis, request_id: RequestId
    ) -> MailboxSituation:
        entry = basis.entry
        fault = template_fault(entry.head, MAILBOX_KINDS)
        if order.template_id is None and entry.head is None and isinstance(shown := type_of_body(order), MailboxType):
            fault = no_default_template(shown)
        if fault is not None or entry.mailbox is None:
            raise NotPossible([*filter(None, (fault,)), *await self._faults_of_people(caller, order)])
        return situation_of(
            caller,
            order,
            request_id=request_id,
            tenant=entry.tenant,
            compiled=entry.mailbox,
            ask_addresses=basis.ask_addresses,
        )

    async def _names(self, situation: MailboxSituation) -> tuple[MailboxNames, PeopleAnswer | None]:
        """Validate everything, and return names and the directory's answer."""
        caller = await self._caller(situation)
        names, answer = await self._checked(situation, caller, None)
        if situation.compiled.address.needs_counter:
            # Only a valid request uses up a number.
            return await self._checked(situation, caller, await self._number(situation))
        return names, answer

    async def _caller(self, situation: MailboxSituation) -> PeopleAnswer | None:
        """Read the caller from the directory if the address needs it."""
        question = caller_question(situation) if situation.compiled.address.needs_properties else None
        if question is None:
            return None
        caller = await self._look_up(question)
        if caller is None:
            raise Unavailable("overloaded", "The directory does not tell what this address needs. Send it again.")
        return caller

    async def _checked(
        self, situation: MailboxSituation, caller: PeopleAnswer | None, number: int | None
    ) -> tuple[MailboxNames, PeopleAnswer | None]:
        person = None if caller is None else caller.people.get(situation.requester)
        names = names_of(
            situation.order,
            situation.compiled,
            request_id=situation.request_id,
            domain=situation.domain,
            properties={} if person is None else person.properties,
            number=number,
        )
        answer = await self._look_up(people_question(situation, names))
        faults = faults_without_directory(situation, names)
        faults += capability_faults(situation, await self.capable.capabilities(situation.tenant.id))
        if answer is not None:
            if (refusal := mailbox_not_allowed(situation, answer)) is not None:
                raise refusal
            faults += faults_in_directory(situation, answer)
        if faults:
            raise NotPossible(faults)
        return names, answer

    async def _look_up(self, question: PeopleQuestion) -> PeopleAnswer | None:
        try:
            return await self.people.look_up(question)
        except TryAgain:
            # The worker validates instead, as the first step of the request.
            return None

    async def _faults_of_people(self, caller: Caller, order: MailboxOrder) -> tuple[Fault, ...]:
        """Validate the people of an order whose template is invalid."""
        answer = await self._look_up(PeopleQuestion(caller.tenant_id, users=frozenset(named_in(order))))
        return () if answer is None else first_faults(sent_user_faults(order, answer.people.keys()))

    async def _number(self, situation: MailboxSituation) -> int:
        template = situation.template
        async with self.database.transaction(situation.tenant.id) as tx:
            return await template_submission.next_number(tx, template.head.id, template.address_rule)

    async def _taken(
        self, caller: Caller, order: MailboxOrder, names: MailboxNames, in_directory: frozenset[str]
    ) -> Conflict:
        """Report a taken name before a taken address.

        The directory may report the address of a mailbox that has the name.
        """
        async with self.database.transaction(caller.tenant_id) as tx:
            is_name_taken = bool(await records.reserved(tx, "name", [names.name_key]))
        if is_name_taken:
            return await self._name_taken(caller, order, names)
        return await self._address_taken(caller, names, in_directory)

    async def _name_taken(self, caller: Caller, order: MailboxOrder, names: MailboxNames) -> Conflict:
        conflict, reader = name_taken(order), await self._reader(caller)
        async with self.database.transaction(caller.tenant_id) as tx:
            holder = await records.find_holder(tx, "name", names.name_key, reader=reader)
        conflict.conflicting_id = None if holder is None else str(holder)
        return conflict

    async def _address_taken(self, caller: Caller, names: MailboxNames, in_directory: frozenset[str]) -> Conflict:
        reader = await self._reader(caller)
        async with self.database.transaction(caller.tenant_id) as tx:
            reserved = await records.reserved(tx, "address", names.addresses)
            taken = in_directory | reserved
            address = next((each for each in names.addresses if each in taken), "")
            mailbox = await records.find_holder(tx, "address", address, reader=reader)
            record = None if mailbox else await request_records.find_by_address(tx, address)
        conflict = address_taken(names, taken, reserved=reserved)
        owner = mailbox or await visible_owner(self.authorization, caller, record)
        conflict.conflicting_id = None if owner is None else str(owner)
        return conflict

    async def _reader(self, caller: Caller) -> UUID | None:
        """Return the caller's id, or None for readers of all mailboxes."""
        try:
            return await self.authorization.reader(caller, Operation.READ_MAILBOXES)
        except Unavailable:
            # The conflict is reported without the id while the directory does not answer.
            return caller.id


def _names_in(draft: Draft) -> MailboxNames:
    (address,) = draft.addresses
    domain = address.mail.partition("@")[2]
    mailbox = draft.mailbox
    return MailboxNames(
        name_key="" if mailbox is None else mailbox.name_key,
        local_part=address.mail_nickname,
        domain=domain,
        alias=None if mailbox is None else mailbox.alias,
    )
