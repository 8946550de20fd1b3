# SPDX-License-Identifier: Apache-2.0
"""Control characters in every text that a call can carry: each is refused at its place, and nothing is stored."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.http.http_fixture import CALLERS, HttpFixture

Json = dict[str, Any]

BAD = ["\0", "\x01", "\x7f", "\x85"]
ID = "e57a7e00-0000-4000-8000-000000000001"


def leaves(
    schema: Json, schemas: Json, pointer: str = "", seen: tuple[str, ...] = ()
) -> Iterator[tuple[str, Json, Json]]:
    """The pointer of each text in a schema, its schema, and `{"path": ...}`: the steps that lead to it."""
    for each, steps in _leaves(schema, schemas, seen):
        place = "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step, _ in steps)
        yield pointer + place, each, {"path": steps}


def _leaves(schema: Json, schemas: Json, seen: tuple[str, ...]) -> Iterator[tuple[Json, list[tuple[str, Json]]]]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in seen:
            yield from _leaves(schemas[name], schemas, (*seen, name))
        return
    for option in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _leaves(option, schemas, seen)
    if schema.get("type") == "string":
        yield schema, []
    tags = {
        name: each.get("const", (each.get("enum") or [None])[0])
        for name, each in schema.get("properties", {}).items()
        if "const" in each or (name in {"kind", "type"} and "enum" in each)
    }
    for name, each in schema.get("properties", {}).items():
        for leaf, steps in _leaves(each, schemas, seen):
            yield leaf, [(name, {key: tag for key, tag in tags.items() if key != name}), *steps]
    for step, each in (("0", schema.get("items")), ("key", schema.get("additionalProperties"))):
        if isinstance(each, dict):
            for leaf, steps in _leaves(each, schemas, seen):
                yield leaf, [(step, {}), *steps]


def body_with(steps: list[tuple[str, Json]], text: str) -> Any:  # noqa: ANN401 - any JSON value.
    if not steps:
        return text
    (step, beside), rest = steps[0], steps[1:]
    return [body_with(rest, text)] if step == "0" else {**beside, step: body_with(rest, text)}


def parameters_of(operation: Json, document: Json) -> list[Json]:
    named = document["components"].get("parameters", {})
    found = operation.get("parameters", ())
    return [named[each["$ref"].rpartition("/")[2]] if "$ref" in each else each for each in found]


async def answers(api: httpx2.AsyncClient, method: str, path: str, **options: Any) -> list[httpx2.Response]:  # noqa: ANN401
    """The answers to the callers who may call this."""
    found = []
    for caller in CALLERS:
        answer = await api.request(
            method, path, headers={"authorization": caller, "content-type": "application/json"}, **options
        )
        if answer.status_code not in {401, 403}:
            found.append(answer)
    assert found, (method, path)
    return found


@pytest.fixture
async def document(api: httpx2.AsyncClient) -> Json:
    found: Json = (await api.get("/openapi.json")).json()
    return found


async def test_every_text_of_every_body_refuses_control_characters(
    api: httpx2.AsyncClient, document: Json, http_fixture: HttpFixture
) -> None:
    schemas, checked = document["components"]["schemas"], 0
    for path, item in document["paths"].items():
        for method, operation in item.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is None:
                continue
            url = re.sub(r"\{\w+\}", ID, path)
            for pointer, _, found in leaves(content["schema"], schemas):
                checked += 1
                for bad in BAD:
                    body = body_with(found["path"], f"a{bad}b")
                    for answer in await answers(api, method.upper(), url, json=body):
                        problem = answer.json()
                        assert 400 <= answer.status_code < 500, (method, path, pointer, bad, problem)
                        named = [each["pointer"] for each in problem.get("errors", ())]
                        assert any(each == pointer or pointer.startswith(f"{each}/") for each in named), (
                            method,
                            path,
                            pointer,
                            bad,
                            problem,
                        )
    assert checked > 100
    assert not http_fixture.orders
    assert not http_fixture.mailbox_orders


async def test_every_body_refuses_half_of_a_surrogate_pair(
    api: httpx2.AsyncClient, document: Json, http_fixture: HttpFixture
) -> None:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if "application/json" not in operation.get("requestBody", {}).get("content", {}):
                continue
            url = re.sub(r"\{\w+\}", ID, path)
            for text in (b'{"displayName": "a\\ud800b"}', b'{"\\udc00": 1}', b'{"name": "\xed\xa0\x80"}'):
                for answer in await answers(api, method.upper(), url, content=text):
                    assert (answer.status_code, answer.json()["code"]) == (400, "notJson")
    assert not http_fixture.orders


async def test_every_text_of_a_query_refuses_control_characters(api: httpx2.AsyncClient, document: Json) -> None:
    checked = 0
    for path, item in document["paths"].items():
        for method, operation in item.items():
            for parameter in parameters_of(operation, document):
                if parameter["in"] != "query" or parameter["schema"].get("type") != "string":
                    continue
                checked += 1
                url = re.sub(r"\{\w+\}", ID, path)
                for bad in BAD:
                    for answer in await answers(api, method.upper(), f"{url}?{parameter['name']}=a{quote(bad)}b"):
                        assert answer.status_code == 400, (method, path, parameter["name"], bad, answer.text)
    assert checked > 10


@pytest.mark.parametrize("bad", [*BAD, "\udc80"])
async def test_a_path_refuses_control_characters(api: httpx2.AsyncClient, document: Json, bad: str) -> None:
    for path, item in document["paths"].items():
        if "{" in path:
            url = re.sub(r"\{\w+\}", f"{ID[:-1]}{quote(bad, errors='surrogateescape')}", path)
            for method in item:
                for answer in await answers(api, method.upper(), url):
                    assert answer.status_code in {400, 404, 415}, (method, path, answer.text)


@pytest.mark.parametrize("bad", [b"\x01", b"\x7f", b"\x85", b"\xed\xa0\x80"])
async def test_a_stored_header_refuses_control_characters(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, bad: bytes
) -> None:
    body = b'{"displayName": "Hooked", "templateId": "%s"}' % ID.encode()
    headers = [
        (b"authorization", b"Bearer ada"),
        (b"content-type", b"application/json"),
        (b"idempotency-key", b"a" + bad),
    ]

    answer = await api.post("/collab/v1/groups/", content=body, headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalidParameter")
    assert not http_fixture.orders
