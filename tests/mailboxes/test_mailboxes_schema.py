# SPDX-License-Identifier: Apache-2.0
"""The body of a mailbox creation, its bounds on both sides, and a template's defaults, which have the same ones."""

from collections.abc import Mapping
from typing import cast
from uuid import UUID

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import inspect

from chamberlain.core.errors import BodyInvalid
from chamberlain.core.ids import TemplateId, TenantId, UserId
from chamberlain.core.validation import list_faults
from chamberlain.directory.mailboxes import MailboxOrder, MailboxProperties, MailboxType, PermissionLevel, RoomEquipment
from chamberlain.mailboxes.wire import MAILBOX, MailboxBody, read_mailbox_order, write_mailbox_order
from chamberlain.template_admin.documents import read_template
from chamberlain.templates.models import Audience
from chamberlain.templates.schema import (
    MailboxDefaultsShape,
    MailboxTemplateShape,
    mailbox_template_faults,
    to_mailbox_template,
)

TEMPLATE = "7e000000-0000-4000-8000-000000000001"
ADA = "ada00000-0000-4000-8000-000000000001"
BEN = "be000000-0000-4000-8000-000000000002"
GOOD: dict[str, object] = {"name": "Info", "displayName": "Information"}
WHOLE: dict[str, object] = GOOD | {
    "templateId": TEMPLATE,
    "permissions": {ADA: "None", BEN: "SendAs", TEMPLATE: "FullAccess"},
    "metadata": {"equipmentType": "projector", "el-text-1": "x", "quiet": True},
    "capacity": 12,
    "state": "in use",
    "streetAddress": "1 High Street",
    "officeLocation": "HQ - Floor 5",
    "companyName": "Estate",
    "postalCode": "8000",
    "city": "Town",
    "country": "Switzerland",
    "phone": "+41 44 000 00 00",
    "department": "Sales",
    "domain": "estate.example",
    "audioDeviceName": "Speaker",
    "displayDeviceName": "Screen",
    "videoDeviceName": "Camera",
    "businessPhones": ["1", "2"],
    "primaryOwner": ADA,
    "secondaryOwner": BEN,
    "automaticReply": "Thanks.\r\n\tBye.",
    "isAllowAutomaticReplyOverride": True,
    "isWheelChairAccessible": False,
    "hideFromGAL": True,
    "autoMapping": False,
    "tags": ["quiet", "small"],
    "roomMailboxMetadata": {"hasConferencePhone": True, "hasWhiteboard": False, "hasVideoConferencing": True},
    "notes": "A\nnote.",
    "reason": "Because.",
    "alias": "info.desk+a",
}


def faults_of(body: object) -> list[tuple[str, str]]:
    with pytest.raises(BodyInvalid) as caught:
        MAILBOX.read(msgspec.json.encode(body))
    return [(fault.pointer, fault.code) for fault in caught.value.faults]


def read_back(body: object) -> object:
    return msgspec.json.decode(write_mailbox_order(read_mailbox_order(msgspec.json.encode(body))))


def test_it_works() -> None:
    order = read_mailbox_order(msgspec.json.encode(WHOLE))

    assert order == MailboxOrder(
        "Info",
        "Information",
        TemplateId(UUID(TEMPLATE)),
        "info.desk+a",
        permissions={
            UserId(UUID(ADA)): PermissionLevel.NONE,
            UserId(UUID(BEN)): PermissionLevel.SEND_AS,
            UserId(UUID(TEMPLATE)): PermissionLevel.FULL_ACCESS,
        },
        metadata={"equipmentType": "projector", "el-text-1": "x", "quiet": True},
        capacity=12,
        state="in use",
        street_address="1 High Street",
        office_location="HQ - Floor 5",
        company_name="Estate",
        postal_code="8000",
        city="Town",
        country="Switzerland",
        phone="+41 44 000 00 00",
        department="Sales",
        domain="estate.example",
        audio_device_name="Speaker",
        display_device_name="Screen",
        video_device_name="Camera",
        business_phones=("1", "2"),
        primary_owner=UserId(UUID(ADA)),
        secondary_owner=UserId(UUID(BEN)),
        automatic_reply="Thanks.\r\n\tBye.",
        is_allow_automatic_reply_override=True,
        is_wheel_chair_accessible=False,
        hide_from_gal=True,
        auto_mapping=False,
        tags=("quiet", "small"),
        room_mailbox_metadata=RoomEquipment(
            has_conference_phone=True, has_whiteboard=False, has_video_conferencing=True
        ),
        notes="A\nnote.",
        reason="Because.",
    )


