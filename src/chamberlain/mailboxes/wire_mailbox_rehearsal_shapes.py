"""Dry runs of mailboxes as they are sent."""

from msgspec import Struct

from chamberlain.directory.mailboxes import TemplateSource
from chamberlain.directory.steps import title
from chamberlain.mailboxes.dry_run import MailboxRehearsal
from chamberlain.requests.dry_run_rehearsal_shapes import (
    RehearsalConflict,
    RehearsedLevel,
    RehearsedPerson,
    RehearsedStep,
    RehearsedTemplate,
    _conflict,
    _level,
    _person,
)
from chamberlain.templates.models import TemplateKind


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
