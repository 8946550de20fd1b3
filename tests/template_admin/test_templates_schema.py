# SPDX-License-Identifier: Apache-2.0
"""The schema of a template, and every fault of an invalid one."""

from base64 import b64encode
from typing import Any
from uuid import UUID

import msgspec
import pytest

from chamberlain.app.clock_and_ids import new_webhook_secret
from chamberlain.core.errors import BodyInvalid, Fault
from chamberlain.core.ids import TenantId, UserId
from chamberlain.requests.models import ApprovalMode, Approver, ApproverType
from chamberlain.template_admin.documents import COLLAB_TEMPLATE, read_template, template_faults
from chamberlain.templates.models import Audience, CustomField, FieldType, TemplateKind
from chamberlain.templates.rules import compile_group_template
from chamberlain.templates.schema import GroupTemplateShape, GuestTemplateShape, MailboxTemplateShape, to_group_template
from chamberlain.templates.webhook import WebhookShape

TENANT = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
DARA = "da7a0000-0000-4000-8000-000000000004"
ADA = "ada00000-0000-4000-8000-000000000001"
CHOICES = [{"value": "internal", "label": "Internal"}]
APPROVERS = [{"type": "user", "id": DARA}]
APPROVED_TWICE = "/approval/levels/0/approvers/1"

# The three examples of the documentation, as GET gives them. Any: JSON that tests bend out of shape.
TEAM: dict[str, Any] = {
    "id": "7e000000-0000-4000-8000-000000000013",
    "kind": "team",
    "name": "Confidential team",
    "description": "",
    "active": True,
    "audience": None,
    "naming": {"displayName": "CONF-{input}", "mailNickname": "conf-{input}"},
    "memberShipType": 0,
    "memberShipTypeChangeable": True,
    "membershipRule": None,
    "owners": [],
    "members": [],
    "minimumOwners": 1,
    "customFields": [{"key": "el-text-1", "label": "Customer", "type": "text", "required": False}],
    "labelId": None,
    "channels": ["General", "Planning"],
    "guestTemplateId": None,
    "guestPolicyId": None,
    "approval": {"levels": [{"mode": "any", "approvers": [{"type": "user", "id": DARA}]}], "deadlineDays": 14},
    "webhook": {
        "url": "https://hooks.estate.example/chamberlain",
        "active": True,
        "hasSecret": True,
        "disabledReason": None,
    },
    "createdAt": "2026-11-20T09:00:00.000Z",
    "createdBy": {"type": "system", "id": None, "displayName": "Example estate"},
    "updatedAt": "2026-11-20T09:00:00.000Z",
}
ROOM: dict[str, Any] = {
    "id": "7e000000-0000-4000-8000-000000000003",
    "kind": "room",
    "name": "Room",
    "description": "Meeting rooms",
    "active": True,
    "isDefault": True,
    "audience": {"users": [], "groups": ["94000000-0000-4000-8000-000000000001"]},
    "domain": "rooms.estate.example",
    "naming": {"address": "{input}"},
    "defaults": {"hideFromGAL": False, "country": "Switzerland"},
    "customFields": [],
    "approval": None,
    "webhook": None,
}
GUEST: dict[str, Any] = {
    "id": "7e000000-0000-4000-8000-000000000022",
    "kind": "guest",
    "name": "Partners",
    "description": "",
    "active": True,
    "guests": {
        "allowed": True,
        "addedBy": "owners",
        "allowedDomains": ["partner.example"],
        "blockedDomains": [],
    },
    "presentGuests": "keep",
    "sharingCapability": "existingGuests",
}


def _team(value: object) -> GroupTemplateShape:
    shape = read_template(value)
    assert isinstance(shape, GroupTemplateShape)
    return shape


def _refused(value: object) -> tuple[Fault, ...]:
    with pytest.raises(BodyInvalid) as caught:
        read_template(value)
    return caught.value.faults


def test_it_works_for_a_team() -> None:
    shape = _team(TEAM)

    template = to_group_template(shape, tenant_id=TENANT, revision=3)

    assert (template.head.tenant_id, template.head.revision, template.head.kind) == (TENANT, 3, TemplateKind.TEAM)
    assert (template.head.name, template.head.active) == ("Confidential team", True)
    assert (template.display_name_rule, template.mail_nickname_rule) == ("CONF-{input}", "conf-{input}")
    assert template.channels == ("General", "Planning")
    assert template.custom_fields[0].key == "el-text-1"
    assert template.approval is not None
    assert template.approval.deadline_days == 14
    assert template.approval.levels[0].mode is ApprovalMode.ANY
    assert template.approval.levels[0].approvers == (Approver(ApproverType.USER, UUID(DARA)),)
    assert list(template_faults(shape)) == []
    assert compile_group_template(template).mail_nickname is not None


