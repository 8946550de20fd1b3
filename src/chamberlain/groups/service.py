# SPDX-License-Identifier: Apache-2.0
"""Request groups and teams: validate everything, queue the request durably, then answer.

A dry run takes the same way without writing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.core.errors import Conflict, Fault, Forbidden, NotPossible, TryAgain, Unavailable, first_faults
from chamberlain.core.idempotency import Submission
from chamberlain.core.ids import EventId, RequestId, UserId
from chamberlain.database.transactions import Database
from chamberlain.directory.capabilities import Capable
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion
from chamberlain.directory.port import People
from chamberlain.groups.capabilities import (
    capability_faults,
    capability_warnings,
    people_and_label_faults,
    team_license_missing,
)
from chamberlain.groups.dry_run import GroupDryRun, plan_dry_run
from chamberlain.groups.models import NO_NUMBERS, GroupNames, GroupOrder, Numbers
from chamberlain.groups.rules import (
    Situation,
    address_taken,
    caller_question,
    draft_of,
    faults_without_directory,
    free_addresses,
    names_of,
    people_question,
    unknown_users,
    with_known_label,
    with_second_address,
)
from chamberlain.groups.wire import write_group_order
from chamberlain.requests import records as request_records
from chamberlain.requests.approvals import NO_REQUEST, approvers_question
from chamberlain.requests.models import Accepted, AddressTaken, Draft, NameTaken, Replayed, RequestResult, Written
from chamberlain.requests.timeline import Timelines, await_result
from chamberlain.requests.visibility import visible_owner
from chamberlain.templates import records as template_records
from chamberlain.templates import submission as template_submission
from chamberlain.templates.cache import Catalog
from chamberlain.templates.capabilities import restricts_guests
from chamberlain.templates.drafts import Moment
from chamberlain.templates.models import GuestTemplate, TemplateKind
from chamberlain.templates.rules import template_fault, template_not_allowed
from chamberlain.templates.submission import Basis, Submitter, again
from chamberlain.tenants import records as tenant_records

KINDS = frozenset({TemplateKind.GROUP, TemplateKind.TEAM})


@dataclass(slots=True)
class GroupService:
    """Request groups and teams, and wait for them.

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

    async def request(self, caller: Caller, order: GroupOrder, submission: Submission) -> Accepted:
        """Queue a request for a group or team.

        Raises NotPossible with all errors, Forbidden, Conflict, KeyReused, LimitReached and Unavailable. Nothing has
        changed then.
        """
        try:
            return await self._accept(caller, order, submission)
        except (NotPossible, Forbidden, Conflict):
            if (earlier := await self.submitter.earlier(caller, submission)) is not None:
                return again(caller, earlier)
            raise

    async def await_result(self, accepted: Accepted) -> RequestResult | None:
        """Wait for the result of a request; None without success."""
        return await await_result(self.timelines, accepted)

    async def dry_run(self, caller: Caller, order: GroupOrder) -> GroupDryRun:
        """Validate and plan a group or team without writing.

        Uses up no number of a naming rule. A taken address and an exhausted limit are reported as conflicts. Raises
        NotPossible, Forbidden and Unavailable.
        """
        entry = await self.catalog.current(caller.tenant_id, order.template_id)
        situation = await self._situation(caller, order, Basis(entry, ask_addresses=False), NO_REQUEST)
        properties = await self._properties(situation)
        names, answer = await self._checked(situation, properties, NO_NUMBERS)
        async with self.database.transaction(caller.tenant_id) as tx:
            mails = [address.mail for address in names.addresses]
            reserved = frozenset(
                [mail for mail in mails if await request_records.find_by_address(tx, mail) is not None]
            )
            full_limit = await tenant_records.find_full_limit(tx, entry.tenant)
        approvers = None
        if (rule := situation.template.approval) is not None:
            question = approvers_question(rule.levels, tenant_id=caller.tenant_id, requester=situation.user)
            approvers = await self._look_up(question)
        return plan_dry_run(
            situation,
            names,
            properties=properties,
            answer=answer,
            approvers=approvers,
            reserved=reserved,
            full_limit=full_limit,
        )

    async def _accept(self, caller: Caller, order: GroupOrder, submission: Submission) -> Accepted:
        draft, outcome = await self.submitter.submit(
            caller, order.template_id, lambda basis: self._draft(caller, order, submission, basis)
        )
        match outcome:
            case Written():
                return Accepted(draft.request_id, caller.tenant_id, draft.approval_required)
            case Replayed():
                return again(caller, outcome)
            case NameTaken() | AddressTaken():
                raise await self._address_taken(caller, GroupNames(draft.display_name, draft.addresses))

    async def _draft(self, caller: Caller, order: GroupOrder, submission: Submission, basis: Basis) -> Draft:
        situation = await self._situation(caller, order, basis, RequestId(self.new_id()))
        names, answer = await self._names(situation)
        free = names.addresses if answer is None else free_addresses(names, answer)
        if not free:
            raise await self._address_taken(caller, names)
        if (known := with_known_label(order, answer)) is not order:
            submission = replace(submission, body=write_group_order(known))
        return draft_of(
            situation,
            submission,
            names if free == names.addresses else GroupNames(names.display_name, free),
            answer,
            moment=None if situation.approval is None else Moment(EventId(self.new_id()), self.now()),
            warnings=capability_warnings(situation.template, situation.capabilities),
        )

    async def _situation(self, caller: Caller, order: GroupOrder, basis: Basis, request_id: RequestId) -> Situation:
        entry = basis.entry
        fault = template_fault(entry.head, KINDS)
        if fault is not None or entry.group is None:
            raise NotPossible([*filter(None, (fault,)), *await self._faults_of_people(caller, order)])
        return Situation(
            caller,
            _user(caller),
            order,
            request_id,
            entry.tenant,
            entry.group,
            ask_addresses=basis.ask_addresses,
            capabilities=await self.capable.capabilities(caller.tenant_id),
        )

    async def _names(self, situation: Situation) -> tuple[GroupNames, PeopleAnswer | None]:
        """Validate everything, and return names and the directory's answer."""
        properties = await self._properties(situation)
        names, answer = await self._checked(situation, properties, NO_NUMBERS)
        if situation.compiled.needs_numbers:
            # Only a valid request uses up a number.
            return await self._checked(situation, properties, await self._numbers(situation))
        return names, answer

    async def _properties(self, situation: Situation) -> Mapping[str, str]:
        """Read those properties of the caller that the names need."""
        if not situation.compiled.needs_properties:
            return {}
        answer = await self._look_up(caller_question(situation.compiled, situation.user))
        if answer is None:
            raise Unavailable("overloaded", "The directory does not tell what this name needs. Send it again.")
        person = answer.people.get(situation.user)
        return {} if person is None else person.properties

    async def _checked(
        self, situation: Situation, properties: Mapping[str, str], numbers: Numbers
    ) -> tuple[GroupNames, PeopleAnswer | None]:
        order, template, user = situation.order, situation.template, situation.user
        names = names_of(
            order,
            situation.compiled,
            request_id=situation.request_id,
            domain=situation.tenant.default_domain,
            properties=properties,
            numbers=numbers,
        )
        if situation.ask_addresses:
            # The write takes only the best address unless the directory was asked for both.
            asked = GroupNames(names.display_name, ())
        else:
            asked = names = with_second_address(names, template, situation.request_id)
        answer = await self._look_up(people_question(order, template, asked, caller=user))
        capabilities = situation.capabilities
        faults = faults_without_directory(order, template, names, caller=user)
        guests = await self._guest_template(situation)
        faults += capability_faults(order, template, names, capabilities, guests=guests)
        if answer is not None:
            _require_permitted(situation, answer)
            faults += people_and_label_faults(order, template, answer, capabilities, caller=user)
        if faults:
            raise NotPossible(faults)
        return names, answer

    async def _guest_template(self, situation: Situation) -> GuestTemplate | None:
        """Read the guest template of a restricted directory."""
        template_id = situation.template.guest_template_id
        if template_id is None or not restricts_guests(situation.capabilities):
            return None
        async with self.database.transaction(situation.tenant.id) as tx:
            return await template_records.find_guest(tx, template_id)

    async def _look_up(self, question: PeopleQuestion) -> PeopleAnswer | None:
        try:
            return await self.people.look_up(question)
        except TryAgain:
            # The worker validates instead, as the first step of the request.
            return None

    async def _faults_of_people(self, caller: Caller, order: GroupOrder) -> tuple[Fault, ...]:
        """Validate the people of an order whose template is invalid."""
        users = frozenset((*order.owners, *order.members))
        answer = await self._look_up(PeopleQuestion(caller.tenant_id, users=users))
        if answer is None:
            return ()
        return first_faults(
            unknown_users("/owners", order.owners, answer.people.keys()),
            unknown_users("/members", order.members, answer.people.keys()),
        )

    async def _numbers(self, situation: Situation) -> Numbers:
        template, compiled = situation.template, situation.compiled
        display_name = mail_nickname = None
        async with self.database.transaction(situation.tenant.id) as tx:
            if compiled.display_name.needs_counter:
                display_name = await template_submission.next_number(tx, template.head.id, template.display_name_rule)
            if (
                template.mail_nickname_rule is not None
                and compiled.mail_nickname
                and compiled.mail_nickname.needs_counter
            ):
                mail_nickname = await template_submission.next_number(tx, template.head.id, template.mail_nickname_rule)
        return Numbers(display_name, mail_nickname)

    async def _address_taken(self, caller: Caller, names: GroupNames) -> Conflict:
        async with self.database.transaction(caller.tenant_id) as tx:
            record = await request_records.find_by_address(tx, names.addresses[0].mail)
        conflict = address_taken(names, is_reserved=record is not None)
        conflict.conflicting_id = await visible_owner(self.authorization, caller, record)
        return conflict


def _user(caller: Caller) -> UserId:
    if caller.user_id is None:
        raise Forbidden("applicationNotSupported", "Groups and teams have a user as owner. Use a token of a user.")
    return caller.user_id


def _require_permitted(situation: Situation, answer: PeopleAnswer) -> None:
    template, user = situation.template, situation.user
    refusal = template_not_allowed(template.audience, user, answer.member_of) or team_license_missing(
        template, answer.people.get(user), situation.capabilities
    )
    if refusal is not None:
        raise refusal
