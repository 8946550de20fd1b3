# SPDX-License-Identifier: Apache-2.0
"""Compare the models with the OpenAPI document, and with later versions of it."""

from collections.abc import Iterator, Mapping
from enum import Enum, EnumType
from uuid import UUID

import msgspec
import pytest
from msgspec import Struct

from chamberlain.app.routes import ENDPOINTS
from chamberlain.http.openapi import describe
from chamberlain_client import events, models
from chamberlain_client.models import Mailbox, MailboxType, MemberShipType, Named, NewGroup, RequestState
from checks.client.table import MODELS, OMITTED, TEXT, Shape, Words
from tests.docs.commands import Json
from tests.http.http_fixture import HttpFixture

GROUP = UUID("7e000000-0000-4000-8000-000000000011")
ID = UUID("7e000000-0000-4000-8000-000000000011")
# The class of each schema; several schemas may share one.
CLASSES: Mapping[str, str] = {
    "FeedEvent": "Event",
    **{
        schema: each.name
        for each in MODELS
        if isinstance(each, Words) or (isinstance(each, Shape) and not each.shared)
        for schema in (each.schema or each.name).split()
    },
}
# Fields that the SDK adds from headers. Fields of a class that only some of its schemas have.
ADDED = {"etag", "retryAfter", "replayed"}
ALONE = {
    "AcceptedGroup": {"group"},
    "Adoption": {"refused"},
    "Release": {"remarks"},
    "GroupTemplate": {"channels"},
    "ManagerApprover": {"id"},
    "WebhookBody": {"hasSecret", "disabledReason"},
}


@pytest.fixture(scope="module")
def document() -> Json:
    return describe(ENDPOINTS, HttpFixture().http())


def all_models() -> Mapping[str, type[Struct]]:
    return {name: value for name, value in all_names() if isinstance(value, type) and issubclass(value, Struct)}


def all_names() -> Iterator[tuple[str, object]]:
    for module in (models, events):
        yield from vars(module).items()


def words_of(enumeration: EnumType) -> set[object]:
    members: Mapping[str, Enum] = enumeration.__members__
    return {member.value for member in members.values()}


def test_it_works(document: Json) -> None:
    ours = all_models()
    wrong = {}
    for name, schema in document["components"]["schemas"].items():
        mine = CLASSES.get(name)
        if mine is None or "properties" not in schema:
            assert name in OMITTED or "enum" in schema or name.endswith("Page"), name
            continue
        fields = set(ours[mine].__struct_encode_fields__) - ADDED - ALONE.get(name, set())
        if fields != set(schema["properties"]):
            wrong[name] = fields ^ set(schema["properties"])

    assert wrong == {}


def test_it_has_every_enumeration_of_the_document(document: Json) -> None:
    enumerations = {name: value for name, value in all_names() if isinstance(value, EnumType)}
    schemas = document["components"]["schemas"]
    described = {name: set(schema["enum"]) for name, schema in schemas.items() if "enum" in schema}

    for name, words in described.items():
        assert name in TEXT or words_of(enumerations[CLASSES[name]]) == words, name


def test_it_decodes_every_example_of_the_document(document: Json) -> None:
    ours, read = all_models(), set()
    for name, example in examples(document):
        mine = CLASSES.get(name)
        # Events are decoded in two steps.
        if mine is not None and mine in ours and mine != "Event":
            msgspec.convert(example, ours[mine])
            read.add(mine)

    assert len(read) > 15


def examples(document: Json) -> Iterator[tuple[str, Json]]:
    """List the examples of all responses, those of lists one by one, with their schemas."""
    schemas = document["components"]["schemas"]
    for path in document["paths"].values():
        for content in (
            content
            for operation in path.values()
            for answer in operation["responses"].values()
            for content in answer.get("content", {}).values()
        ):
            if "example" not in content or "$ref" not in content["schema"]:
                continue
            name = named(content["schema"])
            properties = schemas[name]["properties"]
            item = properties["items"]["items"] if "items" in properties else None
            if item is None:
                yield name, content["example"]
            elif "$ref" in item:
                yield from ((named(item), each) for each in content["example"]["items"])


def named(schema: Json) -> str:
    return str(schema["$ref"].rpartition("/")[2])


def test_it_handles_later_versions() -> None:
    assert msgspec.json.decode(b'{"more": 1, "id": "%s", "name": "A"}' % str(ID).encode(), type=Named).name == "A"
    state = msgspec.json.decode(b'"dreaming"', type=RequestState)
    assert (state, state.is_known, state.has_ended, RequestState.QUEUED.is_known) == ("dreaming", False, False, True)
    assert msgspec.json.encode(state) == b'"dreaming"'
    kind = msgspec.json.decode(b"7", type=MemberShipType)
    assert (kind, kind.is_known, MemberShipType.PUBLIC.is_known) == (7, False, True)


def test_values_are_immutable() -> None:
    group = NewGroup(display_name="A", template_id=ID)

    with pytest.raises(AttributeError):
        group.display_name = "B"  # type: ignore[misc]  # mypy reports it too.


def test_it_names_fields_as_the_api_does() -> None:
    assert Mailbox.__struct_encode_fields__[Mailbox.__struct_fields__.index("hide_from_gal")] == "hideFromGAL"
    assert [str(each) for each in MailboxType] == ["shared", "equipment", "room"]