def test_all_that_is_sent_reads_back_as_sent() -> None:
    assert read_back(WHOLE) == WHOLE
    assert read_back(GOOD) == GOOD


def test_null_is_not_sent() -> None:
    nulls = dict.fromkeys(WHOLE.keys() - GOOD.keys())

    assert read_back(GOOD | nulls) == GOOD
    assert read_back(GOOD | {"roomMailboxMetadata": {"hasWhiteboard": None}}) == GOOD | {"roomMailboxMetadata": {}}


def test_ids_are_given_back_in_lower_case() -> None:
    loud = {"templateId": TEMPLATE.upper(), "permissions": {ADA.upper(): "SendAs"}, "primaryOwner": ADA.upper()}

    assert read_back(GOOD | loud) == GOOD | {
        "templateId": TEMPLATE,
        "permissions": {ADA: "SendAs"},
        "primaryOwner": ADA,
    }


LINES = (
    "streetAddress", "officeLocation", "companyName", "postalCode", "city", "country", "phone", "department", "domain",
    "audioDeviceName", "displayDeviceName", "videoDeviceName",
)  # fmt: skip
FLAGS = ("isAllowAutomaticReplyOverride", "isWheelChairAccessible", "hideFromGAL", "autoMapping")
USERS = [str(UUID(int=number)) for number in range(501)]

FINE_LINES: list[dict[str, object]] = [
    {name: text} for name in LINES for text in ("", "x" * 256) if (name, text) != ("domain", "")
]
FINE_FLAGS: list[dict[str, object]] = [{name: flag} for name in FLAGS for flag in (True, False)]
FINE: list[dict[str, object]] = [
    {"name": "x"},
    {"name": "\N{GRINNING FACE}" * 64},
    {"name": " Info \u00a0"},
    {"displayName": "x" * 256},
    {"permissions": {}},
    {"permissions": dict.fromkeys(USERS[:500], "None")},
    {"metadata": {}},
    {"metadata": {str(number): "" for number in range(64)}},
    {"metadata": {"k" * 128: "x" * 1024, "yes": True}},
    {"metadata": {str(number): "x" * 1020 for number in range(15)}},
    {"capacity": 0},
    {"capacity": 2_147_483_647},
    {"capacity": 12.0},
    {"state": ""},
    {"state": "x" * 64},
    {"businessPhones": []},
    {"businessPhones": ["x" * 256] * 10},
    {"primaryOwner": ADA, "secondaryOwner": ADA},
    {"automaticReply": ""},
    {"automaticReply": "x" * 8192},
    {"automaticReply": "\u00e9" * 4096},
    {"tags": []},
    {"tags": ["x" * 64] * 32},
    {"roomMailboxMetadata": {}},
    {"notes": "x\r\n\ty"},
    {"notes": "\u00e9" * 4096},
    {"reason": "\u00e9" * 1024},
    {"alias": "a"},
    {"alias": "x" * 64},
    {"alias": "A.b!#$%&'*+-/=?^_`{|}~"},
]


