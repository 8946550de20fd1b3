# SPDX-License-Identifier: Apache-2.0
"""The forms of each kind: every property has a field or a reason, and the values become the body of the API."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import msgspec
import pytest
from msgspec import inspect, json

from chamberlain.console.fields import LABELS, OMITTED
from chamberlain.console.order_form import OrderForm, make_order_form
from chamberlain.core.errors import Fault
from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.directory.models import Label
from chamberlain.groups.wire import GROUP, GroupBody
from chamberlain.mailboxes.wire import MAILBOX, MailboxBody
from chamberlain.template_admin.models import OfferedTemplate
from chamberlain.templates.models import StoredTemplate, TemplateHead, TemplateKind

pytestmark = pytest.mark.pure
ID = UUID("7e000000-0000-4000-8000-000000000003")
BEN, CLEO = "be000000-0000-4000-8000-000000000002", "c1e00000-0000-4000-8000-000000000003"
DOMAINS = ("estate.example", "rooms.estate.example")
LABELS_OF_TENANT = (Label("internal", "Internal", None), Label("secret", "Confidential", None))
MAILBOX_TYPES = ("room", "equipment", "shared")
KINDS = (*MAILBOX_TYPES, "group", "team")


def form_of(kind: str, **template: object) -> OrderForm:
    """The form of a template with these members."""
    content = {"id": str(ID), "kind": kind, "name": "A template", **template}
    head = TemplateHead(TenantId(ID), TemplateId(ID), 1, TemplateKind(kind), "A template", active=True)
    stored = StoredTemplate(head, json.encode(content))
    return make_order_form(OfferedTemplate(stored, DOMAINS, LABELS_OF_TENANT))


def properties(body: type[msgspec.Struct]) -> Iterator[str]:
    """The pointers of a body; those of the equipment of a room, not of the whole."""
    for each in msgspec.structs.fields(body):
        inner = [form for form in _types(inspect.type_info(each.type)) if isinstance(form, inspect.StructType)]
        if inner:
            yield from (f"/{each.encode_name}/{field.encode_name}" for field in inner[0].fields)
        else:
            yield f"/{each.encode_name}"


def _types(form: inspect.Type) -> Iterator[inspect.Type]:
    match form:
        case inspect.UnionType():
            for each in form.types:
                yield from _types(each)
        case inspect.Metadata():
            yield from _types(form.type)
        case _:
            yield form


@pytest.mark.parametrize("kind", KINDS)
def test_every_property_has_a_field_or_a_reason(kind: str) -> None:
    all_of_kind = set(properties(MailboxBody if kind in MAILBOX_TYPES else GroupBody))
    shown = [each.pointer for each in form_of(kind).fields]

    found = {each for each in shown if not each.startswith("/metadata/")}
    assert len(shown) == len(set(shown))
    assert found | OMITTED[kind].keys() == all_of_kind
    assert not found & OMITTED[kind].keys()
    assert all(OMITTED[kind].values())
    assert set(shown) <= LABELS.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_ids_of_controls_differ(kind: str) -> None:
    fields = form_of(kind, customFields=[{"key": key, "label": key, "type": "text"} for key in ("a b", "a_b", "a/b")])

    ids = [each.id for each in fields.fields]
    assert len(ids) == len(set(ids))
    assert all(each.isascii() and " " not in each for each in ids)


def test_a_room_gets_the_values_of_its_form() -> None:
    pairs = [
        ("/displayName", "Zürich"),
        ("/capacity", "12"),
        ("/roomMailboxMetadata/hasWhiteboard", "true"),
        ("/tags/-", "quiet, north"),
        ("/primaryOwner", BEN),
        (f"/permissions/{BEN}", "FullAccess"),
        ("/alias", "not a field of a room"),
        ("find:/primaryOwner", "ben"),
    ]

    body = form_of("room").read(pairs)

    assert body == {
        "displayName": "Zürich",
        "name": "Zürich",
        "capacity": 12,
        "roomMailboxMetadata": {"hasWhiteboard": True},
        "tags": ["quiet", "north"],
        "primaryOwner": BEN,
        "permissions": {BEN: "FullAccess"},
        "templateId": str(ID),
    }
    assert MAILBOX.read(json.encode(body)).capacity == 12


def test_a_team_gets_the_values_of_its_form() -> None:
    form = form_of(
        "team",
        customFields=[
            {"key": "el-1", "label": "Customer", "type": "text"},
            {"key": "el-2", "label": "Audience", "type": "choice", "choices": [{"value": "a", "label": "All"}]},
            {"key": "lead", "label": "Lead", "type": "user", "required": True},
            {"key": "yes", "label": "Sure?", "type": "boolean", "required": True},
        ],
    )
    pairs = [
        ("/displayName", "Falcon"),
        ("/memberShipType", "1"),
        ("/owners/-", BEN),
        ("/members/-", BEN),
        ("/members/-", CLEO),
        ("/labelId", "secret"),
        ("/metadata/el-1", "Harbour"),
        ("/metadata/el-2", "a"),
        ("/metadata/lead", CLEO),
        ("/metadata/yes", "false"),
    ]

    body = form.read(pairs)

    assert body == {
        "displayName": "Falcon",
        "memberShipType": 1,
        "owners": [BEN],
        "members": [BEN, CLEO],
        "labelId": "secret",
        "metadata": {"el-1": "Harbour", "el-2": "a", "lead": CLEO, "yes": False},
        "templateId": str(ID),
    }
    assert GROUP.read(json.encode(body)).label_id == "secret"


DEFAULTS: dict[str, object] = {
    "city": "Zürich",
    "tags": ["quiet", "north"],
    "capacity": 8,
    "permissions": {BEN: "SendAs"},
    "roomMailboxMetadata": {"hasWhiteboard": True, "hasConferencePhone": False},
    "metadata": {"floor": "4", "unlisted": "kept"},
}
FLOOR = [{"key": "floor", "label": "Floor", "type": "text"}]


def test_defaults_fill_the_form_and_come_back_from_it() -> None:
    form = form_of("room", defaults=DEFAULTS, domain="rooms.estate.example", customFields=FLOOR)

    filled = form.fill()

    assert ("/domain", "rooms.estate.example") in filled
    assert form.read([*filled, ("/displayName", "A")]) == {
        **DEFAULTS,
        "displayName": "A",
        "name": "A",
        "domain": "rooms.estate.example",
        "templateId": str(ID),
    }


def test_an_emptied_default_does_not_return() -> None:
    form = form_of("room", defaults=DEFAULTS, customFields=FLOOR)

    body = form.read([("/displayName", "A"), ("/roomMailboxMetadata/hasWhiteboard", "false")])

    assert (body["city"], body["tags"], body["permissions"]) == ("", [], {})
    assert body["roomMailboxMetadata"] == {"hasWhiteboard": False}
    assert body["metadata"] == {"unlisted": "kept"}
    MAILBOX.read(json.encode(body))


def test_a_box_that_the_template_checks_answers_no() -> None:
    fields = {each.pointer: each for each in form_of("room", defaults=DEFAULTS).fields}

    assert fields["/roomMailboxMetadata/hasWhiteboard"].is_answered
    assert not fields["/roomMailboxMetadata/hasConferencePhone"].is_answered
    assert not fields["/isWheelChairAccessible"].is_answered


def test_an_earlier_body_fills_the_form() -> None:
    body: dict[str, Any] = {
        "displayName": "Zürich, 4th floor",
        "name": "Zürich, 4th floor",
        "templateId": str(ID),
        "tags": ["a", "b"],
        "permissions": {BEN: "SendAs"},
        "isWheelChairAccessible": True,
    }

    assert form_of("room").fill(body) == [
        ("/domain", "estate.example"),
        ("/displayName", "Zürich, 4th floor"),
        ("/tags/-", "a"),
        ("/tags/-", "b"),
        (f"/permissions/{BEN}", "SendAs"),
        ("/isWheelChairAccessible", "true"),
    ]


@pytest.mark.parametrize(
    ("display_name", "name"),
    [("Zürich", "Zürich"), ("x" * 100, "x" * 64), (" ops@night ", "ops night"), ("@", None), ("", None)],
)
def test_the_short_name_is_made_of_the_name(display_name: str, name: str | None) -> None:
    assert form_of("shared").read([("/displayName", display_name)]).get("name") == name


def test_a_rule_for_addresses_leaves_one_name() -> None:
    form = form_of("room", naming={"address": "room-{input}"})
    fault = Fault("/name", "addressTaken", "Taken.")

    placed, general = form.place([fault])

    assert "/name" not in {each.pointer for each in form.fields}
    assert (placed["/displayName"].code, general) == ("addressTaken", [])


def test_faults_find_their_fields() -> None:
    faults = [
        Fault("/displayName", "missingProperty", "Missing."),
        Fault("/name", "missingProperty", "Missing."),
        Fault("/tags/1", "invalidText", "Wrong."),
        Fault(f"/permissions/{BEN}", "userUnknown", "Unknown."),
        Fault("/templateId", "userUnknown", "Unknown."),
        Fault("", "userUnknown", "Unknown."),
    ]

    placed, general = form_of("shared").place(faults)

    assert {pointer: each.code for pointer, each in placed.items()} == {
        "/displayName": "missingProperty",
        "/tags": "invalidText",
        "/permissions": "userUnknown",
    }
    assert [each.pointer for each in general] == ["/templateId", ""]


@pytest.mark.parametrize(
    ("type_", "is_changeable", "pointers"),
    [
        (0, True, {"/memberShipType", "/members"}),
        (0, False, {"/members"}),
        (2, False, set()),
        (2, True, {"/memberShipType", "/members"}),
    ],
)
def test_a_rule_for_members_leaves_no_field_for_them(*, type_: int, is_changeable: bool, pointers: set[str]) -> None:
    rule = 'user.department -eq "Sales"' if type_ == 2 else None
    form = form_of("group", memberShipType=type_, memberShipTypeChangeable=is_changeable, membershipRule=rule)

    assert {each.pointer for each in form.fields} & {"/memberShipType", "/members"} == pointers
