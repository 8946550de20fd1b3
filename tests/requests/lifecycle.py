# SPDX-License-Identifier: Apache-2.0
"""A state machine that acts upon requests by chance, and compares the service with a model after each action."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from datetime import timedelta
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, RuleBasedStateMachine, initialize, multiple, rule

from chamberlain.core.errors import Refusal, Rejected, TryAgain
from chamberlain.core.ids import RequestId, TemplateId, UserId
from chamberlain.directory.groups import GroupReference
from chamberlain.directory.mailboxes import MailboxReference
from chamberlain.embedded import postgres
from chamberlain.requests.models import Accepted, DecisionOutcome, RequestState
from chamberlain.requests.rules import Action
from chamberlain.tenant_admin.service import TenantOperations
from tests.databases import Databases, filled_database
from tests.estates import (
    ADA,
    BEN,
    CLEO,
    DARA,
    ESTATE,
    OPERATOR,
    PROJECT_GROUP,
    SHARED_MAILBOX,
    TRACE,
    Estate,
    caller_of,
    mail_caller_of,
    open_estate,
    service_of,
)
from tests.example import configuration_in, example_document
from tests.requests.approval_fixture import ApprovalFixture, approval_fixture_of
from tests.requests.lifecycle_model import (
    DEADLINE_DAYS,
    LEVELS,
    ONE_LEVEL,
    TO_PROVISION,
    TWO_LEVELS,
    DirectoryFault,
    Model,
    ModelRequest,
)
from tests.requests.request_services import act, administrator, cancel, retry

T = TypeVar("T")

NAMES = st.sampled_from(["Apollo", "Bison"])
# Groups and mailboxes share their addresses, and the model knows of names alone.
MAILBOXES = st.sampled_from(["Info", "Press"])
ALL_NAMES = NAMES | MAILBOXES
# Most calls come without a key; so few keys that they are used again.
KEYS = st.sampled_from([None, None, None, "k1", "k2"])
# None is the one whose turn it is: an approver who has to decide, or the requester.
PEOPLE = st.sampled_from([None, None, ADA, BEN, CLEO, DARA])
REQUESTERS = st.sampled_from([ADA, BEN])
GROUP_TEMPLATES = st.sampled_from([PROJECT_GROUP, ONE_LEVEL, TWO_LEVELS])
# A tenant that is suspended or a directory that is away hides most of what could go wrong.
SELDOM = st.sampled_from([False, False, True])
FAULTS = {
    DirectoryFault.TEMPORARY: TryAgain(timedelta(seconds=5), "Not yet."),
    DirectoryFault.PERMANENT: Rejected("ruleInvalid", "Never."),
}

FAULTS_OF_ALL = TryAgain(timedelta(seconds=5), "The directory is away.")

PASS_DEADLINES = """
UPDATE chamberlain.request SET approvals = replace(
    approvals::text, '"deadline":"20', '"deadline":"19'
)::json WHERE state = 'pendingApproval' AND approvals IS NOT NULL RETURNING 1
"""
MAKE_DUE = "UPDATE chamberlain.job SET run_at = now() - interval '1 s' RETURNING 1"
JOBS = """
SELECT kind::text, subject FROM chamberlain.job WHERE subject = ANY ($1::uuid[]) ORDER BY kind, subject
"""
EVENTS = "SELECT type, data ->> 'level' FROM chamberlain.event WHERE request_id = $1 ORDER BY sequence"
FORGET_JOBS = "DELETE FROM chamberlain.job RETURNING 1"
_examples = count(1)


class Lifecycle(RuleBasedStateMachine):
    """One example: a model and the service, whose requests have names of their own."""

    requests = Bundle("requests")

    # Those of all examples, given by `lifecycle`.
    runner: asyncio.Runner
    estate: Estate
    # How many requests of all examples ended in each state.
    ended: Counter[str]

    def __init__(self) -> None:
        super().__init__()
        self.approval_fixture: ApprovalFixture = approval_fixture_of(self.estate)
        self.model = Model()
        self.tag = f"E{next(_examples)}"

    @initialize(target=requests)
    def ask_for_each(self) -> MultipleResults[ModelRequest]:
        """Begin with a request for each template, so that every action has one that it suits."""
        asked = [self.ask_for_a_group("Apollo", each, ADA, None) for each in (PROJECT_GROUP, ONE_LEVEL, TWO_LEVELS)]
        asked.append(self.ask_for_a_mailbox("Info", BEN, None))
        return multiple(*[each for each in asked if isinstance(each, ModelRequest)])

    @rule(target=requests, name=NAMES, template=GROUP_TEMPLATES, requester=REQUESTERS, key=KEYS)
    def ask_for_a_group(
        self, name: str, template: TemplateId, requester: UserId, key: str | None
    ) -> ModelRequest | MultipleResults[ModelRequest]:
        """Ask for a group, perhaps under a key that was used before."""

        async def ask(named: str, used: str | None) -> Accepted:
            return await self.estate.request(named, caller=caller_of(requester), key=used, templateId=str(template))

        return self._submit(ask, name, template, requester, key)

    @rule(target=requests, name=MAILBOXES, requester=REQUESTERS, key=KEYS)
    def ask_for_a_mailbox(
        self, name: str, requester: UserId, key: str | None
    ) -> ModelRequest | MultipleResults[ModelRequest]:
        """Ask for a mailbox, whose name may be taken."""

        async def ask(named: str, used: str | None) -> Accepted:
            body = {"name": named, "displayName": named, "templateId": str(SHARED_MAILBOX)}
            return (await self.estate.ask_mailbox(body, caller=mail_caller_of(requester), key=used)).accepted

        return self._submit(ask, name, SHARED_MAILBOX, requester, key)

    @rule(request=requests, person=PEOPLE, outcome=st.sampled_from(DecisionOutcome), key=KEYS)
    def decide(self, request: ModelRequest, person: UserId | None, outcome: DecisionOutcome, key: str | None) -> None:
        """Approve or reject a request, as anybody."""
        user = person or request.next_approver or DARA
        verb = self.approval_fixture.approve if outcome is DecisionOutcome.APPROVED else self.approval_fixture.reject
        asked = f"{outcome} {request.id}".encode()
        said = act(key=self._key(key), digest=asked)
        code, answer = self._attempt(verb(RequestId(request.id), user, said))

        expected, replayed = self.model.refuse_decision_of(request, user), False
        if expected is None:
            expected, replayed = self._expect_key(user, key, asked)
        if expected is None and not replayed:
            expected = self.model.refuse_decision_now(request, user)
            if expected is None:
                self.model.decide(request, user, outcome)
                self._keep(user, key, asked)
        _same(code, expected)
        assert answer is None or answer.replayed == replayed
        self._compare(request)

    @rule(request=requests, person=PEOPLE, as_administrator=SELDOM, key=KEYS)
    def cancel(self, request: ModelRequest, person: UserId | None, as_administrator: bool, key: str | None) -> None:  # noqa: FBT001 - drawn by name
        """Cancel a request, as anybody."""
        self._end(Action.CANCEL, request, person, key, as_administrator=as_administrator)

    @rule(request=requests, person=PEOPLE, as_administrator=SELDOM, key=KEYS)
    def retry(self, request: ModelRequest, person: UserId | None, as_administrator: bool, key: str | None) -> None:  # noqa: FBT001 - drawn by name
        """Retry a request, as anybody."""
        self._end(Action.RETRY, request, person, key, as_administrator=as_administrator)

    @rule()
    def run_workers(self) -> None:
        """Run all jobs that provision."""
        self._run(self._work())
        self.model.provision()
        self._compare_all()

    @rule()
    def attend(self) -> None:
        """Run all jobs that attend to approvals."""
        self._run(self.approval_fixture.look_again())
        self.model.attend()
        self._compare_all()

    @rule(attends=st.booleans())
    def pass_deadlines(self, attends: bool) -> None:  # noqa: FBT001 - drawn by name
        """Move the deadlines of open levels into the past; the job that ends their requests may run at once."""
        self._run(self.estate.rows(PASS_DEADLINES))
        self.model.pass_deadlines()
        if attends:
            self.attend()

    @rule(name=ALL_NAMES, fault=st.sampled_from([None, *DirectoryFault]))
    def change_fault(self, name: str, fault: DirectoryFault | None) -> None:
        """Let the directory refuse a name for a while, or for good, or no more."""
        named = self._name(name)
        self.model.faults.pop(named, None)
        self.estate.directory.faults.pop(named, None)
        if fault is not None:
            self.model.faults[named] = fault
            self.estate.directory.faults[named] = FAULTS[fault]

    @rule(name=ALL_NAMES)
    def fail_for_good(self, name: str) -> None:
        """Let the directory refuse a name for good, and run all jobs. Few other examples end in a failure."""
        self.change_fault(name=name, fault=DirectoryFault.PERMANENT)
        self.run_workers()

    @rule(has_outage=SELDOM)
    def change_outage(self, has_outage: bool) -> None:  # noqa: FBT001 - drawn by name
        """Let the whole directory be away, or answer again."""
        self.model.has_outage = has_outage
        self.estate.directory.error = FAULTS_OF_ALL if has_outage else None

    @rule(is_suspended=SELDOM)
    def change_tenant(self, is_suspended: bool) -> None:  # noqa: FBT001 - drawn by name
        """Suspend or resume the tenant."""
        operations = TenantOperations(self.estate.databases.worker)
        change = operations.suspend if is_suspended else operations.resume
        self._run(change(ESTATE, actor=OPERATOR, trace_id=TRACE))
        self.model.is_suspended = is_suspended

    def teardown(self) -> None:
        """Let all go on without faults, compare everything, and leave nothing that the next example could meet."""
        self.change_outage(has_outage=False)
        self.estate.directory.faults.clear()
        self.model.faults.clear()
        self.change_tenant(is_suspended=False)
        try:
            self.run_workers()
            self._compare_directory()
            self.ended.update(str(each.state) for each in self.model.requests)
        finally:
            self._run(self.estate.rows(FORGET_JOBS))

    def _submit(
        self,
        ask: Callable[[str, str | None], Coroutine[Any, Any, Accepted]],
        name: str,
        template: TemplateId,
        requester: UserId,
        key: str | None,
    ) -> ModelRequest | MultipleResults[ModelRequest]:
        named = self._name(name)
        code, accepted = self._attempt(ask(named, self._key(key)))

        asked = (named, template)
        expected, replayed = self._expect_key(requester, key, asked)
        if expected is None and not replayed:
            expected = self.model.refuse_submission(named, template)
        _same(code, expected)
        if accepted is None:
            return multiple()
        assert accepted.replayed == replayed
        if replayed:
            assert accepted.request_id in {each.id for each in self.model.requests if each.name == named}
            return multiple()
        request = ModelRequest(accepted.request_id, named, template, requester)
        assert accepted.approval_required == bool(request.levels)
        self.model.requests.append(request)
        self._keep(requester, key, asked)
        self._compare(request)
        return request

    def _end(
        self,
        action: Action,
        request: ModelRequest,
        person: UserId | None,
        key: str | None,
        *,
        as_administrator: bool,
    ) -> None:
        user = person or (ADA if as_administrator else request.requester)
        caller = administrator(user) if as_administrator else caller_of(user)
        asked = f"{action} {request.id}".encode()
        verb = cancel if action is Action.CANCEL else retry
        said = act(key=self._key(key), digest=asked)
        code, answer = self._attempt(verb(self.estate, RequestId(request.id), caller, said))

        expected, replayed = self.model.refuse_ending_of(request, user, as_administrator=as_administrator), False
        if expected is None:
            expected, replayed = self._expect_key(user, key, asked)
        if expected is None and not replayed:
            if action in request.actions:
                (self.model.cancel if action is Action.CANCEL else self.model.retry)(request)
                self._keep(user, key, asked)
            else:
                expected = "stateDoesNotAllow"
        _same(code, expected)
        assert answer is None or answer.replayed == replayed
        self._compare(request)

    def _expect_key(self, user: UserId, key: str | None, asked: object) -> tuple[str | None, bool]:
        """The code for a key that was used for something else, and whether an answer is given again."""
        before = None if key is None else self.model.keys.get((user, key))
        return (None, before is not None) if before in (None, asked) else ("idempotencyKeyReused", False)

    def _keep(self, user: UserId, key: str | None, asked: object) -> None:
        if key is not None:
            self.model.keys[user, key] = asked

    def _compare(self, request: ModelRequest) -> None:
        """Compare one request with the model: its state, levels, events, and the actions of its requester."""
        self._run(self._compare_one(request))

    async def _compare_one(self, request: ModelRequest) -> None:
        view = await self.approval_fixture.requests.read(caller_of(request.requester), RequestId(request.id))
        record = view.record
        levels = [
            (
                each.state,
                [person.id for person in each.approvers],
                [(decision.by.id, decision.outcome) for decision in each.decisions],
            )
            for each in record.approvals
        ]
        events = [each async for each in self._events(request.id)]
        expected = [(each.state, list(each.approvers), each.decisions) for each in request.levels]
        _same((record.state, record.error and record.error.code), (request.state, request.error))
        _same(levels, expected)
        _same(set(view.actions), request.actions)
        _same(events, request.events)

    async def _events(self, request_id: UUID) -> AsyncIterator[str]:
        for type_, level in await self.estate.rows(EVENTS, request_id):
            yield f"{type_}" if level is None else f"{type_} {level}"

    def _compare_all(self) -> None:
        for request in self.model.requests:
            self._compare(request)
        ids = [each.id for each in self.model.requests]
        jobs = {(str(kind), subject) for kind, subject in self._run(self.estate.rows(JOBS, ids))}
        provision = {
            ("mailboxProvision" if each.is_mailbox else "groupProvision", each.id)
            for each in self.model.requests
            if each.state in TO_PROVISION
        }
        waiting = {
            ("approvalAttend", each.id) for each in self.model.requests if each.state is RequestState.PENDING_APPROVAL
        }
        _same(jobs, provision | waiting)

    def _compare_directory(self) -> None:
        """Compare what the directory has with the requests that succeeded."""
        groups = [each for each in self.model.requests if not each.is_mailbox]
        mailboxes = [each for each in self.model.requests if each.is_mailbox]
        found = self._run(
            self.estate.directory.observe(
                [GroupReference(ESTATE, "chamberlain_group", RequestId(each.id)) for each in groups]
            )
        )
        found_mailboxes = self._run(
            self.estate.directory.observe_mailboxes(
                [MailboxReference(ESTATE, "chamberlain_mailbox", RequestId(each.id)) for each in mailboxes]
            )
        )
        seen = {each.id: None if one is None else one.display_name for each, one in zip(groups, found, strict=True)}
        seen |= {
            each.id: None if one is None else one.display_name
            for each, one in zip(mailboxes, found_mailboxes, strict=True)
        }
        expected = {
            each.id: each.name if each.state is RequestState.SUCCEEDED else None for each in self.model.requests
        }
        _same(seen, expected)

    def _attempt(self, acting: Coroutine[Any, Any, T]) -> tuple[str | None, T | None]:
        """The code of a refusal, or what came of it."""
        try:
            return None, self._run(acting)
        except Refusal as refusal:
            return refusal.code, None

    async def _work(self) -> None:
        await self.estate.rows(MAKE_DUE)
        await self.estate.work()

    def _run(self, acting: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(acting)

    def _name(self, name: str) -> str:
        return f"{name} {self.tag}"

    def _key(self, key: str | None) -> str | None:
        return None if key is None else f"{key}-{self.tag}"


def _same(found: object, expected: object) -> None:
    """Fail with both values; pytest explains assertions of test files alone."""
    assert found == expected, f"{found!r}, and the model has {expected!r}"


@contextmanager
def lifecycle(server: postgres.Server) -> Iterator[type[Lifecycle]]:
    """Make examples of the state machine, all on one database with templates that ask for approval."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        databases = runner.run(stack.enter_async_context(filled_database(server, "lifecycle", _fill)))
        estate = service_of(databases)
        try:
            yield type("Example", (Lifecycle,), {"runner": runner, "estate": estate, "ended": Counter()})
        finally:
            runner.run(stack.aclose())


async def _fill(databases: Databases) -> None:
    document = example_document()
    for template, name, days in ((ONE_LEVEL, "One level", None), (TWO_LEVELS, "Two levels", DEADLINE_DAYS)):
        levels = [
            {"mode": str(mode), "approvers": [{"type": "user", "id": str(user)} for user in users]}
            for mode, users in LEVELS[template]
        ]
        approval = {"levels": levels, "deadlineDays": days}
        document["tenants"][0]["templates"].append(
            {"id": str(template), "kind": "group", "name": name, "approval": approval}
        )
    await open_estate(databases, configuration_in(document))
