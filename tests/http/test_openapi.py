# SPDX-License-Identifier: Apache-2.0
import asyncio
import gzip
import json
import re
from dataclasses import replace
from typing import Any

import httpx2
import msgspec
import openapi_spec_validator
import pytest

from chamberlain.app.routes import ENDPOINTS
from chamberlain.core.errors import Refusal
from chamberlain.http.openapi import TAGS, codes_of, describe
from chamberlain.http.problems import KINDS, STATUSES, TITLES
from tests.http.http_fixture import BASE, REQUEST, HttpFixture

# A JSON document whose shape is what is tested here.
Json = dict[str, Any]


@pytest.fixture
async def document(api: httpx2.AsyncClient) -> Json:
    found: Json = (await api.get("/openapi.json")).json()
    # Its repeated parts are references. Tests read it with the parts in their places.
    components = found["components"]
    for item in found["paths"].values():
        for operation in item.values():
            operation["responses"] = {
                status: in_place(each, components) for status, each in operation["responses"].items()
            }
            operation["parameters"] = [in_place(each, components) for each in operation["parameters"]]
    return found


def in_place(part: Json, components: Json) -> Json:
    if "$ref" not in part:
        return part
    _, kind, name = part["$ref"].rsplit("/", 2)
    found: Json = components[kind][name]
    return found


async def test_it_works(document: Json) -> None:
    openapi_spec_validator.validate(document)

    assert document["openapi"] == "3.1.0"
    # Generators derive a package name from it, which must not be that of the SDK.
    assert document["info"]["title"] == "Chamberlain API"
    assert document["servers"] == [{"url": BASE}]


async def test_shared_parts_do_not_change_what_it_says(http_fixture: HttpFixture, document: Json) -> None:
    described = json.loads(msgspec.json.encode(describe(ENDPOINTS, http_fixture.http())))

    for item in described["paths"].values():
        for operation in item.values():
            operation["parameters"] = [in_place(each, described["components"]) for each in operation["parameters"]]
    assert document["paths"] == described["paths"]


async def test_every_section_has_operations_and_every_operation_a_section(document: Json) -> None:
    used = {tag for item in document["paths"].values() for operation in item.values() for tag in operation["tags"]}

    assert [tag["name"] for tag in document["tags"]] == list(TAGS)
    assert used == set(TAGS)


async def test_it_is_small(api: httpx2.AsyncClient) -> None:
    path = "/openapi.json"
    plain = await api.get(path, headers={"accept-encoding": "identity"})
    async with api.stream("GET", path, headers={"accept-encoding": "gzip"}) as compressed:
        body = b"".join([chunk async for chunk in compressed.aiter_raw()])

    assert len(plain.content) < 400_000
    assert len(body) < 60_000
    assert gzip.decompress(body) == plain.content
    assert (compressed.headers["content-encoding"], compressed.headers["content-length"]) == ("gzip", str(len(body)))
    assert "content-encoding" not in plain.headers
    assert plain.headers["content-length"] == str(len(plain.content))
    assert plain.headers["vary"] == compressed.headers["vary"] == "accept-encoding"
    assert plain.headers["etag"] != compressed.headers["etag"]


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"),
        ("deflate, GZIP;q=0.5", "gzip"),
        ("br, *;q=0.1", "gzip"),
        ("x-gzip", "gzip"),
        ("", None),
        ("br", None),
        ("gzip;q=0, *", None),
        ("gzip;q=x", None),
        ("gzip," * 1_000, None),
    ],
)
async def test_it_is_compressed_for_those_who_accept_it(
    api: httpx2.AsyncClient, accepted: str, coding: str | None
) -> None:
    answer = await api.head("/openapi.json", headers={"accept-encoding": accepted})

    assert answer.status_code == 200
    assert answer.headers.get("content-encoding") == coding


@pytest.mark.parametrize("coding", ["gzip", "identity"])
async def test_a_copy_that_is_current_is_not_sent_again(api: httpx2.AsyncClient, coding: str) -> None:
    headers = {"accept-encoding": coding}
    etag = (await api.head("/docs", headers=headers)).headers["etag"]

    answers = [
        await api.get("/docs", headers={**headers, "if-none-match": tags})
        for tags in (f'"x", W/{etag}', "*", '"x"', etag.replace('"', ""))
    ]

    assert [answer.status_code for answer in answers] == [304, 304, 200, 200]
    assert answers[0].headers["etag"] == etag
    assert answers[0].headers["vary"] == "accept-encoding"
    assert not {"content-length", "content-type", "content-encoding"} & set(answers[0].headers)


async def test_calls_at_once_get_the_same_document(api: httpx2.AsyncClient) -> None:
    answers = await asyncio.gather(*(api.get("/openapi.json") for _ in range(5)))

    assert len({answer.content for answer in answers}) == 1


async def test_it_has_every_endpoint_and_no_other(document: Json) -> None:
    described = {(method.upper(), path) for path, item in document["paths"].items() for method in item}

    assert described == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}


async def test_it_has_every_code_with_its_status(document: Json) -> None:
    for endpoint in ENDPOINTS:
        responses = document["paths"][endpoint.path][endpoint.method.lower()]["responses"]
        for code in codes_of(endpoint):
            problem = responses[str(STATUSES[code])]
            assert f"`{code}`" in problem["description"]
            assert code in problem["content"]["application/problem+json"]["examples"]


async def test_successes_and_problems_have_different_statuses() -> None:
    for endpoint in ENDPOINTS:
        problems = {STATUSES[code] for code in codes_of(endpoint)}
        assert not problems & {answer.status for answer in endpoint.answers}
        assert set(endpoint.codes) <= set(TITLES)