def test_it_works_for_a_mailbox_and_for_guests() -> None:
    room, guest = read_template(ROOM), read_template(GUEST)

    assert isinstance(room, MailboxTemplateShape)
    assert isinstance(guest, GuestTemplateShape)
    assert (room.defaults.hide_from_gal, room.defaults.country, room.is_default) == (False, "Switzerland", True)
    assert guest.guests.allowed_domains == ("partner.example",)
    assert [*template_faults(room), *template_faults(guest)] == []


@pytest.mark.parametrize("sent", [TEAM, ROOM, GUEST])
def test_it_is_stored_and_given_back_as_documented(sent: dict[str, Any]) -> None:
    shape = read_template(sent)
    stored = msgspec.json.encode(shape)

    again = msgspec.json.decode(stored, type=type(shape))
    shown = msgspec.json.decode(stored)

    assert again == shape
    added = {"createdAt", "createdBy", "updatedAt"}
    assert shown.keys() == sent.keys() - added
    assert {name: shown[name] for name in shown if name not in {"webhook", "customFields"}} == {
        name: sent[name] for name in shown if name not in {"webhook", "customFields"}
    }


def test_the_rules_get_all_that_a_group_template_says() -> None:
    rich = TEAM | {
        "audience": {"users": [DARA], "groups": []},
        "memberShipType": 2,
        "membershipRule": 'user.department -eq "Sales"',
        "channels": [],
        "webhook": None,
        "guestPolicyId": "90110000-0000-4000-8000-000000000001",
        "approval": {
            "levels": [
                {"mode": "all", "approvers": [{"type": "manager"}, {"type": "group", "id": DARA}]},
                {"mode": "any", "approvers": [{"type": "user", "id": DARA}]},
            ]
        },
        "customFields": [
            {"key": "a", "label": "A", "type": "choice", "choices": [{"value": "x", "label": "x"}], "required": True}
        ],
    }
    shape = _team(rich)

    template = to_group_template(shape, tenant_id=TENANT, revision=1)

    assert template.audience == Audience(users=frozenset({UserId(UUID(DARA))}), groups=frozenset())
    assert (template.member_ship_type, template.membership_rule) == (2, 'user.department -eq "Sales"')
    assert template.guest_policy_id == UUID("90110000-0000-4000-8000-000000000001")
    assert template.custom_fields == (CustomField("a", "A", FieldType.CHOICE, required=True, choices=("x",)),)
    assert template.approval is not None
    assert [(level.mode, level.approvers) for level in template.approval.levels] == [
        (ApprovalMode.ALL, (Approver(ApproverType.MANAGER, None), Approver(ApproverType.GROUP, UUID(DARA)))),
        (ApprovalMode.ANY, (Approver(ApproverType.USER, UUID(DARA)),)),
    ]


def test_it_takes_null_as_not_sent() -> None:
    shape = _team({"id": DARA.upper(), "kind": "group", "name": "G", "description": None, "minimumOwners": None})

    assert (shape.description, shape.minimum_owners, shape.naming.display_name) == ("", 1, "{input}")
    assert (shape.member_ship_type, shape.member_ship_type_changeable) == (0, True)
    assert shape.id == UUID(DARA)


