# SPDX-License-Identifier: Apache-2.0
"""Generate the OpenAPI document from the table of endpoints."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chamberlain import __version__
from chamberlain.auth.models import ActorType
from chamberlain.auth.permissions import is_for_any_token
from chamberlain.http.endpoint_tables import AnyEndpoint, Success
from chamberlain.http.problems import BUG, STATUSES, TITLES, Problem
from chamberlain.http.request import LIMIT, HttpContext, Parameter
from chamberlain.http.schemas import is_for_applications, permission_names, reference_to, schemas_of

# A JSON value of the document; the OpenAPI specification defines its type.
Json = dict[str, Any]

# Sections of the document, in the order that a reader needs them.
TAGS = (
    "Me",
    "Groups and teams",
    "Requests",
    "People",
    "Operation",
    "Webhooks",
    "Mailboxes",
    "Mailbox templates",
    "Groups and sites",
    "Adoption",
    "Connections",
    "Templates of groups, teams and guests",
    "Tenant",
    "Configuration",
    "Guest policies",
)
_PROBLEM = "application/problem+json"
_DESCRIPTION = """Self-service for groups, teams, sites and mailboxes in front of a directory.

A trailing slash of a path is optional. A body is JSON in UTF-8, at most {size} KiB, sent within {seconds:g} seconds.
Of two members with the same name the last one counts. An integer may be written `2` or `2.0`. In the body of a POST or
PUT, `null` means "not sent". Unknown properties and unknown query parameters are rejected.