@pytest.mark.parametrize("change", FINE + FINE_LINES + FINE_FLAGS)
def test_it_takes_what_is_within_the_bounds(change: dict[str, object]) -> None:
    # Stored bodies may have texts that a sent body may not have.
    MAILBOX.read(msgspec.json.encode(GOOD | change))

    assert read_back(GOOD | change) == GOOD | change


BAD: list[tuple[dict[str, object], list[tuple[str, str]]]] = [
    ({"name": None}, [("/name", "missingProperty")]),
    ({"name": " \t"}, [("/name", "missingProperty")]),
    ({"name": "x" * 65}, [("/name", "outOfBounds")]),
    ({"name": "info@estate.example"}, [("/name", "invalidText")]),
    ({"name": "a\nb"}, [("/name", "invalidText")]),
    ({"name": 5}, [("/name", "wrongType")]),
    ({"displayName": None}, [("/displayName", "missingProperty")]),
    ({"displayName": "x" * 257}, [("/displayName", "outOfBounds")]),
    ({"templateId": "x"}, [("/templateId", "malformedId")]),
    ({"templateId": UUID(TEMPLATE).hex}, [("/templateId", "malformedId")]),
    ({"permissions": []}, [("/permissions", "wrongType")]),
    ({"permissions": dict.fromkeys(USERS, "None")}, [("/permissions", "outOfBounds")]),
    ({"permissions": {"ada": "None"}}, [("/permissions/ada", "malformedId")]),
    ({"permissions": {UUID(ADA).hex: "None"}}, [(f"/permissions/{UUID(ADA).hex}", "malformedId")]),
    ({"permissions": {ADA: "Read"}}, [(f"/permissions/{ADA}", "unknownValue")]),
    ({"permissions": {ADA: "none"}}, [(f"/permissions/{ADA}", "unknownValue")]),
    ({"permissions": {ADA: None}}, [(f"/permissions/{ADA}", "wrongType")]),
    ({"permissions": {ADA: "None", ADA.upper(): "SendAs"}}, [(f"/permissions/{ADA.upper()}", "sameUserTwice")]),
    ({"permissions": {ADA.upper(): "None", ADA: "None"}}, [(f"/permissions/{ADA}", "sameUserTwice")]),
    ({"metadata": {str(number): "" for number in range(65)}}, [("/metadata", "outOfBounds")]),
    ({"metadata": {str(number): "x" * 1024 for number in range(16)}}, [("/metadata", "outOfBounds")]),
    ({"metadata": {"": "x"}}, [("/metadata/", "outOfBounds")]),
    ({"metadata": {"k" * 129: "x"}}, [(f"/metadata/{'k' * 129}", "outOfBounds")]),
    ({"metadata": {"k": "x" * 1025}}, [("/metadata/k", "outOfBounds")]),
    ({"metadata": {"equipmentType": 5}}, [("/metadata/equipmentType", "wrongType")]),
    ({"capacity": -1}, [("/capacity", "outOfBounds")]),
    ({"capacity": 2_147_483_648}, [("/capacity", "outOfBounds")]),
    ({"capacity": 1.5}, [("/capacity", "wrongType")]),
    ({"capacity": "12"}, [("/capacity", "wrongType")]),
    ({"capacity": True}, [("/capacity", "wrongType")]),
    ({"state": "x" * 65}, [("/state", "outOfBounds")]),
    ({"businessPhones": ["1"] * 11}, [("/businessPhones", "outOfBounds")]),
    ({"businessPhones": ["x" * 257]}, [("/businessPhones/0", "outOfBounds")]),
    ({"primaryOwner": "x", "secondaryOwner": 5}, [("/primaryOwner", "malformedId"), ("/secondaryOwner", "wrongType")]),
    ({"automaticReply": "x" * 8193}, [("/automaticReply", "outOfBounds")]),
    ({"automaticReply": "\u00e9" * 4097}, [("/automaticReply", "outOfBounds")]),
    ({"automaticReply": "bell \a"}, [("/automaticReply", "invalidText")]),
    ({"tags": ["x"] * 33}, [("/tags", "outOfBounds")]),
    ({"tags": ["x", "x" * 65]}, [("/tags/1", "outOfBounds")]),
    ({"roomMailboxMetadata": {"hasPiano": True}}, [("/roomMailboxMetadata/hasPiano", "unknownProperty")]),
    ({"roomMailboxMetadata": {"hasWhiteboard": "yes"}}, [("/roomMailboxMetadata/hasWhiteboard", "wrongType")]),
    ({"notes": "x" * 4097}, [("/notes", "outOfBounds")]),
    ({"reason": "x" * 1025}, [("/reason", "outOfBounds")]),
    ({"reason": "a\nb"}, [("/reason", "invalidText")]),
    ({"alias": "x" * 65}, [("/alias", "outOfBounds")]),
    ({"alias": "info@estate.example"}, [("/alias", "invalidText")]),
    ({"alias": ""}, [("/alias", "invalidText")]),
    ({"alias": ".info"}, [("/alias", "invalidText")]),
    ({"alias": "in..fo"}, [("/alias", "invalidText")]),
    ({"alias": "in fo"}, [("/alias", "invalidText")]),
    ({"alias": "\u00fcber"}, [("/alias", "invalidText")]),
    ({"alias": "info\n"}, [("/alias", "invalidText")]),
    ({"id": ADA}, [("/id", "unknownProperty")]),
    (
        {"name": "a@b", "capacity": -1, "colour": "red"},
        [("/name", "invalidText"), ("/capacity", "outOfBounds"), ("/colour", "unknownProperty")],
    ),
]  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_it_rejects_a_line_that_is_none(name: str) -> None:
    assert faults_of(GOOD | {name: "x" * 257}) == [(f"/{name}", "outOfBounds")]
    assert faults_of(GOOD | {name: "a\nb"}) == [(f"/{name}", "invalidText")]
    assert faults_of(GOOD | {name: 5}) == [(f"/{name}", "wrongType")]