def test_it_rejects_all_faults_at_once() -> None:
    sent = TEAM | {
        "id": "7e00",
        "name": "  ",
        "descripton": "x",
        "memberShipType": True,
        "minimumOwners": 0,
        "owners": [DARA, DARA.replace("-", "")],
        "channels": ["a\u0000b"],
        "approval": {"levels": [{"mode": "most", "approvers": [{"type": "boss"}, {"id": DARA}]}]},
        "customFields": [{"key": "k", "label": "L", "type": "text", "required": "yes"}],
        "webhook": {"url": "ftp://x"},
    }

    found = {(fault.pointer, fault.code) for fault in _refused(sent)}

    assert found == {
        ("/id", "malformedId"),
        ("/name", "missingProperty"),
        ("/descripton", "unknownProperty"),
        ("/memberShipType", "wrongType"),
        ("/minimumOwners", "outOfBounds"),
        ("/owners/1", "malformedId"),
        ("/channels/0", "invalidText"),
        ("/approval/levels/0/mode", "unknownValue"),
        ("/approval/levels/0/approvers/0/type", "unknownValue"),
        ("/approval/levels/0/approvers/1/type", "missingProperty"),
        ("/customFields/0/required", "wrongType"),
        ("/webhook/url", "invalidText"),
    }


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"kind": "list"}, "/kind", "unknownValue"),
        ({"kind": None}, "/kind", "missingProperty"),
        ({"name": None}, "/name", "missingProperty"),
        ({"name": 7}, "/name", "wrongType"),
        ({"name": "x" * 257}, "/name", "outOfBounds"),
        ({"name": "two\nlines"}, "/name", "invalidText"),
        ({"name": "line break\n"}, "/name", "invalidText"),
        ({"description": "bell\u0007"}, "/description", "invalidText"),
        ({"active": "true"}, "/active", "wrongType"),
        ({"minimumOwners": 1.5}, "/minimumOwners", "wrongType"),
        ({"memberShipType": 3}, "/memberShipType", "unknownValue"),
        ({"owners": DARA}, "/owners", "wrongType"),
        ({"owners": [DARA] * 101}, "/owners", "outOfBounds"),
        ({"audience": []}, "/audience", "wrongType"),
        ({"approval": {"levels": []}}, "/approval/levels", "outOfBounds"),
        ({"approval": {"levels": ["any"]}}, "/approval/levels/0", "wrongType"),
        ({"approval": TEAM["approval"] | {"deadlineDays": 0}}, "/approval/deadlineDays", "outOfBounds"),
        ({"approval": TEAM["approval"] | {"deadlineDays": 366}}, "/approval/deadlineDays", "outOfBounds"),
        ({"webhook": {"url": "https://h.example/", "secret": "x"}}, "/webhook/secret", "unknownProperty"),
        ({"webhook": {"url": "https://u:p@h.example/"}}, "/webhook/url", "invalidText"),
    ],
)
def test_it_rejects_a_template_of_another_shape(change: dict[str, Any], pointer: str, code: str) -> None:
    faults = _refused(TEAM | change)

    assert [(fault.pointer, fault.code) for fault in faults] == [(pointer, code)]


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"defaults": {"hideFromGal": True}}, "/defaults/hideFromGal", "unknownProperty"),
        ({"defaults": {"capacity": -1}}, "/defaults/capacity", "outOfBounds"),
        ({"defaults": {"permissions": {"ada": "SendAs"}}}, "/defaults/permissions/ada", "malformedId"),
        ({"defaults": {"permissions": {DARA: "Owner"}}}, f"/defaults/permissions/{DARA}", "unknownValue"),
        ({"defaults": {"metadata": {"a": None}}}, "/defaults/metadata/a", "wrongType"),
        ({"defaults": {"metadata": {"a/b": 1}}}, "/defaults/metadata/a~1b", "wrongType"),
        ({"domain": "not a domain"}, "/domain", "invalidText"),
    ],
)
def test_it_rejects_a_mailbox_template_of_another_shape(change: dict[str, Any], pointer: str, code: str) -> None:
    faults = _refused(ROOM | change)

    assert [(fault.pointer, fault.code) for fault in faults] == [(pointer, code)]


