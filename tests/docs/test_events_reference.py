# SPDX-License-Identifier: Apache-2.0
"""The page of events names every member, every type and what each holds."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.adoptions.models import (
    AdoptionFilter,
    AdoptionRecord,
    AdoptionRule,
    AdoptionState,
    adoption_event,
)
from chamberlain.auth.models import Actor, ActorType, Editor
from chamberlain.changes.models import (
    LARGEST,
    LONGEST_DETAIL,
    LONGEST_NAME,
    Event,
    EventType,
    Subject,
    announced,
    change_by,
)
from chamberlain.connections.models import Adapter, Connection, ConnectionState, Described, StateReason
from chamberlain.connections.rules import state_change
from chamberlain.core.ids import (
    AdoptionId,
    ConnectionId,
    EventId,
    GroupId,
    MailboxId,
    PolicyId,
    RequestId,
    TemplateId,
    TenantId,
    TraceId,
    UserId,
)
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import Guest, SubjectType
from chamberlain.events.endpoints import FeedEvent
from chamberlain.events.feed import PLACED
from chamberlain.events.outbox import PAYLOAD_LIMIT
from chamberlain.groups.rules import group_created
from chamberlain.guests.assignments.rules import assignment_changed
from chamberlain.guests.models import Assignment, FindingSubject
from chamberlain.guests.policies.events import action_taken, reminded
from chamberlain.guests.policies.models import PolicyAction
from chamberlain.guests.policies.timers import PolicyRule, Timer
from chamberlain.mailboxes.rules import mailbox_created
from chamberlain.requests.events import (
    MOST_APPROVERS,
    RequestSummary,
    approval_required,
    request_accepted,
    request_approved,
    request_cancelled,
    request_expired,
    request_failed,
    request_rejected,
    request_retried,
)
from chamberlain.requests.models import RequestError, RequestKind, RequestState, TemplateReference
from chamberlain.settings import Settings
from chamberlain.templates.models import TemplateKind
from chamberlain.webhooks.rules import webhook_disabled
from tests.changes.test_events import GROUP, mailbox
from tests.docs.pages import REFERENCE, named, rows, section

PAGE = REFERENCE / "events.md"
SOME = UUID(int=1)
NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
MAILBOX = mailbox(name="info", display_name="Information", mail="info@estate.example")
GIL = Guest(UserId(SOME), "gil@partner.example", "Gil Hartmann")
EDITOR = Editor(Actor(ActorType.USER, SOME, "Ada Achterberg"), None, TraceId("0" * 32), None)
# The database writes these (tests/guests/findings/test_finding_events.py).
OF_FINDINGS = {EventType.FINDING_OPENED, EventType.FINDING_REPAIRED, EventType.FINDING_CLOSED}
CLOCK = Timer(PolicyRule.EXPIRY, GIL, PolicyId(SOME), "", PolicyAction.REMOVE, NOW, NOW, NOW)


def summary(kind: RequestKind) -> RequestSummary:
    error = RequestError(Step.CREATE_GROUP, "ruleInvalid", "No.")
    actor = Actor(ActorType.USER, SOME, "Ada Achterberg")
    return RequestSummary(RequestId(SOME), TenantId(SOME), kind, RequestState.FAILED, "Apollo", error, actor)


def adoption() -> AdoptionRecord:
    """An adoption of which only the names matter."""
    return AdoptionRecord(
        id=AdoptionId(SOME),
        tenant_id=TenantId(SOME),
        rule=AdoptionRule(TemplateKind.GROUP, TemplateId(SOME), AdoptionFilter()),
        template=TemplateReference(TemplateId(SOME), "Project group"),
        template_revision=1,
        state=AdoptionState.RUNNING,
        total=2,
        adopted=0,
        refused=0,
        released=0,
        editor=EDITOR,
        created_at=NOW,
        updated_at=NOW,
        finished_at=None,
    )


def configured(noun: str) -> Event:
    """The event of a new template, policy or tenant."""
    subject = Subject(noun, SOME, "Project group")
    change = change_by(EDITOR, TenantId(SOME), f"{noun}.create", subject, before=None, after={"name": "Project group"})
    event = announced(change, EventId(SOME), now=NOW, kind="group" if noun == "template" else None).event
    assert event is not None
    return event


def connection_event(reason: StateReason | None) -> Event:
    """The event of a connection that is broken for a reason, or ready."""
    connection = Connection(
        id=ConnectionId(SOME),
        tenant_id=TenantId(SOME),
        adapter=Adapter.EMBEDDED,
        address=None,
        has_secret=False,
        credential_file=None,
        state=ConnectionState.NEW,
        reason=None,
        described=Described(),
        checked_at=None,
        revision=1,
        created_at=NOW,
        updated_at=NOW,
    )
    event = state_change(connection, reason, EDITOR, event_id=EventId(SOME), now=NOW).event
    assert event is not None
    return event


def every_event() -> list[Event]:
    """One of each type that something makes."""
    id_, team = EventId(SOME), summary(RequestKind.TEAM)
    template = TemplateId(SOME)
    group, site = [FindingSubject(TenantId(SOME), GroupId(SOME), type_, "Apollo") for type_ in SubjectType]
    found = FindingSubject(TenantId(SOME), GroupId(SOME), SubjectType.GROUP, "Apollo")
    assigned = [
        assignment_changed(
            id_, subject, Assignment(), Assignment(), request_id=team.request_id, changed_by=team.created_by, now=NOW
        )
        for subject in (group, site)
    ]
    taken = action_taken(id_, found, CLOCK, TraceId("0" * 32), now=NOW).event
    assert taken is not None
    return [
        mailbox_created(id_, team, MAILBOX, mailbox_id=MailboxId(SOME), template_id=template, metadata=None, now=NOW),
        group_created(id_, summary(RequestKind.GROUP), GROUP, template_id=template, metadata=None, now=NOW),
        group_created(id_, team, GROUP, template_id=template, metadata=None, now=NOW),
        *assigned,
        request_accepted(id_, team, now=NOW),
        approval_required(id_, team, level=1, approvers=(), now=NOW),
        request_approved(id_, team, changed_by=team.created_by, now=NOW),
        request_rejected(id_, team, now=NOW),
        request_failed(id_, team, now=NOW),
        request_retried(id_, team, changed_by=team.created_by, now=NOW),
        request_cancelled(id_, team, now=NOW),
        request_expired(id_, team, now=NOW),
        reminded(id_, found, CLOCK, now=NOW),
        taken,
        adoption_event(id_, EventType.ADOPTION_CONFIRMED, adoption(), team.created_by, now=NOW),
        adoption_event(id_, EventType.ADOPTION_UNDONE, adoption(), team.created_by, now=NOW),
        *[configured(noun) for noun in ("template", "policy", "tenant")],
        *[connection_event(reason) for reason in (StateReason("signInRefused", "Send a new one."), None)],
        webhook_disabled(id_, team.tenant_id, template, url="https://hooks.estate.example", reason="No.", now=NOW),
    ]


def test_it_works() -> None:
    assert named(section(PAGE, "## An event")) == list(FeedEvent.__struct_encode_fields__)


def test_it_names_every_type() -> None:
    assert named(section(PAGE, "## Types")) == [str(type_) for type_ in EventType]


def test_it_names_what_each_type_holds() -> None:
    documented = {row[0].strip("`"): re.findall("`([^`]+)`", row[2]) for row in rows(section(PAGE, "## Types"))}
    made = every_event()

    assert {each.type for each in made} == set(EventType) - OF_FINDINGS
    for event in made:
        # Requests and users are described below the table.
        named_once = dict.fromkeys(documented[event.type])
        assert list(named_once) == list(dict.fromkeys(members(event.data))), event.type


# The values whose members the table names.
NAMED = {
    "mailbox",
    "group",
    "site",
    "guest",
    "finding",
    "adoption",
    "connection",
    "stateReason",
    "template",
    "policy",
    "tenant",
}


def members(data: Mapping[str, object]) -> list[str]:
    """The members of the data, each with those that the table names in it."""
    found: list[str] = []
    for name, value in data.items():
        found.append(name)
        if isinstance(value, Mapping) and name in NAMED:
            found += value
        if name == "after":
            found += ["templateId", "policyId"]
        if name == "approvers":
            found += ["id", "displayName"]
    return found


def test_it_names_what_a_request_and_somebody_is() -> None:
    text = section(PAGE, "## Types")
    event = request_failed(EventId(SOME), summary(RequestKind.GROUP), now=NOW)
    request, created_by = event.data["request"], event.data["createdBy"]
    assert isinstance(request, Mapping)
    assert isinstance(created_by, Mapping)

    (of_request,) = re.findall(r"`request` is (.+?) or null\.", text, re.DOTALL)
    (of_somebody,) = re.findall(r"`changedBy` are (.+?)\.", text, re.DOTALL)

    error = request["error"]
    assert isinstance(error, Mapping)
    assert re.findall("`([^`]+)`", of_request) == [*request, *error]
    assert re.findall("`([^`]+)`", of_somebody) == list(created_by)


def test_it_names_the_limits() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert f"less than {LARGEST:,} bytes" in text
    assert LARGEST <= PAYLOAD_LIMIT
    assert f"at most {MOST_APPROVERS} " in text
    assert f"after {LONGEST_DETAIL:,} characters" in text
    assert f"after {LONGEST_NAME}." in text
    assert f"kept for {Settings.model_fields['retention_events'].default} days" in text
    assert f"{PLACED} at once" in text
