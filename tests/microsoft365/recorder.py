# SPDX-License-Identifier: Apache-2.0
"""Validates exchanges with the Graph surface against Microsoft's published description (published/README.md).

The description has names, types and permissions. A successful answer must follow it. An answer with an error must have
the form of Graph's errors.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx2
from jsonschema import Draft202012Validator  # type: ignore[import-untyped] # The package has no types.

from tests.microsoft365.further_operations import FURTHER_OPERATIONS

PUBLISHED = Path(__file__).parent / "published"

# Parsed JSON of any form. A schema is a JSON object too.
Json = Any

# The part of a description that the recorder follows: "#/components/schemas/microsoft.graph.group".
_SCHEMAS = "#/components/schemas/"

# Names of schema extensions and of directory extensions.
_EXTENSION = re.compile(r"[a-z][A-Za-z0-9]*_[A-Za-z0-9_]+|extension_[0-9a-f]{32}_\w+")
# The pattern of the relations of a type, as the description writes it.
_DELTA = re.compile(r"\^\(([\w|]+)\)@delta\$$")
# Ids and times, of which the description has only the form.
_VARIABLE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_OPTIONS = frozenset(
    {
        "$filter", "$select", "$orderby", "$count", "$top", "$skiptoken", "$deltatoken", "$expand", "$search", "$skip",
        "$format",
    }
)  # fmt: skip
_ERROR = frozenset({"code", "message", "innerError", "details", "target"})
_INNER_ERROR = frozenset({"date", "request-id", "client-request-id"})

# Paths that Graph describes elsewhere: the calling user as a user, a function with brackets, and a cast in the path of
# one object.
_SAME: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^/me(?=/|$)"), "/users/me"),
    (re.compile(r"^(/groups|/users)/(?:microsoft\.graph\.)?delta(?:\(\))?$"), r"\1/delta"),
    (re.compile(r"^(/places/[^/]+)/(?:microsoft\.)?graph\.room$"), r"\1"),
)

# The members of an answer that Graph does not have. Only callers without `strict` get them.
_DEVIATIONS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "/users/{user-id}/mailboxSettings": frozenset({"mailbox"}),
        "/sites/{site-id}": frozenset({"sharingCapability"}),
        "/groups/{group-id}/sites/{site-id}": frozenset({"sharingCapability"}),
    }
)
# Permissions that the embedded directory accepts in addition to those of Graph's table.
_WIDER: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "/groups/{group-id}/team": frozenset({"Group.ReadWrite.All", "Directory.Read.All"}),
        "/teams/{team-id}/members": frozenset({"Group.Read.All", "Group.ReadWrite.All", "Directory.Read.All"}),
        "/groups/{group-id}/team/channels": frozenset({"Group.ReadWrite.All", "Directory.Read.All"}),
        "/places/{place-id}": frozenset({"Directory.Read.All"}),
        "/places/microsoft.graph.room": frozenset({"Directory.Read.All"}),
        "/schemaExtensions": frozenset({"Group.Read.All", "Group.ReadWrite.All", "Directory.Read.All"}),
        "/sites/{site-id}": frozenset({"Directory.Read.All"}),
        "/users/{user-id}/mailboxSettings": frozenset({"User.Read.All", "User.ReadWrite.All", "Directory.Read.All"}),
    }
)
# Properties of a group that Graph returns only if they are selected, besides extensions.
_ONLY_SELECTED = frozenset({"assignedLabels", "uniqueName"})


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer.

    `path` is the path below `/v1.0`. `query` has the decoded options. `sent` and `answer` are parsed JSON, or None
    without a body. `permissions` are those of the token, or None if the test does not know them.
    """

    method: str
    path: str
    query: Mapping[str, str]
    sent: Json
    status: int
    answer: Json
    permissions: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the description: its path template and its OpenAPI object."""

    method: str
    template: str
    described: Mapping[str, Json]

    def permissions(self) -> frozenset[str] | None:
        """List the permissions that are sufficient; None if the published table has no row for the operation."""
        rows: Mapping[str, list[str]] = self.described["x-ms-permissions"]
        return frozenset(name.removesuffix("*") for row in rows.values() for name in row) if rows else None


class Description:
    """The published description, with a compiled validator for each schema in use."""

    def __init__(self, document: Mapping[str, Json], *, is_strict: bool = False) -> None:
        self._components = document["components"]
        self._is_strict = is_strict
        self._found: dict[tuple[str, str], Operation | None] = {}
        self._validators: dict[tuple[str, str, str], Draft202012Validator] = {}
        self._answered: dict[tuple[str, str], tuple[frozenset[str], bool]] = {}
        self._valid: set[tuple[str, str, str, str]] = set()
        paths = sorted(document["paths"].items(), key=lambda item: item[0].count("{"))
        self._operations = [
            (_pattern(template), method.upper(), Operation(method.upper(), template, described))
            for template, operations in paths
            for method, described in operations.items()
        ]

    def find(self, method: str, path: str) -> Operation | None:
        """Find the operation of a path below `/v1.0`. Paths with fewer variable parts come first."""
        key = (method, path)
        if key not in self._found:
            self._found[key] = self._find(method, path)
        return self._found[key]

    def _find(self, method: str, path: str) -> Operation | None:
        for written, instead in _SAME:
            path = written.sub(instead, path)
        asked = "GET" if method == "HEAD" else method
        for pattern, its_method, operation in self._operations:
            if its_method == asked and pattern.fullmatch(path):
                return operation
        return None

    def problems(self, exchange: Exchange) -> list[str]:
        """Compare an exchange with the description. Returns a sentence for each difference."""
        if exchange.status >= 400:
            return _error_problems(exchange.answer)
        path = exchange.path.rstrip("/")
        is_count = path.endswith("/$count")
        operation = self.find(exchange.method, path.removesuffix("/$count"))
        if operation is None:
            return [f"{exchange.method} {path}: Graph has no such operation, or it is not in operations.txt"]
        found = [*self._permission_problems(operation, exchange), *self._sent_problems(operation, exchange)]
        if is_count:
            found += [] if isinstance(exchange.answer, int | None) else ["a count is a number"]
        else:
            found += self._select_problems(operation, exchange)
            found += self._answer_problems(operation, exchange)
        return [f"{operation.method} {operation.template}: {problem}" for problem in found]

    def _permission_problems(self, operation: Operation, exchange: Exchange) -> Iterable[str]:
        # Each signed-in user may read the own object.
        if exchange.permissions is None or exchange.path.startswith("/me"):
            return
        sufficient = operation.permissions()
        if sufficient is None:
            return
        if not exchange.permissions & (sufficient | _WIDER.get(operation.template, frozenset())):
            yield f"none of {', '.join(sorted(exchange.permissions))} is sufficient"

    def _sent_problems(self, operation: Operation, exchange: Exchange) -> Iterable[str]:
        for name in exchange.query:
            if name.startswith("$") and name not in _OPTIONS:
                yield f"Graph has no option {name}"
        described = operation.described.get("requestBody")
        if exchange.sent is None:
            return
        if described is None:
            yield "the operation takes no body"
        else:
            yield from self._schema_problems(operation, "sent", described, exchange.sent)

    def _answer_problems(self, operation: Operation, exchange: Exchange) -> Iterable[str]:
        described = operation.described["responses"]["2XX"]
        if exchange.answer is None:
            return
        if "content" not in described:
            yield f"{exchange.status} has no body"
            return
        answer = exchange.answer if self._is_strict else _without_deviations(operation, exchange.answer)
        yield from self._schema_problems(operation, "answered", described, answer)

    def _schema_problems(
        self, operation: Operation, which: str, holder: Mapping[str, Json], value: Json
    ) -> Iterable[str]:
        key = (operation.method, operation.template, which)
        # A validation takes a millisecond. Bodies that differ by ids and times alone have the same result.
        body = (*key, _VARIABLE.sub(_same_form, json.dumps(value)))
        if body in self._valid:
            return
        if key not in self._validators:
            schema = {**holder["content"]["application/json"]["schema"], "components": self._components}
            self._validators[key] = Draft202012Validator(schema)
        found = list(self._validators[key].iter_errors(value))
        if not found:
            self._valid.add(body)
        for error in found:
            place = "/".join(map(str, error.absolute_path)) or "."
            yield f"{which}: {place}: {error.message[:300]}"

    def _select_problems(self, operation: Operation, exchange: Exchange) -> Iterable[str]:
        """Compare the names of `$select` and `$orderby` with the type, and the properties of each object with them."""
        if "content" not in operation.described["responses"]["2XX"] or not isinstance(exchange.answer, dict):
            return
        known, is_list = self.properties(operation)
        selected = [name.strip() for name in exchange.query.get("$select", "").split(",") if name.strip()]
        ordered = exchange.query.get("$orderby", "").split()[:1]
        for name in (*selected, *ordered):
            if name not in known and not _EXTENSION.fullmatch(name):
                yield f"the type has no property {name}"
        for each in exchange.answer["value"] if is_list else [exchange.answer]:
            names = {name for name in each if "@" not in name} if isinstance(each, dict) else frozenset()
            if selected:
                # A delta query always returns the id.
                always = {"id"} if operation.template.endswith("/delta") else set()
                yield from (f"{name} is not selected" for name in sorted(names - {*selected} - always))
            # The token of a delta query contains the selection. The answer to an upsert has the unique name
            # (group-upsert.md, example 1).
            elif self._is_strict and operation.method == "GET" and not operation.template.endswith("/delta"):
                hidden = [name for name in names if name in _ONLY_SELECTED or _EXTENSION.fullmatch(name)]
                yield from (f"{name} is returned only if it is selected" for name in sorted(hidden))

    def properties(self, operation: Operation) -> tuple[frozenset[str], bool]:
        """List the properties of the answered type, and say whether the answer is a list of such objects."""
        key = (operation.method, operation.template)
        if key not in self._answered:
            schema = operation.described["responses"]["2XX"]["content"]["application/json"]["schema"]
            is_list = schema.get("properties", {}).get("value", {}).get("type") == "array"
            items = schema["properties"]["value"].get("items", {}) if is_list else schema
            self._answered[key] = (self._properties(items), is_list)
        return self._answered[key]

    def type_properties(self, name: str) -> frozenset[str]:
        """List the properties of a type by its short name."""
        return self._properties({"$ref": f"{_SCHEMAS}microsoft.graph.{name}"})

    def _properties(self, schema: Mapping[str, Json]) -> frozenset[str]:
        """List the properties of a type, or of all types that an answer can have."""
        if "$ref" in schema:
            return self._properties(self._components["schemas"][schema["$ref"].removeprefix(_SCHEMAS)])
        if "anyOf" in schema:
            return frozenset().union(*(self._properties(each) for each in schema["anyOf"]))
        # Relations can be selected in a delta query, which returns them as `members@delta`.
        relations = [_DELTA.fullmatch(each) for each in schema.get("patternProperties", {})]
        names = [found[1].split("|") for found in relations if found is not None]
        return frozenset(schema.get("properties", {})).union(*names)


def _pattern(template: str) -> re.Pattern[str]:
    """Return the pattern of a path. A variable part is a segment, or the text between two quotes."""
    parts = re.split(r"(\{[^}]*\})", template)
    between_quotes = "('{" in template
    variable = r"(?:[^'/]|'')+" if between_quotes else r"[^/]+"
    made = "".join(variable if part.startswith("{") else re.escape(part) for part in parts)
    # The first part of the namespace is optional.
    return re.compile(made.replace(r"/microsoft\.graph\.", r"/(?:microsoft\.)?graph\."))


def _same_form(found: re.Match[str]) -> str:
    """Return one id for all ids, and one time for all times."""
    return "0" * 8 + "-0000" * 3 + "-" + "0" * 12 if found[0][8] == "-" else "2026-01-01T00:00:00Z"


def _without_deviations(operation: Operation, answer: Json) -> Json:
    if operation.template == "/schemaExtensions" and isinstance(answer, dict):
        entries = [{name: each[name] for name in each if each[name] is not None} for each in answer["value"]]
        return {**answer, "value": entries}
    more = _DEVIATIONS.get(operation.template)
    if more is None or not isinstance(answer, dict):
        return answer
    return {name: value for name, value in answer.items() if name not in more}


def _error_problems(answer: Json) -> list[str]:
    if answer is None:
        return []
    match answer:
        case {"error": {"code": str(), "message": str(), **others} as error, **more}:
            names = [*more, *(name for name in others if name not in _ERROR)]
            inner = error.get("innerError", {})
            names += [name for name in inner if name not in _INNER_ERROR or not isinstance(inner[name], str)]
            return [f"{name} is no member of an error" for name in names]
        case _:
            return ["the answer has not the form of an error"]


@cache
def description(*, is_strict: bool = False) -> Description:
    """Load the published description, once for each process."""
    document = json.loads((PUBLISHED / "graph-v1.0.openapi.json").read_text(encoding="utf-8"))
    for path, operations in FURTHER_OPERATIONS.items():
        document["paths"][path] = {**document["paths"].get(path, {}), **operations}
    return Description(document, is_strict=is_strict)


def record(
    answer: httpx2.Response, permissions: frozenset[str] | None = None, *, is_strict: bool = False
) -> httpx2.Response:
    """Validate an answer of the Graph surface whose body was read, and return it. Fails with all differences."""
    described = description(is_strict=is_strict)
    for exchange in read_exchanges(answer, permissions):
        problems = described.problems(exchange)
        assert not problems, "\n".join([str(answer.request.url), *problems])
    return answer


def read_exchanges(answer: httpx2.Response, permissions: frozenset[str] | None = None) -> list[Exchange]:
    """Read an exchange, or the parts of a batch. There is none for other addresses, and none for OPTIONS."""
    request = answer.request
    url = urlsplit(str(request.url))
    _, found, path = unquote(url.path).partition("/graph/v1.0")
    if not found or request.method == "OPTIONS":
        return []
    sent = json.loads(request.content) if request.content and answer.status_code < 400 else None
    answered = json.loads(answer.content) if answer.content else None
    if path == "/$batch" and answer.status_code == 200:
        return _read_parts(sent, answered, permissions)
    query = dict(parse_qsl(url.query, keep_blank_values=True))
    return [Exchange(request.method, path, query, sent, answer.status_code, answered, permissions)]


def _read_parts(sent: Json, answered: Json, permissions: frozenset[str] | None) -> list[Exchange]:
    """Read the parts of a batch, whose form the description does not contain."""
    assert answered.keys() == {"responses"}
    asked = {part["id"]: part for part in sent["requests"]}
    assert sorted(asked) == sorted(part["id"] for part in answered["responses"])
    exchanges = []
    for part in answered["responses"]:
        assert part.keys() <= {"id", "status", "headers", "body"}
        request = asked[part["id"]]
        url = urlsplit("/" + request["url"].strip("/"))
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        body = request.get("body") if part["status"] < 400 else None
        exchanges.append(
            Exchange(request["method"], unquote(url.path), query, body, part["status"], part.get("body"), permissions)
        )
    return exchanges
