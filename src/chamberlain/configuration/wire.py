# SPDX-License-Identifier: Apache-2.0
"""The JSON of configuration documents and plans."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Raw, Struct, json

from chamberlain.changes.models import Content
from chamberlain.configuration.rules import ChangeVerb, ConfigurationNoun, Plan, PlannedChange
from chamberlain.configuration.sent import SentDocument
from chamberlain.core.fields import Shape
from chamberlain.core.json import parse_object
from chamberlain.core.validation import Reader

_Object = Annotated[Raw, Meta(extra_json_schema={"type": "object"})]


class ConfigurationDocument(Shape, frozen=True, kw_only=True):
    """A configuration document.

    Each tenant has `id`, `name` and `domains`, and may have `administrators`, `repair`, `applicability`, `connection`,
    `templates`, `policies` and `assignments`. Over HTTP there is only the tenant of the token.
    """

    tenants: Annotated[tuple[_Object, ...], Meta(max_length=1)] | None = None


class ConfigurationChange(Struct, rename="camel", frozen=True):
    """A change of a plan.

    `before` and `after` have only the changed properties; of a new or removed object, all of them. Secrets are masked.
    `removes` is true if the change removes something.
    """

    verb: ChangeVerb
    noun: ConfigurationNoun
    tenant_id: UUID
    id: UUID
    name: str
    before: _Object | None
    after: _Object | None
    removes: bool


class ConfigurationCounts(Struct, rename="camel", frozen=True):
    """The number of changes of each kind."""

    create: int
    change: int
    remove: int


class ConfigurationPlan(Struct, rename="camel", frozen=True):
    """The changes that a document makes, in their order. `digest` identifies them."""

    digest: str
    counts: ConfigurationCounts
    changes: tuple[ConfigurationChange, ...]


class JsonDocumentReader(Reader[SentDocument]):
    """Reads the JSON object of a document. The service validates it."""

    def __init__(self) -> None:
        self.types = (ConfigurationDocument,)

    def read(self, raw: bytes) -> SentDocument:
        """Parse a body. Raises Malformed."""
        return SentDocument(parse_object(raw))


class YamlDocumentReader(Reader[SentDocument]):
    """Takes a document in YAML, which the service parses in a thread."""

    def __init__(self) -> None:
        self.types = (ConfigurationDocument,)

    def read(self, raw: bytes) -> SentDocument:
        """Take a body."""
        return SentDocument(raw)


def to_plan(plan: Plan, digest: str) -> ConfigurationPlan:
    """Convert a plan to its JSON."""
    counts = ConfigurationCounts(
        *(plan.count(verb) for verb in (ChangeVerb.CREATE, ChangeVerb.CHANGE, ChangeVerb.REMOVE))
    )
    return ConfigurationPlan(digest, counts, tuple(map(_change, plan.changes)))


def _change(change: PlannedChange) -> ConfigurationChange:
    return ConfigurationChange(
        change.verb,
        change.noun,
        change.tenant_id,
        change.id,
        change.name,
        _raw(change.before),
        _raw(change.after),
        change.takes_away,
    )


def _raw(content: Content | None) -> Raw | None:
    return None if content is None else Raw(json.encode(content))