@pytest.mark.parametrize("name", FLAGS)
def test_it_rejects_a_flag_that_is_none(name: str) -> None:
    assert faults_of(GOOD | {name: "true"}) == [(f"/{name}", "wrongType")]


@pytest.mark.parametrize(("change", "faults"), BAD)
def test_it_rejects_a_bad_body_and_names_every_fault(change: dict[str, object], faults: list[tuple[str, str]]) -> None:
    assert faults_of(GOOD | change) == faults


@pytest.mark.parametrize(
    ("misspelt", "known"),
    [
        ("hideFromGal", "hideFromGAL"),
        ("isWheelchairAccessible", "isWheelChairAccessible"),
        ("allowAutomaticReplyOverride", "isAllowAutomaticReplyOverride"),
        ("roomMailboxMetaData", "roomMailboxMetadata"),
        ("primarySmtpAddress", None),
    ],
)
def test_it_names_the_nearest_property(misspelt: str, known: str | None) -> None:
    with pytest.raises(BodyInvalid) as caught:
        MAILBOX.read(msgspec.json.encode(GOOD | {misspelt: True}))

    (fault,) = caught.value.faults
    assert (f"Did you mean {known}?" in fault.detail) is (known is not None)


def test_a_body_without_anything_lacks_two_properties() -> None:
    assert faults_of({}) == [("/name", "missingProperty"), ("/displayName", "missingProperty")]


