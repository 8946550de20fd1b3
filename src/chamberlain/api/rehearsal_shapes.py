"""What a dry run answers."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from chamberlain.api.endpoint import Parameter
from chamberlain.rules.approvals import ApprovalMode
from chamberlain.rules.errors import Fault
from chamberlain.rules.groups import MemberShipType
from chamberlain.rules.mailbox_rehearsals import MailboxRehearsal
from chamberlain.rules.mailboxes import TemplateSource
from chamberlain.rules.people import NamedPerson
from chamberlain.rules.plans import Step, title
from chamberlain.rules.rehearsals import GroupRehearsal, LevelRehearsal
from chamberlain.rules.templates import TemplateKind

DRY_RUN = Parameter(
    "dryRun",
    {"type": "boolean"},
    "With `true` nothing is written: the answer says what would come of it. An `Idempotency-Key` is ignored then.",
)


class RehearsedTemplate(Struct, rename="camel", frozen=True):
    """The template that would be used."""

    id: UUID
    name: str


class RehearsedPerson(Struct, rename="camel", frozen=True):
    """Somebody by name; the name is empty while the directory does not answer."""

    id: UUID
    display_name: str


class RehearsedLevel(Struct, rename="camel", frozen=True):
    """A level of approval, with those who could decide if it were open now."""

    level: int
    mode: ApprovalMode
    approvers: tuple[RehearsedPerson, ...]


class RehearsedStep(Struct, rename="camel", frozen=True):
    """One step that would be taken."""

    name: Step
    title: str


class RehearsalConflict(Struct, rename="camel", frozen=True):
    """What would be refused with 409 at present."""

    code: str
    pointer: str
    detail: str


class RehearsedGroup(Struct, rename="camel", frozen=True):
    """A group or team as it would be asked for. Zeros stand for a number, and for the digits of a requestId, that are
    known only when the request is sent; `warnings` say so."""

    dry_run: bool
    kind: TemplateKind
    template: RehearsedTemplate
    template_source: Annotated[str, Meta(description="`request`: the template is the one that was sent")]
    display_name: str
    mail_nickname: str
    address: str
    member_ship_type: Annotated[MemberShipType, Meta(description="0 private, 1 public, 2 dynamic")]
    owners: tuple[RehearsedPerson, ...]
    member_count: Annotated[int | None, Meta(description="null where a rule decides who is a member")]
    approval_required: bool
    approvals: tuple[RehearsedLevel, ...]
    steps: tuple[RehearsedStep, ...]
    conflicts: tuple[RehearsalConflict, ...]
    warnings: tuple[str, ...]


def rehearsed_group(rehearsal: GroupRehearsal) -> RehearsedGroup:
    """What is sent of a rehearsal."""
    return RehearsedGroup(
        dry_run=True,
        kind=rehearsal.template.kind,
        template=RehearsedTemplate(rehearsal.template.id, rehearsal.template.name),
        template_source="request",
        display_name=rehearsal.display_name,
        mail_nickname=rehearsal.mail_nickname,
        address=rehearsal.address,
        member_ship_type=rehearsal.member_ship_type,
        owners=tuple(map(_person, rehearsal.owners)),
        member_count=rehearsal.member_count,
        approval_required=bool(rehearsal.approvals),
        approvals=tuple(map(_level, rehearsal.approvals)),
        steps=tuple([RehearsedStep(step, title(step)) for step in rehearsal.steps]),
        conflicts=tuple(map(_conflict, rehearsal.conflicts)),
        warnings=rehearsal.warnings,
    )


class RehearsedMailbox(Struct, rename="camel", frozen=True):
    """A mailbox as it would be asked for. Zeros stand for a number that is known only when the request is sent;
    `warnings` say so."""

    dry_run: bool
    kind: TemplateKind
    template: RehearsedTemplate
    template_source: TemplateSource
    name: str
    display_name: str
    address: str
    owners: tuple[RehearsedPerson, ...]
    approval_required: bool
    approvals: tuple[RehearsedLevel, ...]
    steps: tuple[RehearsedStep, ...]
    conflicts: tuple[RehearsalConflict, ...]
    warnings: tuple[str, ...]


def rehearsed_mailbox(rehearsal: MailboxRehearsal) -> RehearsedMailbox:
    """What is sent of a rehearsal."""
    return RehearsedMailbox(
        dry_run=True,
        kind=rehearsal.template.kind,
        template=RehearsedTemplate(rehearsal.template.id, rehearsal.template.name),
        template_source=rehearsal.template_source,
        name=rehearsal.name,
        display_name=rehearsal.display_name,
        address=rehearsal.address,
        owners=tuple(map(_person, rehearsal.owners)),
        approval_required=bool(rehearsal.approvals),
        approvals=tuple(map(_level, rehearsal.approvals)),
        steps=tuple([RehearsedStep(step, title(step)) for step in rehearsal.steps]),
        conflicts=tuple(map(_conflict, rehearsal.conflicts)),
        warnings=rehearsal.warnings,
    )


def _person(person: NamedPerson) -> RehearsedPerson:
    return RehearsedPerson(person.id, person.display_name)


def _level(level: LevelRehearsal) -> RehearsedLevel:
    return RehearsedLevel(level.level, level.mode, tuple(map(_person, level.approvers)))


def _conflict(fault: Fault) -> RehearsalConflict:
    return RehearsalConflict(fault.code, fault.pointer, fault.detail)


EXAMPLE = {
    "dryRun": True,
    "kind": "team",
    "template": {"id": "7e000000-0000-4000-8000-000000000013", "name": "Confidential team"},
    "templateSource": "request",
    "displayName": "CONF-Dry",
    "mailNickname": "conf-dry",
    "address": "conf-dry@estate.example",
    "memberShipType": 0,
    "owners": [{"id": "ada00000-0000-4000-8000-000000000001", "displayName": "Ada Achterberg"}],
    "memberCount": 1,
    "approvalRequired": True,
    "approvals": [
        {
            "level": 1,
            "mode": "any",
            "approvers": [{"id": "da7a0000-0000-4000-8000-000000000004", "displayName": "Dara Lindqvist"}],
        }
    ],
    "steps": [
        {"name": "createGroup", "title": "Create the group"},
        {"name": "createTeam", "title": "Make the group a team"},
        {"name": "createChannels", "title": "Create the channels"},
    ],
    "conflicts": [],
    "warnings": [],
}
MAILBOX_EXAMPLE = {
    "dryRun": True,
    "kind": "room",
    "template": {"id": "7e000000-0000-4000-8000-000000000003", "name": "Room"},
    "templateSource": "default",
    "name": "Zürich",
    "displayName": "Room Zürich",
    "address": "zurich@rooms.estate.example",
    "owners": [],
    "approvalRequired": False,
    "approvals": [],
    "steps": [
        {"name": "createMailbox", "title": "Create the mailbox"},
        {"name": "setBooking", "title": "Accept bookings automatically"},
    ],
    "conflicts": [],
    "warnings": [],
}