Errors are problem documents (RFC 9457) with a stable `code`. `errors` lists the faults of a body with their JSON
Pointers, at most 100; `errorsTruncated` says that there are more. A fault of the path, the query or a header in the
same list has an empty pointer. `traceId` equals the header `request-id` of the same response, and the trace id of
`traceparent` if you send one. Every GET also supports HEAD. OPTIONS returns the methods of a path."""


def describe(endpoints: Sequence[AnyEndpoint], http: HttpContext) -> Json:
    """Generate the document."""
    return {
        "openapi": "3.1.0",
        "info": {
            # Client generators derive a package name from it. "Chamberlain" gives the name of the SDK.
            "title": "Chamberlain API",
            "version": __version__,
            "description": _DESCRIPTION.format(size=LIMIT // 1024, seconds=http.body_timeout_seconds),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": url} for url in _servers(http)],
        "tags": [{"name": tag} for tag in TAGS],
        "paths": _paths(endpoints, http),
        "components": {
            "schemas": describe_schemas(endpoints),
            "headers": _HEADERS,
            "parameters": _PARAMETERS,
            "examples": {code: _problem_example(code) for code in TITLES},
            "securitySchemes": _security_schemes(endpoints, http),
        },
    }


def describe_schemas(endpoints: Sequence[AnyEndpoint]) -> Json:
    """Describe the types of all bodies and responses."""
    types = {content for endpoint in endpoints for content in _contents(endpoint)}
    bodies = [type_ for endpoint in endpoints if endpoint.shape is not None for type_ in endpoint.shape.types]
    return schemas_of(types, bodies=bodies)


def codes_of(endpoint: AnyEndpoint) -> tuple[str, ...]:
    """Return all problem codes of an endpoint."""
    codes = ["unknownParameter", "hostUnknown", "headTooLarge", BUG]
    if endpoint.shape is not None:
        codes += ["notJson", "notAnObject", "invalidBody", "bodyTooLarge", "notJsonContent"]
    if endpoint.yaml_shape is not None:
        codes.append("notYaml")
    if endpoint.parameters or endpoint.headers or endpoint.method == "POST":
        codes.append("invalidParameter")
    if "{" in endpoint.path:
        codes.append("malformedId")
    if endpoint.operation is not None:
        codes += ["tokenMissing", "tokenInvalid", "tokenExpired", "audienceUnknown"]
        if not is_for_any_token(endpoint.operation):
            codes.append("insufficientScope")
        # Authentication may need the issuer's keys or the database.
        codes += ["databaseUnavailable", "issuerUnavailable", "overloaded"]
        if not is_for_applications(endpoint.operation):
            codes.append("applicationNotSupported")
    return tuple(code for code in TITLES if code in {*codes, *endpoint.codes})


def _contents(endpoint: AnyEndpoint) -> Iterable[type]:
    yield Problem
    if endpoint.shape is not None:
        yield from endpoint.shape.types
    yield from (content for answer in endpoint.answers for content in answer.contents)
    yield from (data for answer in endpoint.answers for data in answer.events.values())
    yield from (answer.lines for answer in endpoint.answers if answer.lines is not None)


def _servers(http: HttpContext) -> Iterable[str]:
    return dict.fromkeys((http.addresses.base_url, http.addresses.insiders_base_url))


def _paths(endpoints: Sequence[AnyEndpoint], http: HttpContext) -> Json:
    paths: Json = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, http)
    return paths


def _operation(endpoint: AnyEndpoint, http: HttpContext) -> Json:
    about = endpoint.about
    operation: Json = {
        "operationId": about.id,
        "tags": [about.tag],
        "summary": about.summary,
        "description": "\n\n".join(filter(None, (about.description, _permission_words(endpoint, http)))),
        "parameters": [
            *map(_path_parameter, _ids(endpoint)),
            *(_parameter(parameter, "query") for parameter in endpoint.parameters),
            *(_parameter(parameter, "header") for parameter in endpoint.headers),
            *_header_parameters(endpoint),
        ],
        "responses": {**{str(a.status): _success(a) for a in endpoint.answers}, **_problems(endpoint)},
        "security": _security(endpoint, http),
    }
    if endpoint.shape is not None:
        content: Json = {"schema": _schema(*endpoint.shape.types)}
        if about.example is not None:
            content["example"] = about.example
        # Client generators drop operations with media types that they do not know.
        first, *others = [each.decode("ascii") for each in endpoint.media_types]
        body: Json = {"required": not endpoint.body_is_optional, "content": {first: content}}
        if others:
            body["description"] = f"Also accepted, with the same content: `{'`, `'.join(others)}`."
        operation["requestBody"] = body
    return operation


def _schema(*types: type) -> Json:
    """Refer to one of these types."""
    references = [reference_to(type_) for type_ in types]
    return references[0] if len(references) == 1 else {"oneOf": references}


def _success(answer: Success) -> Json:
    response: Json = {"description": answer.description, "headers": {**_EVERYWHERE, **_described(answer.headers)}}
    if answer.contents:
        content: Json = {"schema": _schema(*answer.contents)}
        if answer.example is not None:
            content["example"] = answer.example
        response["content"] = {"application/json": content}
    if answer.events:
        response["content"] = {"text/event-stream": _events(answer)}
    if answer.lines is not None:
        # As with events, no schema describes the whole stream.
        response["content"]["application/x-ndjson"] = {"x-line": _schema(answer.lines)}
    if answer.links:
        response["links"] = answer.links
    return response


def _events(answer: Success) -> Json:
    """Describe the data of each event.

    Tools disagree whether `schema` is that of the stream, so there is none.
    """
    return {"x-events": {name: _schema(type_) for name, type_ in answer.events.items()}}


def _described(headers: Mapping[str, str]) -> Json:
    return {name: {"description": says, "schema": {"type": "string"}} for name, says in headers.items()}


def _problems(endpoint: AnyEndpoint) -> Json:
    """Describe one response for each status, with an example for each code."""
    codes = codes_of(endpoint)
    return {
        str(status): _problem([code for code in codes if STATUSES[code] == status])
        for status in sorted({STATUSES[code] for code in codes})
    }


def _problem(codes: Sequence[str]) -> Json:
    headers = dict(_EVERYWHERE)
    for name, where in _HEADERS_OF_PROBLEMS.items():
        if where & set(codes):
            headers[name] = {"$ref": f"#/components/headers/{name}"}
    examples = {code: {"$ref": f"#/components/examples/{code}"} for code in codes}
    return {
        "description": "\n".join(f"- `{code}`: {TITLES[code]}" for code in codes),
        "headers": headers,
        "content": {_PROBLEM: {"schema": _schema(Problem), "examples": examples}},
    }


def _problem_example(code: str) -> Json:
    value: Json = {
        "type": f"/problems/{code}",
        "title": TITLES[code],
        "status": STATUSES[code],
        "code": code,
        "detail": "One sentence with the fix.",
        "instance": "/collab/v1/groups/",
        "traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
    }
    if code == "invalidBody":
        value["errors"] = [{"pointer": "/displayName", "code": "missingProperty", "detail": "displayName is required."}]
    if code == "notPossible":
        value["errors"] = [{"pointer": "/owners/0", "code": "userUnknown", "detail": "There is no such user."}]
    return {"summary": TITLES[code], "value": value}


def _ids(endpoint: AnyEndpoint) -> Sequence[str]:
    return re.findall(r"{(\w+)}", endpoint.path)


def _path_parameter(name: str) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}


def _parameter(parameter: Parameter, place: str) -> Json:
    return {
        "name": parameter.name,
        "in": place,
        "description": parameter.description,
        **({"required": True} if parameter.required else {}),
        "schema": dict(parameter.schema),
    }


def _header_parameters(endpoint: AnyEndpoint) -> Iterable[Json]:
    if endpoint.method == "POST":
        yield {"$ref": "#/components/parameters/Idempotency-Key"}
    yield {"$ref": "#/components/parameters/client-request-id"}
    yield {"$ref": "#/components/parameters/traceparent"}


def _permission_words(endpoint: AnyEndpoint, http: HttpContext) -> str:
    if endpoint.operation is None:
        return "Public: no token is needed."
    if is_for_any_token(endpoint.operation):
        return "Any token of a user or an application is enough. No permission is needed."
    lines = []
    for type_, who in ((ActorType.USER, "On behalf of a user"), (ActorType.APPLICATION, "As an application")):
        names = permission_names(endpoint.operation, type_, http.prefixes)
        says = "not supported" if names is None else " or ".join(f"`{name}`" for name in names)
        lines.append(f"- {who}: {says}")
    return "Permissions:\n\n" + "\n".join(lines)


def _names(endpoint: AnyEndpoint, type_: ActorType, http: HttpContext) -> Sequence[str]:
    """Return the permissions of callers of a type, of which one suffices."""
    if endpoint.operation is None:
        return ()
    return permission_names(endpoint.operation, type_, http.prefixes) or ()


def _security(endpoint: AnyEndpoint, http: HttpContext) -> Sequence[Json]:
    """Return the alternatives of an operation: a scheme and its permissions."""
    if endpoint.operation is not None and is_for_any_token(endpoint.operation):
        return [{scheme: []} for scheme in _SCHEMES]
    return [{scheme: [name]} for scheme, type_ in _SCHEMES.items() for name in _names(endpoint, type_, http)]


def _security_schemes(endpoints: Sequence[AnyEndpoint], http: HttpContext) -> Json:
    if http.oauth_url is None:
        bearer: Json = {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
        return {name: {**bearer, "description": _TOKENS[name]} for name in _SCHEMES}
    scopes = {
        scheme: dict.fromkeys((name for endpoint in endpoints for name in _names(endpoint, type_, http)), "")
        for scheme, type_ in _SCHEMES.items()
    }
    token = {"tokenUrl": f"{http.oauth_url}/token"}
    flows: Mapping[str, Json] = {
        "delegated": {
            "authorizationCode": {"authorizationUrl": f"{http.oauth_url}/authorize", **token},
            # A standard member since OpenAPI 3.2, under the name `deviceAuthorization`. Version 3.1 has no such flow.
            "x-deviceAuthorization": {"deviceAuthorizationUrl": f"{http.oauth_url}/devicecode", **token},
        },
        "application": {"clientCredentials": token},
    }
    return {
        scheme: {
            "type": "oauth2",
            "description": _TOKENS[scheme],
            "flows": {flow: {**urls, "scopes": scopes[scheme]} for flow, urls in flows[scheme].items()},
        }
        for scheme in _SCHEMES
    }


# The security schemes, by the type of the caller.
_SCHEMES = {"delegated": ActorType.USER, "application": ActorType.APPLICATION}
_TOKENS = {
    "delegated": "A token of the tenant's issuer on behalf of a user, by authorization code or device code. "
    "The permissions are scopes.",
    "application": "A token of the tenant's issuer for an application, by client credentials. "
    "The permissions are application roles. With the scope `{audience}/.default`, the token has all that it holds.",
}
_EVERYWHERE: Json = {name: {"$ref": f"#/components/headers/{name}"} for name in ("request-id", "client-request-id")}
_HEADERS: Json = _described(
    {
        "request-id": "The trace id of this call.",
        "client-request-id": "The header of the call with this name.",
        "WWW-Authenticate": "The fault of the token (RFC 6750).",
        "Retry-After": "Seconds to wait before a retry.",
    }
)
_HEADERS_OF_PROBLEMS = {
    "WWW-Authenticate": frozenset({"tokenMissing", "insufficientScope"}),
    "Retry-After": frozenset(
        {
            "idempotencyKeyInProgress",
            "rateExceeded",
            "quotaExceeded",
            "databaseUnavailable",
            "issuerUnavailable",
            "overloaded",
        }
    ),
}
_PARAMETERS: Json = {
    "Idempotency-Key": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Makes a retry safe: it returns the first response again, with `Idempotency-Replayed: true`. "
        "A key belongs to tenant, client and caller for 7 days. Visible ASCII characters.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    },
    "client-request-id": {
        "name": "client-request-id",
        "in": "header",
        "description": "Sent back if it has at most 128 visible ASCII characters, otherwise ignored.",
        "schema": {"type": "string"},
    },
    "traceparent": {
        "name": "traceparent",
        "in": "header",
        "description": "W3C Trace Context. Its trace id becomes the `request-id`. A malformed header is ignored.",
        "schema": {"type": "string"},
    },
}
