"""Tables of endpoints: their rows, which OpenAPI describes, and the lookup of a path."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct
from starlette.routing import compile_path

from chamberlain.auth.permissions import Operation
from chamberlain.core.validation import Reader
from chamberlain.http.calls import Answer, Stream
from chamberlain.http.context import Call
from chamberlain.http.problems import MethodNotAllowed

Service = TypeVar("Service")
Body = TypeVar("Body")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the query or a header, with its JSON Schema and description."""

    name: str
    schema: Mapping[str, object]
    description: str


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
    """The description of an endpoint in the OpenAPI document. `example` is one of the request body."""

    id: str
    tag: str
    summary: str
    description: str = ""
    example: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Endpoint(Generic[Service, Body]):
    """A method and a path, with permission, parameters, body and responses. The handler gets the service of its noun.

    `operation` None means that no token is needed. `shape` None means no body; a missing optional body counts as `{}`.
    All path parameters are ids. `headers` are those that only this endpoint reads. `codes` are the errors of the
    service; the pipeline's errors follow from the rest of the row.
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


class Resource:
    """A path template with its methods. HEAD exists for each GET, OPTIONS everywhere."""

    def __init__(self, path: str, served: Sequence[ServedEndpoint]) -> None:
        self.path = path
        self._endpoints = {each.endpoint.method: each for each in served}
        if "GET" in self._endpoints:
            self._endpoints["HEAD"] = self._endpoints["GET"]
        self.allow = ", ".join((*self._endpoints, "OPTIONS")).encode("ascii")

    def endpoint(self, method: str) -> ServedEndpoint:
        """Find the endpoint of a method. Raises MethodNotAllowed."""
        endpoint = self._endpoints.get(method)
        if endpoint is None:
            raise MethodNotAllowed(self.allow)
        return endpoint


class Resources:
    """All paths. Those without parameters are found by one lookup; the others are matched by their first part."""

    def __init__(self, served: Sequence[ServedEndpoint]) -> None:
        self._exact: dict[str, Resource] = {}
        # By the first part of their paths, which is never a parameter.
        self._templates: dict[str, list[_Template]] = {}
        for path in dict.fromkeys(each.endpoint.path for each in served):
            resource = Resource(path, [each for each in served if each.endpoint.path == path])
            # The trailing slash is optional.
            for spelling in (path.rstrip("/"), f"{path.rstrip('/')}/"):
                if "{" in path:
                    self._templates.setdefault(_first_part(path), []).append((compile_path(spelling)[0], resource))
                else:
                    self._exact[spelling] = resource

    def find(self, path: str) -> tuple[Resource | None, Mapping[str, str]]:
        """Find the resource of a path, with the texts of its path parameters."""
        resource = self._exact.get(path)
        if resource is not None:
            return resource, _NO_TEXTS
        for pattern, templated in self._templates.get(_first_part(path), ()):
            match = pattern.match(path)
            if match is not None:
                return templated, match.groupdict()
        return None, _NO_TEXTS


def _first_part(path: str) -> str:
    return path[1:].partition("/")[0]


_Template = tuple[re.Pattern[str], Resource]
_NO_TEXTS: Mapping[str, str] = {}
