# SPDX-License-Identifier: Apache-2.0
"""Rules of adopted groups and mailboxes: candidates, conflicts and records."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from chamberlain.adoptions.models import ALREADY_MANAGED, AdoptionConflict, Candidate, not_representable, type_differs
from chamberlain.core.ids import TemplateId, UserId
from chamberlain.directory.groups import MemberShipType, ObservedGroup
from chamberlain.directory.mailboxes import (
    MailboxOrder,
    MailboxType,
    ObservedMailbox,
    PermissionLevel,
    Place,
    RoomEquipment,
    is_done,
    plan_mailbox,
)
from chamberlain.directory.steps import Step
from chamberlain.groups.models import GroupOrder
from chamberlain.guests.subjects.models import SubjectEntry
from chamberlain.mailboxes.models import alias_of, wanted_mailbox
from chamberlain.mailboxes.rules import comparison_form
from chamberlain.requests.approvals import NO_REQUEST
from chamberlain.templates.models import GroupTemplate, MailboxTemplate, TemplateKind
from chamberlain.tenants.models import Tenant

# A body names at most so many owners (docs/reference/api.md).
MOST_OWNERS = 100


@dataclass(frozen=True, slots=True)
class AdoptedGroup:
    """The order that would have created the group, and its requesting owner."""

    order: GroupOrder
    owner: UserId


def group_candidate(entry: SubjectEntry, template: GroupTemplate) -> Candidate:
    """Build the candidate of a group.

    Its owners and values are read during the adoption. So `differences` are all steps of the template.
    """
    conflict = _group_conflict(entry, template)
    return Candidate(
        id=entry.id,
        display_name=entry.display_name,
        mail=entry.mail,
        held=() if entry.mail is None else (("address", entry.mail.lower()),),
        conflict=conflict,
        differences=() if conflict else tuple(_requested_steps(entry, template)),
    )


def adopted_group(
    observed: ObservedGroup, kind: TemplateKind, template_id: TemplateId, member_ship_type: MemberShipType
) -> AdoptedGroup | AdoptionConflict:
    """Build the record of a group.

    Its members are not recorded, because they change independently.
    """
    is_team = observed.channels is not None
    if is_team is not (kind is TemplateKind.TEAM):
        return type_differs(kind, "team" if is_team else "group")
    if not observed.owners:
        detail = "It has no owner, and managed groups need one. Add an owner in the directory, and adopt it then."
        return AdoptionConflict("noOwner", detail)
    owners = sorted(observed.owners)[:MOST_OWNERS]
    order = GroupOrder(
        display_name=observed.display_name,
        template_id=template_id,
        member_ship_type=member_ship_type,
        owners=tuple(owners),
        label_id=observed.label_id,
    )
    return AdoptedGroup(order, owners[0])


def _group_conflict(entry: SubjectEntry, template: GroupTemplate) -> AdoptionConflict | None:
    if entry.request_id is not None:
        return ALREADY_MANAGED
    if entry.is_team is not (template.head.kind is TemplateKind.TEAM):
        return type_differs(template.head.kind, "team" if entry.is_team else "group")
    if entry.mail is None:
        return AdoptionConflict("noAddress", "It has no mail address, and managed groups need one.")
    if not _allows_membership(entry.member_ship_type, template):
        detail = "Its memberShipType differs from that of the template."
        return AdoptionConflict("memberShipTypeDiffers", f"{detail} Use a template that has this memberShipType.")
    return None


def _requested_steps(entry: SubjectEntry, template: GroupTemplate) -> Iterator[Step]:
    if template.owners:
        yield Step.ADD_OWNERS
    if template.members and entry.member_ship_type is not MemberShipType.DYNAMIC:
        yield Step.ADD_MEMBERS
    if template.label_id is not None:
        yield Step.SET_LABEL
    if entry.is_team and template.channels:
        yield Step.CREATE_CHANNELS


def _allows_membership(shown: MemberShipType, template: GroupTemplate) -> bool:
    if shown is MemberShipType.DYNAMIC and template.membership_rule is None:
        return False
    return shown == template.member_ship_type or template.member_ship_type_changeable


# A record has a primary owner and a secondary one.
MOST_MAILBOX_OWNERS = 2


def mailbox_candidate(
    observed: ObservedMailbox, template: MailboxTemplate, tenant: Tenant, *, unwritable: str | None
) -> Candidate:
    """Build the candidate of a mailbox.

    `unwritable` is the reason that no record can represent it.
    """
    order = mailbox_order(observed, template.head.id)
    conflict = _mailbox_conflict(observed, template, tenant, unwritable)
    return Candidate(
        id=observed.id,
        display_name=observed.display_name,
        mail=observed.mail,
        held=unique_values(order, observed),
        conflict=conflict,
        differences=() if conflict else _differences(order, observed, template, tenant),
    )


def conflict_of_marked(
    observed: ObservedMailbox, template: MailboxTemplate, tenant: Tenant, *, unwritable: str | None
) -> AdoptionConflict | None:
    """Return a new conflict of a marked object, or None."""
    return _mailbox_conflict(replace(observed, marks={}), template, tenant, unwritable)


def mailbox_order(observed: ObservedMailbox, template_id: TemplateId) -> MailboxOrder:
    """Build the order that would have created the mailbox.

    Missing values come from the template.
    """
    fields, place, owners = observed.address_fields, observed.place or Place(), observed.owners
    is_room, is_shared = observed.type is MailboxType.ROOM, observed.type is MailboxType.SHARED
    return MailboxOrder(
        name=observed.name,
        display_name=observed.display_name,
        template_id=template_id,
        alias=_alias(observed) if is_shared else None,
        permissions=dict(observed.permissions),
        capacity=_capacity(observed),
        street_address=fields.street_address,
        office_location=fields.office_location if is_room else None,
        company_name=fields.company_name,
        postal_code=fields.postal_code,
        city=fields.city,
        country=fields.country,
        phone=fields.phone,
        department=fields.department,
        business_phones=fields.business_phones or None,
        notes=fields.notes,
        audio_device_name=place.audio_device_name,
        display_device_name=place.display_device_name,
        video_device_name=place.video_device_name,
        is_wheel_chair_accessible=place.is_wheel_chair_accessible,
        tags=place.tags or None,
        room_mailbox_metadata=None if place.equipment == RoomEquipment() else place.equipment,
        primary_owner=owners[0] if owners else None,
        secondary_owner=owners[1] if len(owners) > 1 else None,
        automatic_reply=observed.automatic_reply or None,
        hide_from_gal=observed.is_hidden,
        auto_mapping=_auto_mapping(observed) if is_shared else None,
    )


def unique_values(order: MailboxOrder, observed: ObservedMailbox) -> tuple[tuple[str, str], ...]:
    """Return the unique values: the valid addresses and the normalized name."""
    alias = alias_of(order, observed.type, _domain(observed))
    addresses = dict.fromkeys([each for each in (observed.mail.lower(), alias) if each])
    return (*[("address", each) for each in addresses], ("name", comparison_form(observed.name)))


def _mailbox_conflict(
    observed: ObservedMailbox, template: MailboxTemplate, tenant: Tenant, unwritable: str | None
) -> AdoptionConflict | None:
    if "requestId" in observed.marks:
        return ALREADY_MANAGED
    if observed.type is not template.type:
        return type_differs(template.head.kind, f"mailbox of type {observed.type}")
    if _domain(observed) not in tenant.domains:
        detail = f"Its address {observed.mail} is not in a verified domain of the tenant."
        return AdoptionConflict("domainNotVerified", detail)
    if len(observed.owners) > MOST_MAILBOX_OWNERS:
        detail = f"It has {len(observed.owners)} owners, and a record holds {MOST_MAILBOX_OWNERS}. Remove the others."
        return AdoptionConflict("tooManyOwners", detail)
    if unwritable is not None:
        return not_representable(unwritable)
    return None


def _differences(
    order: MailboxOrder, observed: ObservedMailbox, template: MailboxTemplate, tenant: Tenant
) -> tuple[Step, ...]:
    prefix = tenant.extension_prefix
    wanted = wanted_mailbox(order, template, request_id=NO_REQUEST, mail=observed.mail, prefix=prefix)
    return tuple([step for step in plan_mailbox(wanted, people_checked=True) if not is_done(step, wanted, observed)])


def _domain(observed: ObservedMailbox) -> str:
    return observed.mail.rpartition("@")[2].lower()


def _alias(observed: ObservedMailbox) -> str | None:
    """Return the first alias that a record can hold.

    It is in its own domain and in our alphabet.
    """
    for address in observed.aliases:
        local, _, domain = address.lower().rpartition("@")
        if domain == _domain(observed) and _ALIAS.fullmatch(local) and len(local) <= MOST_OF_A_LOCAL_PART:
            return local
    return None


def _capacity(observed: ObservedMailbox) -> int | None:
    match observed.type:
        case MailboxType.SHARED:
            return observed.quota_megabytes
        case MailboxType.EQUIPMENT:
            return observed.capacity
        case MailboxType.ROOM:
            return None if observed.place is None else observed.place.capacity


def _auto_mapping(observed: ObservedMailbox) -> bool | None:
    """Return the automatic mapping of most users.

    None means that no user has full access, or that the directory does not report the mapping.
    """
    full = [user for user, level in observed.permissions.items() if level is PermissionLevel.FULL_ACCESS]
    return None if observed.auto_mapped is None or not full else not observed.auto_mapped.isdisjoint(full)


# RFC 5321, 4.5.3.1.1.
MOST_OF_A_LOCAL_PART = 64
_ALIAS = re.compile(r"(?!.*\.\.)[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?")