TEXT = st.text(alphabet=st.sampled_from("aZ 0-@.\u00e9\u00df\t\n\0\N{GRINNING FACE}"), max_size=6)
IDS = st.sampled_from([ADA, ADA.upper(), BEN, "x"])
SCALAR = st.one_of(st.none(), st.booleans(), st.integers(-1, 3), st.floats(allow_nan=False), TEXT, IDS)
ANYTHING = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=4
)
LEVELS = st.sampled_from(["None", "SendAs", "FullAccess", "Read"])
USUAL: Mapping[str, st.SearchStrategy[object]] = {
    "permissions": st.dictionaries(IDS, LEVELS, max_size=3),
    "metadata": st.dictionaries(TEXT, TEXT | st.booleans(), max_size=3),
    "capacity": st.integers(-1, 2**31),
    "businessPhones": st.lists(TEXT, max_size=3),
    "tags": st.lists(TEXT, max_size=3),
    "roomMailboxMetadata": st.dictionaries(st.sampled_from(["hasWhiteboard", "hasPiano"]), st.booleans() | st.none()),
    **dict.fromkeys(("primaryOwner", "secondaryOwner", "templateId"), IDS),
    **dict.fromkeys(FLAGS, st.booleans()),
}
BODIES = st.fixed_dictionaries(
    {"name": TEXT, "displayName": TEXT | ANYTHING},
    optional={name: USUAL.get(name, TEXT) | ANYTHING for name in WHOLE.keys() - GOOD.keys()} | {"colour": ANYTHING},
)


OF_IDS = ("templateId", "primaryOwner", "secondaryOwner")


def said(value: object, name: str = "") -> object:
    """The canonical form of a value: null is not sent, ids are the same in either letter case, and 2.0 is 2."""
    match value:
        case dict():
            kept = {key: said(each, key) for key, each in value.items() if each is not None}
            return {key.lower(): each for key, each in kept.items()} if name == "permissions" else kept
        case list():
            return [said(each) for each in value]
        case str():
            return value.lower() if name in OF_IDS else value
        case _:
            return value


@settings(deadline=None)
@given(BODIES)
@example(WHOLE)
@example(GOOD | {"capacity": 2.0, "permissions": {ADA: "None"}})
def test_whatever_is_accepted_reads_back_equal(body: dict[str, object]) -> None:
    try:
        again = read_back(body)
    except BodyInvalid:
        return

    assert again == said(body)
    assert read_back(again) == again


STRICT = msgspec.json.Decoder(MailboxBody)


@settings(deadline=None)
@given(BODIES)
def test_nothing_is_taken_that_has_a_fault(body: dict[str, object]) -> None:
    raw = msgspec.json.encode(body)
    faults = list_faults(msgspec.json.decode(raw), inspect.type_info(MailboxBody))
    beyond_decoder = {("/permissions", "sameUserTwice")}

    try:
        STRICT.decode(raw)
        accepted = True
    except msgspec.ValidationError:
        accepted = False

    # The decoder cannot compare keys.
    kinds = {(fault.pointer.rpartition("/")[0], fault.code) for fault in faults}
    assert accepted == (kinds <= beyond_decoder), faults


def test_defaults_have_every_property_with_the_same_bounds() -> None:
    body = {field.name: field for field in cast("inspect.StructType", inspect.type_info(MailboxBody)).fields}
    defaults = {
        field.name: field for field in cast("inspect.StructType", inspect.type_info(MailboxDefaultsShape)).fields
    }

    assert body.keys() - defaults.keys() == {"name", "display_name", "template_id", "alias"}
    assert [name for name, field in defaults.items() if field != body[name]] == []


TENANT = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))


def template(**changes: object) -> MailboxTemplateShape:
    shape = read_template({"id": TEMPLATE, "kind": "room", "name": "Room"} | changes)
    assert isinstance(shape, MailboxTemplateShape)
    return shape


