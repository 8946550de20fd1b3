# SPDX-License-Identifier: Apache-2.0
"""Observed mailboxes and groups for the rules of adoptions."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import TypedDict, Unpack
from uuid import UUID

from chamberlain.adoptions.models import AdoptionFilter, AdoptionRule, Candidate
from chamberlain.core.ids import GroupId, RequestId, TemplateId, TenantId, UserId
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.mailboxes import AddressFields, MailboxType, ObservedMailbox, PermissionLevel, Place
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.subjects.models import SubjectEntry
from chamberlain.templates.models import TemplateHead, TemplateKind

TENANT = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
TEMPLATE = TemplateId(UUID("7e000000-0000-4000-8000-000000000001"))
ADA = UserId(UUID("ada00000-0000-4000-8000-000000000001"))
BEN = UserId(UUID("be000000-0000-4000-8000-000000000002"))
CLEO = UserId(UUID("c1e00000-0000-4000-8000-000000000003"))
HEAD = TemplateHead(TENANT, TEMPLATE, 1, TemplateKind.SHARED, "Shared", active=True)
RULE = AdoptionRule(TemplateKind.SHARED, TEMPLATE, AdoptionFilter())
MOMENT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


class MailboxChanges(TypedDict, total=False):
    type: MailboxType
    mail: str
    aliases: tuple[str, ...]
    address_fields: AddressFields
    place: Place
    books_automatically: bool
    automatic_reply: str
    quota_megabytes: int
    capacity: int
    is_hidden: bool
    permissions: dict[UserId, PermissionLevel]
    auto_mapped: frozenset[UserId]
    owners: tuple[UserId, ...]
    marks: dict[str, str]


class GroupChanges(TypedDict, total=False):
    mail: str | None
    is_team: bool
    member_ship_type: MemberShipType
    request_id: RequestId


def observed(number: int = 1, **changes: Unpack[MailboxChanges]) -> ObservedMailbox:
    """A shared mailbox that was created outside of the service."""
    mailbox = ObservedMailbox(
        id=UUID(int=number),
        type=MailboxType.SHARED,
        name=f"Harbour {number}",
        display_name=f"The harbour {number}",
        mail=f"harbour-{number}@estate.example",
        aliases=(),
        address_fields=AddressFields(),
        place=None,
        books_automatically=False,
        automatic_reply=None,
        quota_megabytes=None,
        capacity=None,
        is_hidden=False,
        permissions={},
        auto_mapped=frozenset(),
        owners=(),
        marks={},
    )
    return replace(mailbox, **changes)


def entry(number: int = 1, **changes: Unpack[GroupChanges]) -> SubjectEntry:
    """A group that was created outside of the service."""
    group = SubjectEntry(
        tenant_id=TENANT,
        id=GroupId(UUID(int=number)),
        type=SubjectType.GROUP,
        display_name=f"Crew {number}",
        mail=f"crew-{number}@estate.example",
        is_team=False,
        member_ship_type=MemberShipType.PRIVATE,
        request_id=None,
        site_url=None,
        sharing=None,
        observed_at=MOMENT,
    )
    return replace(group, **changes)


def candidate(number: int, *, held: tuple[tuple[str, str], ...] = ()) -> Candidate:
    """A candidate without a conflict."""
    return Candidate(UUID(int=number), f"Harbour {number}", f"harbour-{number}@estate.example", held)
