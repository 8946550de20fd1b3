# SPDX-License-Identifier: Apache-2.0
"""JSON of group requests, answers and dry runs.

The body is stored with the request.
"""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct, convert, json, to_builtins

from chamberlain.core.fields import Description, Id, Line, Metadata, Name, Shape
from chamberlain.core.ids import TemplateId, UserId
from chamberlain.core.validation import Reader
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.steps import title
from chamberlain.groups.dry_run import GroupDryRun
from chamberlain.groups.models import GroupOrder
from chamberlain.requests.wire import (
    DryRunConflict,
    DryRunLevel,
    DryRunPerson,
    DryRunStep,
    DryRunTemplate,
    RequestWarning,
    _conflict,
    _level,
    _person,
    warning_reasons,
    warning_texts,
)
from chamberlain.templates.models import TemplateKind


class GroupBody(Shape, frozen=True, kw_only=True):
    """A group or team to create. The kind of the template decides."""

    display_name: Name
    template_id: Id
    description: Description | None = None
    # The API spells it so, and "camel" makes just that of it.
    member_ship_type: Annotated[MemberShipType, Meta(description="0 private, 1 public, 2 dynamic")] | None = None
    owners: Annotated[tuple[Id, ...], Meta(max_length=100)] | None = None
    members: Annotated[tuple[Id, ...], Meta(max_length=10_000)] | None = None
    metadata: Metadata | None = None
    label_id: Line | None = None


GROUP = Reader(GroupBody)
_UserIds = tuple[UserId, ...]


def to_group_order(body: GroupBody) -> GroupOrder:
    """Convert a body to an order."""
    return GroupOrder(
        display_name=body.display_name,
        template_id=TemplateId(convert(body.template_id, UUID)),
        description=body.description,
        member_ship_type=body.member_ship_type,
        owners=_users(body.owners),
        members=_users(body.members),
        metadata=body.metadata,
        label_id=body.label_id,
    )


def read_group_order(body: bytes) -> GroupOrder:
    """Parse the order in a stored body."""
    return to_group_order(GROUP.read_stored(body))


def write_group_order(order: GroupOrder) -> bytes:
    """Serialize an order as a stored body, without absent properties."""
    body = GroupBody(
        display_name=order.display_name,
        template_id=str(order.template_id),
        description=order.description,
        member_ship_type=order.member_ship_type,
        owners=tuple(map(str, order.owners)) or None,
        members=tuple(map(str, order.members)) or None,
        metadata=None if order.metadata is None else dict(order.metadata),
        label_id=order.label_id,
    )
    return json.encode({name: value for name, value in to_builtins(body).items() if value is not None})


def _users(ids: tuple[str, ...] | None) -> tuple[UserId, ...]:
    # One call of the decoder is several times faster than one for each id.
    return convert(ids, _UserIds) if ids else ()


class AcceptedGroup(Struct, rename="camel", frozen=True):
    """A group request that is queued durably.

    `requestId` identifies it here and in the directory.
    """

    request_id: UUID
    tenant_id: UUID
    approval_required: bool


class Group(Struct, rename="camel", frozen=True):
    """A group or team in the directory."""

    id: UUID
    display_name: str
    mail: str | None


class CreatedGroup(Struct, rename="camel", frozen=True):
    """A group request with the group that it created."""

    request_id: UUID
    tenant_id: UUID
    approval_required: bool
    group: Group


class DryRunGroup(Struct, rename="camel", frozen=True):
    """The result of a dry run.

    Zeros replace a number or digits of a requestId; `warnings` say so.
    """

    dry_run: bool
    kind: TemplateKind
    template: DryRunTemplate
    template_source: Annotated[str, Meta(description="`request`: the template is the one that was sent")]
    display_name: str
    mail_nickname: str
    address: str
    member_ship_type: Annotated[MemberShipType, Meta(description="0 private, 1 public, 2 dynamic")]
    owners: tuple[DryRunPerson, ...]
    member_count: Annotated[int | None, Meta(description="null where a rule decides who is a member")]
    approval_required: bool
    approvals: tuple[DryRunLevel, ...]
    steps: tuple[DryRunStep, ...]
    conflicts: tuple[DryRunConflict, ...]
    warnings: tuple[str, ...]
    warning_reasons: tuple[RequestWarning, ...]


def dry_run_group(dry_run: GroupDryRun) -> DryRunGroup:
    """Encode a dry run."""
    return DryRunGroup(
        dry_run=True,
        kind=dry_run.template.kind,
        template=DryRunTemplate(dry_run.template.id, dry_run.template.name),
        template_source="request",
        display_name=dry_run.display_name,
        mail_nickname=dry_run.mail_nickname,
        address=dry_run.address,
        member_ship_type=dry_run.member_ship_type,
        owners=tuple(map(_person, dry_run.owners)),
        member_count=dry_run.member_count,
        approval_required=bool(dry_run.approvals),
        approvals=tuple(map(_level, dry_run.approvals)),
        steps=tuple([DryRunStep(step, title(step)) for step in dry_run.steps]),
        conflicts=tuple(map(_conflict, dry_run.conflicts)),
        warnings=warning_texts(dry_run.warnings),
        warning_reasons=warning_reasons(dry_run.warnings),
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
    "warningReasons": [],
}
