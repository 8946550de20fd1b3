"""JSON of dry runs of groups and teams."""

from typing import Annotated

from msgspec import Meta, Struct

from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.steps import title
from chamberlain.groups.dry_run import GroupDryRun
from chamberlain.requests.wire import (
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


class RehearsedGroup(Struct, rename="camel", frozen=True):
    """The result of a dry run. Zeros replace a number or digits of a requestId; `warnings` say so."""

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


def rehearsed_group(rehearsal: GroupDryRun) -> RehearsedGroup:
    """Encode a dry run."""
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
