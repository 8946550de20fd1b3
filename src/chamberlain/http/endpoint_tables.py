# SPDX-License-Identifier: Apache-2.0
"""Declare endpoints in tables: method, path, handler, permission and description."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct

from chamberlain.auth.permissions import Operation
from chamberlain.core.validation import Reader
from chamberlain.http.request import JSON, YAML, Call, Parameter
from chamberlain.http.responses import Answer, Stream

Service = TypeVar("Service")
Body = TypeVar("Body")


@dataclass(frozen=True, slots=True)
class Success:
    """A successful response of an endpoint.

    `headers` maps names to descriptions. `content` is the type of the body, several alternatives, or None. A stream of
    server-sent events has the type of the data of each event in `events`, and the type of a line of JSON in `lines`.
    """

    status: int
    description: str
    content: type[Struct] | tuple[type[Struct], ...] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    example: Mapping[str, object] | None = None
    links: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    events: Mapping[str, type[Struct]] = field(default_factory=dict)
    lines: type[Struct] | None = None

    @property
    def contents(self) -> tuple[type[Struct], ...]:
        """Return the types of the body."""
        if self.content is None:
            return ()
        return self.content if isinstance(self.content, tuple) else (self.content,)


@dataclass(frozen=True, slots=True)
class About:
    """The description of an endpoint in the OpenAPI document.

    `example` is one of the request body.
    """

    id: str
    tag: str
    summary: str
    description: str = ""
    example: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Endpoint(Generic[Service, Body]):
    """A method and a path, with permission, body and responses.

    The handler gets the service of its noun. `operation` None means that no token is needed. `shape` None means no
    body; a missing optional body counts as `{}`. All path parameters are ids. `headers` are those that only this
    endpoint reads. `codes` are the errors of the service; the pipeline's errors follow from the rest of the row.
    `yaml_shape` reads a body in YAML, which few endpoints accept.
    """

    method: str
    path: str
    handler: Callable[[Service, Call[Body]], Awaitable[Answer | Stream]]
    operation: Operation | None
    about: About
    answers: tuple[Success, ...]
    shape: Reader[Body] | None = None
    parameters: tuple[Parameter, ...] = ()
    headers: tuple[Parameter, ...] = ()
    codes: tuple[str, ...] = ()
    body_is_optional: bool = False
    yaml_shape: Reader[Body] | None = None

    @property
    def media_types(self) -> tuple[bytes, ...]:
        """Return the accepted media types of the body."""
        return (JSON,) if self.yaml_shape is None else (JSON, YAML)


# Rows differ in service and body. The type checker checks each row.
AnyEndpoint = Endpoint[Any, Any]


@dataclass(frozen=True, slots=True)
class EndpointTable(Generic[Service]):
    """The endpoints of one noun, and the class of their service."""

    service: type[Service]
    endpoints: tuple[Endpoint[Service, Any], ...]

    def serve(self, services: Sequence[object]) -> Sequence["ServedEndpoint"]:
        """Join the endpoints with the instance of their service.

        Raises LookupError if there is none.
        """
        for each in services:
            if isinstance(each, self.service):
                return [ServedEndpoint(endpoint, each) for endpoint in self.endpoints]
        raise LookupError(f"No {self.service.__name__} for {self.endpoints[0].path}.")


class ServedEndpoint(NamedTuple):
    """An endpoint with the service that its handler calls."""

    endpoint: AnyEndpoint
    service: object