async def test_what_may_be_left_out_of_a_body_may_be_null(document: Json) -> None:
    schemas = document["components"]["schemas"]
    defaults = {"MailboxBody": "notes", "MailboxTemplateBody": "active", "WebhookBody": "active", "GroupBody": "owners"}

    for schema, name in defaults.items():
        assert {"type": "null"} in schemas[schema]["properties"][name]["anyOf"]
        assert "default" in schemas[schema]["properties"][name]
    # Required properties are not null, and no body has the properties of the service.
    assert "anyOf" not in schemas["MailboxTemplateBody"]["properties"]["name"]
    assert "anyOf" not in schemas["Problem"]["properties"]["detail"]


@pytest.mark.parametrize("name", ["description", "active", "isDefault", "naming", "defaults", "customFields"])
async def test_null_is_not_sent_as_the_document_says(api: httpx2.AsyncClient, name: str) -> None:
    headers = {"authorization": "Bearer administrator"}
    body = {"kind": "room", "name": "Room"}

    nothing, null = [
        (await api.post("/admin/mail/v1/templates/", json=each, headers=headers)).json()
        for each in (body, body | {name: None})
    ]

    assert null == nothing


def test_every_refusal_has_a_status() -> None:
    def heirs(family: type[Refusal]) -> set[type[Refusal]]:
        return {family}.union(*map(heirs, family.__subclasses__()))

    assert heirs(Refusal) - {Refusal} >= set(KINDS)
    for refusal in heirs(Refusal) - {Refusal}:
        assert any(ancestor in KINDS for ancestor in refusal.__mro__), refusal


async def test_it_tells_users_and_applications_apart(document: Json) -> None:
    create = document["paths"]["/collab/v1/groups/"]["post"]
    read = document["paths"]["/requests/v1/{requestId}/"]["get"]

    assert create["security"] == [{"delegated": ["https://api.estate.example/collab/App.ReadWrite.All"]}]
    assert "As an application: not supported" in create["description"]
    assert {"application": ["https://api.estate.example/admin/Mail.Manage.ReadWrite.All"]} in read["security"]
    assert {"delegated": ["https://api.estate.example/mail/App.ReadWrite.All"]} in read["security"]
    schemes = document["components"]["securitySchemes"]
    assert {name: (scheme["type"], scheme["scheme"]) for name, scheme in schemes.items()} == {
        "delegated": ("http", "bearer"),
        "application": ("http", "bearer"),
    }
    assert "applicationNotSupported" in create["responses"]["403"]["description"]
    assert "applicationNotSupported" not in read["responses"]["403"]["description"]
    assert document["paths"]["/health/live"]["get"]["security"] == []


async def test_it_leads_from_what_was_asked_for_to_its_state(document: Json) -> None:
    link = document["paths"]["/collab/v1/groups/"]["post"]["responses"]["202"]["links"]["request"]

    assert link["operationId"] == "readRequest"
    assert link["parameters"] == {"requestId": "$response.body#/requestId"}


async def test_it_names_the_ways_to_a_token_where_they_are_known(http_fixture: HttpFixture) -> None:
    known = replace(http_fixture.http(), oauth_url="https://id.example/{tenantId}")

    document = json.loads(json.dumps(describe(ENDPOINTS, known)))

    openapi_spec_validator.validate(document)
    schemes = document["components"]["securitySchemes"]
    delegated, application = schemes["delegated"]["flows"], schemes["application"]["flows"]
    token = "https://id.example/{tenantId}/token"
    assert {name: (urls["tokenUrl"], len(urls["scopes"])) for name, urls in (delegated | application).items()} == {
        "authorizationCode": (token, 3),
        "x-deviceAuthorization": (token, 3),
        "clientCredentials": (token, 5),
    }
    assert delegated["authorizationCode"]["authorizationUrl"] == "https://id.example/{tenantId}/authorize"
    assert delegated["x-deviceAuthorization"]["deviceAuthorizationUrl"] == "https://id.example/{tenantId}/devicecode"
    assert "https://api.estate.example/collab/App.ReadWrite.All" in delegated["authorizationCode"]["scopes"]
    assert "https://api.estate.example/admin/Mail.Manage.ReadWrite.All" in application["clientCredentials"]["scopes"]


async def test_no_nullable_object_has_a_default_that_generators_reject(document: Json) -> None:
    properties = [
        each for schema in document["components"]["schemas"].values() for each in schema.get("properties", {}).values()
    ]

    assert not [each for each in properties if "anyOf" in each and isinstance(each.get("default"), dict)]
    naming = document["components"]["schemas"]["MailboxTemplateBody"]["properties"]["naming"]
    assert naming["description"] == 'Default: `{"address":"{input}"}`.'


async def test_its_examples_are_true(api: httpx2.AsyncClient, document: Json) -> None:
    create = document["paths"]["/collab/v1/groups/"]["post"]

    answer = await api.post("/collab/v1/groups/", json=create["requestBody"]["content"]["application/json"]["example"])

    assert answer.status_code == 202
    example = create["responses"]["202"]["content"]["application/json"]["example"]
    assert list(answer.json()) == list(example)
    assert set(answer.headers) >= {
        name.lower() for name in create["responses"]["202"]["headers"] if name != "Idempotency-Replayed"
    } - {"client-request-id"}


async def test_every_path_of_the_document_is_served(api: httpx2.AsyncClient, document: Json) -> None:
    for path, item in document["paths"].items():
        answer = await api.request("OPTIONS", re.sub(r"{\w+}", str(REQUEST), path))
        assert {method.upper() for method in item} <= set(answer.headers["allow"].split(", "))