def test_a_template_becomes_a_value() -> None:
    shape = template(
        isDefault=True,
        audience={"users": [ADA], "groups": []},
        domain="rooms.estate.example",
        naming={"address": "room-{input}"},
        defaults={"country": "Switzerland", "permissions": {ADA: "SendAs"}, "primaryOwner": BEN.upper()},
        customFields=[{"key": "k", "label": "K", "type": "text"}],
    )

    value = to_mailbox_template(shape, tenant_id=TENANT, revision=3)

    assert (value.type, value.head.revision, value.is_default) == (MailboxType.ROOM, 3, True)
    assert (value.domain, value.address_rule) == ("rooms.estate.example", "room-{input}")
    assert value.audience == Audience(frozenset({UserId(UUID(ADA))}), frozenset())
    assert [field.key for field in value.custom_fields] == ["k"]
    assert value.defaults == MailboxProperties(
        country="Switzerland",
        permissions={UserId(UUID(ADA)): PermissionLevel.SEND_AS},
        primary_owner=UserId(UUID(BEN)),
    )


def test_it_rejects_defaults_that_no_mailbox_of_the_kind_has() -> None:
    shape = template(defaults={"autoMapping": True, "capacity": 5, "metadata": {"equipmentType": "x"}})

    faults = list(mailbox_template_faults(shape))

    assert [(fault.pointer, fault.code) for fault in faults] == [
        ("/defaults/metadata/equipmentType", "propertyNotApplicable"),
        ("/defaults/autoMapping", "propertyNotApplicable"),
    ]


def test_it_rejects_a_user_who_stands_twice_in_the_defaults() -> None:
    with pytest.raises(BodyInvalid) as caught:
        template(defaults={"permissions": {ADA: "None", ADA.upper(): "None"}})

    assert [fault.pointer for fault in caught.value.faults] == [f"/defaults/permissions/{ADA.upper()}"]


CHOICE = {"key": "k/1", "label": "K", "type": "choice", "choices": [{"value": "a", "label": "A"}]}
USER = {"key": "lead", "label": "Lead", "type": "user", "required": True}


@pytest.mark.parametrize(
    ("field", "value", "pointers"),
    [
        (CHOICE, "zz", ["/defaults/metadata/k~11"]),
        (CHOICE, True, ["/defaults/metadata/k~11"]),
        (CHOICE, "", ["/defaults/metadata/k~11"]),
        (CHOICE, "a", []),
        (USER, "ada", ["/defaults/metadata/lead"]),
        (USER, ADA, []),
        ({"key": "lead", "label": "Lead", "type": "boolean"}, "true", ["/defaults/metadata/lead"]),
        ({"key": "lead", "label": "Lead", "type": "boolean"}, False, []),
        # The caller sends the empty properties.
        ({"key": "lead", "label": "Lead", "type": "text", "required": True}, " ", []),
    ],
)
def test_it_rejects_a_default_that_every_request_without_metadata_would_be_refused_for(
    field: Mapping[str, object], value: object, pointers: list[str]
) -> None:
    shape = template(customFields=[field], defaults={"metadata": {field["key"]: value, "free": "zz"}})

    faults = list(mailbox_template_faults(shape))

    assert [(fault.pointer, fault.code) for fault in faults] == [(each, "customFieldInvalid") for each in pointers]


def test_it_rejects_a_choice_without_choices_once() -> None:
    shape = template(customFields=[CHOICE | {"choices": []}], defaults={"metadata": {"k/1": "a"}})

    assert [fault.code for fault in mailbox_template_faults(shape)] == ["ruleInvalid"]


@pytest.mark.parametrize(
    ("kind", "required", "pointers"),
    [
        ("shared", True, ["/customFields/1/required"]),
        ("room", True, ["/customFields/1/required"]),
        ("equipment", True, []),
        ("shared", False, []),
        ("room", False, []),
    ],
)
def test_it_rejects_a_field_that_is_demanded_of_a_mailbox_that_cannot_have_it(
    kind: str, *, required: bool, pointers: list[str]
) -> None:
    field = {"key": "equipmentType", "label": "E", "type": "text", "required": required}

    faults = list(mailbox_template_faults(template(kind=kind, customFields=[CHOICE, field])))

    assert [(fault.pointer, fault.code) for fault in faults] == [(each, "ruleInvalid") for each in pointers]
