"""One row of the table of endpoints: all that is known of it, for the front to serve and for OpenAPI to describe."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from msgspec import Struct

from chamberlain.api.calls import Answer, Call, Stream
from chamberlain.api.services import Services
from chamberlain.rules.permissions import Operation
from chamberlain.shapes.reading import Reader

Body = TypeVar("Body")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the query, or a header: its JSON Schema, and the sentence that explains it."""

    name: str
    schema: Mapping[str, object]
    description: str


@dataclass(frozen=True, slots=True)
class Success:
    """One way in which an endpoint succeeds. `headers` maps names to what they say; `content` None is no body, several
    are one of them.
    Where the body is a stream of server-sent events, `events` maps the name of each to what its data is;
    `lines` is what each line of JSON is, for those who accept lines."""

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
        """What the body may be; nothing where there is none."""
        if self.content is None:
            return ()
        return self.content if isinstance(self.content, tuple) else (self.content,)


@dataclass(frozen=True, slots=True)
class About:
    """What a reader of the OpenAPI document gets told. `example` is one of the body."""

    id: str
    tag: str
    summary: str
    description: str = ""
    example: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Endpoint(Generic[Body]):
    """A method and a path, who may call it, what it takes, what it answers.

    `operation` None means that no token is needed. `shape` None means no body; where the body is optional, one that is
    left out counts as `{}`. Parameters of the path are ids, all of them. `headers` are those that it alone reads.
    `codes` are those that only the use case can find; those that the way itself gives are known from the rest of the
    row.
    """

    method: str
    path: str
    handler: Callable[[Services, Call[Body]], Awaitable[Answer | Stream]]
    operation: Operation | None
    about: About
    answers: tuple[Success, ...]
    shape: Reader[Body] | None = None
    parameters: tuple[Parameter, ...] = ()
    headers: tuple[Parameter, ...] = ()
    codes: tuple[str, ...] = ()
    body_is_optional: bool = False