def test_it_names_the_nearest_property_and_the_possible_values() -> None:
    details = [fault.detail for fault in _refused(GUEST | {"sharingCapabilty": "x", "presentGuests": "stay"})]

    assert details == [
        "presentGuests must be one of keep, remove.",
        "There is no property sharingCapabilty. Did you mean sharingCapability?",
    ]


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"naming": {"displayName": "CONF"}}, "/naming/displayName", "ruleInvalid"),
        ({"naming": {"mailNickname": "{input}{input}"}}, "/naming/mailNickname", "ruleInvalid"),
        ({"kind": "group"}, "/channels", "propertyNotApplicable"),
        ({"memberShipType": 2}, "/membershipRule", "dynamicRuleMissing"),
        ({"memberShipType": 2, "membershipRule": "x", "members": [DARA]}, "/members", "membersOfDynamicGroup"),
        (
            {"customFields": [{"key": "k", "label": "A", "type": "text"}, {"key": "k", "label": "B", "type": "user"}]},
            "/customFields/1/key",
            "ruleInvalid",
        ),
        ({"customFields": [{"key": "k", "label": "A", "type": "choice"}]}, "/customFields/0/choices", "ruleInvalid"),
        (
            {
                "customFields": [
                    {"key": "k", "label": "A", "type": "text", "choices": [{"value": "v", "label": "V"}]},
                ]
            },
            "/customFields/0/choices",
            "ruleInvalid",
        ),
        (
            {"customFields": [{"key": "k", "label": "A", "type": "choice", "choices": [*CHOICES, *CHOICES]}]},
            "/customFields/0/choices/1/value",
            "ruleInvalid",
        ),
        ({"owners": [DARA, DARA.upper()]}, "/owners/1", "ruleInvalid"),
        ({"members": [DARA, ADA, DARA]}, "/members/2", "ruleInvalid"),
        ({"audience": {"users": [DARA, DARA]}}, "/audience/users/1", "ruleInvalid"),
        ({"audience": {"groups": [DARA, DARA]}}, "/audience/groups/1", "ruleInvalid"),
        ({"channels": ["General", "Planning", "general"]}, "/channels/2", "ruleInvalid"),
        (
            {"approval": {"levels": [{"mode": "all", "approvers": [{"type": "manager"}, *APPROVERS, *APPROVERS]}]}},
            "/approval/levels/0/approvers/2",
            "ruleInvalid",
        ),
    ],
)
def test_it_finds_what_a_well_formed_template_cannot_do(change: dict[str, Any], pointer: str, code: str) -> None:
    faults = list(template_faults(_team(TEAM | change)))

    assert [(fault.pointer, fault.code) for fault in faults] == [(pointer, code)]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (ROOM | {"audience": {"groups": [DARA, ADA, ADA]}}, "/audience/groups/2"),
        (ROOM | {"approval": {"levels": [{"mode": "any", "approvers": [*APPROVERS, *APPROVERS]}]}}, APPROVED_TWICE),
        (
            GUEST | {"guests": {"allowed": True, "allowedDomains": ["a.example", "A.example"]}},
            "/guests/allowedDomains/1",
        ),
        (
            GUEST | {"guests": {"allowed": True, "blockedDomains": ["a.example", "a.example"]}},
            "/guests/blockedDomains/1",
        ),
    ],
)
def test_it_finds_what_other_templates_say_twice(body: dict[str, Any], pointer: str) -> None:
    faults = list(template_faults(read_template(body)))

    assert [(fault.pointer, fault.code) for fault in faults] == [(pointer, "ruleInvalid")]
    assert "Leave one of the two out." in faults[0].detail


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example",
        "HTTPS://Hooks.example/A?b=c",
        "http://127.0.0.1:1/",
        "https://[::1]:65535/x",
        "https://hooks.example:65535",
    ],
)
def test_it_keeps_the_address_of_a_webhook_as_it_is_sent(url: str) -> None:
    assert _team(TEAM | {"webhook": {"url": url}}).webhook == WebhookShape(url=url)


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example:65536",
        "https://hooks.example:99999/",
        "https://hooks.example:0/",
        "https://hooks.example:x/",
        "https://hooks.example:80:80/",
        "https:///x",
        "httpx://hooks.example/",
    ],
)
def test_it_rejects_an_address_that_cannot_be_called(url: str) -> None:
    faults = _refused(TEAM | {"webhook": {"url": url}})

    assert [(fault.pointer, fault.code) for fault in faults] == [("/webhook/url", "invalidText")]


@pytest.mark.parametrize(("size", "is_right"), [(23, False), (24, True), (32, True), (64, True), (65, False)])
def test_a_secret_has_24_to_64_bytes(size: int, *, is_right: bool) -> None:
    secret = f"whsec_{b64encode(bytes(size)).decode()}"
    body = msgspec.json.encode({"kind": "team", "name": "T", "webhook": {"url": "https://x/", "secret": secret}})

    try:
        COLLAB_TEMPLATE.read(body)
        faults = []
    except BodyInvalid as error:
        faults = [(fault.pointer, fault.code) for fault in error.faults]

    assert ([] if is_right else ["/webhook/secret"]) == sorted({pointer for pointer, _ in faults})


def test_a_secret_of_the_service_is_one_that_could_be_sent() -> None:
    body = {"kind": "team", "name": "T", "webhook": {"url": "https://x/", "secret": new_webhook_secret()}}

    COLLAB_TEMPLATE.read(msgspec.json.encode(body))
