# SPDX-License-Identifier: Apache-2.0
"""A tenant, ordinary templates and what becomes of ordinary orders, for the tables of cases about mailboxes."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.auth.models import ActorType, Caller
from chamberlain.core.ids import ClientId, TemplateId
from chamberlain.directory.mailboxes import MailboxOrder, MailboxProperties, MailboxType, PermissionLevel, RoomEquipment
from chamberlain.mailboxes.rules import MailboxNames, MailboxSituation, domain_of, names_of, situation_of
from chamberlain.templates.models import MailboxTemplate, TemplateHead, TemplateKind
from chamberlain.templates.rules import compile_mailbox_template
from chamberlain.tenants.models import Tenant
from tests.groups.group_values import ADA, BEN, CLEO, REQUEST, TENANT

HOUSE = Tenant(
    id=TENANT,
    revision=1,
    name="Example Estate",
    domains=("estate.example", "rooms.estate.example"),
    administrator_users=frozenset(),
    administrator_groups=frozenset(),
    extension_prefix="chamberlain",
    suspended=False,
)
SHARED = MailboxTemplate(
    head=TemplateHead(
        tenant_id=TENANT,
        id=TemplateId(UUID("7e000000-0000-4000-8000-000000000001")),
        revision=1,
        kind=TemplateKind.SHARED,
        name="Shared mailbox",
        active=True,
    ),
    type=MailboxType.SHARED,
    is_default=True,
    audience=None,
    domain=None,
    address_rule="{input}",
    defaults=MailboxProperties(),
    custom_fields=(),
    approval=None,
)
EQUIPMENT_HEAD = replace(SHARED.head, kind=TemplateKind.EQUIPMENT, name="Equipment")
EQUIPMENT = replace(SHARED, head=EQUIPMENT_HEAD, type=MailboxType.EQUIPMENT)
ROOM_HEAD = replace(SHARED.head, kind=TemplateKind.ROOM, name="Room")
ROOM = replace(SHARED, head=ROOM_HEAD, type=MailboxType.ROOM, domain="rooms.estate.example")
TEMPLATES = {MailboxType.SHARED: SHARED, MailboxType.EQUIPMENT: EQUIPMENT, MailboxType.ROOM: ROOM}

USER = Caller(
    tenant_id=TENANT,
    type=ActorType.USER,
    id=ADA,
    client_id=ClientId("cli"),
    permissions=frozenset(),
    expires_at=datetime(2026, 11, 20, 10, tzinfo=UTC),
)
APPLICATION = replace(USER, type=ActorType.APPLICATION, id=UUID("c11e0000-0000-4000-8000-000000000002"))

ORDER = MailboxOrder("Info Desk", "Information")
# Every property that can be sent, under the name that it has outside.
EVERY_PROPERTY: dict[str, MailboxOrder] = {
    "permissions": replace(ORDER, permissions={BEN: PermissionLevel.FULL_ACCESS}),
    "metadata": replace(ORDER, metadata={"floor": "5", "quiet": True}),
    "metadata.equipmentType": replace(ORDER, metadata={"equipmentType": "projector"}),
    "capacity": replace(ORDER, capacity=12),
    "state": replace(ORDER, state="in use"),
    "streetAddress": replace(ORDER, street_address="1 High Street"),
    "officeLocation": replace(ORDER, office_location="HQ - Floor 5"),
    "companyName": replace(ORDER, company_name="Estate"),
    "postalCode": replace(ORDER, postal_code="8000"),
    "city": replace(ORDER, city="Town"),
    "country": replace(ORDER, country="Switzerland"),
    "phone": replace(ORDER, phone="+41 44 000 00 00"),
    "department": replace(ORDER, department="Sales"),
    "domain": replace(ORDER, domain="estate.example"),
    "audioDeviceName": replace(ORDER, audio_device_name="Speaker"),
    "displayDeviceName": replace(ORDER, display_device_name="Screen"),
    "videoDeviceName": replace(ORDER, video_device_name="Camera"),
    "businessPhones": replace(ORDER, business_phones=("1", "2")),
    "primaryOwner": replace(ORDER, primary_owner=BEN),
    "secondaryOwner": replace(ORDER, secondary_owner=CLEO),
    "automaticReply": replace(ORDER, automatic_reply="Thanks.\nBye."),
    "isAllowAutomaticReplyOverride": replace(ORDER, is_allow_automatic_reply_override=False),
    "isWheelChairAccessible": replace(ORDER, is_wheel_chair_accessible=False),
    "hideFromGAL": replace(ORDER, hide_from_gal=False),
    "autoMapping": replace(ORDER, auto_mapping=False),
    "tags": replace(ORDER, tags=("quiet",)),
    "roomMailboxMetadata": replace(ORDER, room_mailbox_metadata=RoomEquipment()),
    "notes": replace(ORDER, notes="A note."),
    "reason": replace(ORDER, reason="Because."),
    "alias": replace(ORDER, alias="Desk"),
}


def situation(sent: MailboxOrder, template: MailboxTemplate = SHARED, *, caller: Caller = USER) -> MailboxSituation:
    """An order in the ordinary tenant."""
    compiled = compile_mailbox_template(template)
    return situation_of(caller, sent, request_id=REQUEST, tenant=HOUSE, compiled=compiled)


def names_in(it: MailboxSituation) -> MailboxNames:
    """The names that come of it."""
    domain = domain_of(it.order, it.template, it.tenant)
    return names_of(it.order, it.compiled, request_id=it.request_id, domain=domain, properties={})
