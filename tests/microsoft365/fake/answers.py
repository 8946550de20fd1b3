# SPDX-License-Identifier: Apache-2.0
"""Calls, answers and errors of the fake."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

# Parsed JSON of any form.
Json: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller by its token: an application, or a user of it with delegated permissions."""

    app: str
    permissions: frozenset[str]
    is_delegated: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A request below `/v1.0`, or a part of a batch.

    `base` is the address before the path, for links in answers. Names of headers are in lower case.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Json
    principal: Principal
    base: str
    is_part: bool = False

    @property
    def is_advanced(self) -> bool:
        """Advanced queries need both parameters (aad-advanced-queries.md)."""
        return self.has_consistency_level and self.query.get("$count", "").lower() == "true"

    @property
    def has_consistency_level(self) -> bool:
        return self.headers.get("consistencylevel", "").lower() == "eventual"

    def link(self, path: str, query: str) -> str:
        """Return a link to another page."""
        return f"{self.base}{path}?{query}"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, before it is written as HTTP or as a part of a batch."""

    status: int
    body: Json = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def with_headers(self, more: Mapping[str, str]) -> "Answer":
        return replace(self, headers={**self.headers, **more})


NO_CONTENT = Answer(204)


class GraphError(Exception):
    """An answer with an error in Graph's form (errors.md)."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        details: tuple[Mapping[str, str], ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.headers = headers or {}


class ConnectionLost(Exception):
    """The connection ends without an answer. The transport turns it into an error of httpx2."""


def bad_request(message: str, code: str = "Request_BadRequest") -> GraphError:
    return GraphError(400, code, message)


def unsupported_query(message: str) -> GraphError:
    """Return the error of aad-advanced-queries.md, "Error handling"."""
    return GraphError(400, "Request_UnsupportedQuery", message)


def not_found(key: str) -> GraphError:
    """Return the error for an object that a replica does not have."""
    return GraphError(
        404,
        "Request_ResourceNotFound",
        f"Resource '{key}' does not exist or one of its queried reference-property objects are not present.",
    )


def missing_reference() -> GraphError:
    """Return the error for a reference to an object that is not replicated yet ([S2])."""
    return bad_request("The source resource object or one of the objects being referenced do not exist.")


def denied(message: str = "Insufficient privileges to complete the operation.") -> GraphError:
    """Return the error of json-batching.md, part 3 of the example."""
    return GraphError(403, "Authorization_RequestDenied", message)


def conflict(target: str) -> GraphError:
    """Return the error of microsoft-graph-docs-contrib issue 8421, with its details."""
    message = f"Another object with the same value for property {target} already exists."
    details = (
        {"code": "ObjectConflict", "message": message, "target": target},
        {"code": "ConflictingObjects", "message": message, "target": target},
    )
    return GraphError(400, "Request_BadRequest", message, details=details)
