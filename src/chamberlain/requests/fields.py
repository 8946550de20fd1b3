# SPDX-License-Identifier: Apache-2.0
"""Custom fields of requests, with the labels of their template revision."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias
from uuid import UUID

from msgspec import Struct

from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import WRITTEN_ID, TemplateId, TenantId, UserId
from chamberlain.core.json import StoredDecoder
from chamberlain.database.transactions import Database
from chamberlain.directory.models import PeopleQuestion
from chamberlain.directory.port import People
from chamberlain.queries import load_queries
from chamberlain.requests.models import RequestRecord, ShownField

SQL = load_queries(__name__)

# A revision never changes. An entry has at most 64 fields, usually a few.
_MOST_REVISIONS: Final = 2_000

_Value: TypeAlias = str | bool
_Revision: TypeAlias = tuple[TenantId, TemplateId, int]


class TemplateFields:
    """An LRU cache of the custom fields of template revisions."""

    def __init__(self) -> None:
        self._found: OrderedDict[_Revision, _Template] = OrderedDict()

    async def show(self, database: Database, people: People, record: RequestRecord) -> tuple[ShownField, ...]:
        """Return the fields that have a value in the request.

        A choice has its label, and a user the name in the directory, or the id if the directory does not know or does
        not answer. Raises Unavailable without the database.
        """
        if record.template is None:
            return ()
        template = await self._template(database, (record.tenant_id, record.template.id, record.template.revision))
        if not template.custom_fields:
            return ()
        sent = _decode_body(record.body).metadata
        defaults = None if template.defaults is None else template.defaults.metadata
        values = (defaults if sent is None else sent) or {}
        filled = [each for each in template.custom_fields if values.get(each.key, "") != ""]
        names = await _names(people, record.tenant_id, filled, values)
        return tuple(ShownField(each.key, each.label, _shown(each, values[each.key], names)) for each in filled)

    async def _template(self, database: Database, revision: _Revision) -> "_Template":
        if (found := self._found.get(revision)) is not None:
            self._found.move_to_end(revision)
            return found
        async with database.transaction(revision[0]) as tx:
            row = await tx.fetch_row(SQL["find_template"], *revision)
        if row is None:
            return _NO_FIELDS
        template = self._found[revision] = _decode_template(row["content"].encode())
        if len(self._found) > _MOST_REVISIONS:
            self._found.popitem(last=False)
        return template


async def _names(
    people: People, tenant_id: TenantId, fields: Sequence["_Field"], values: Mapping[str, _Value]
) -> Mapping[UserId, str]:
    users = frozenset(_users(fields, values))
    if not users:
        return {}
    try:
        answer = await people.look_up(PeopleQuestion(tenant_id, users=users))
    except TryAgain:
        return {}
    return {user: person.display_name for user, person in answer.people.items()}


def _users(fields: Sequence["_Field"], values: Mapping[str, _Value]) -> Iterator[UserId]:
    for each in fields:
        value = values[each.key]
        if each.type == "user" and isinstance(value, str) and WRITTEN_ID.fullmatch(value):
            yield UserId(UUID(value))


def _shown(field: "_Field", value: _Value, names: Mapping[UserId, str]) -> _Value:
    if not isinstance(value, str):
        return value
    if field.type == "user" and WRITTEN_ID.fullmatch(value):
        return names.get(UserId(UUID(value))) or value
    labels = [choice.label for choice in field.choices or () if choice.value == value]
    return labels[0] if labels else value


class _Choice(Struct, frozen=True):
    value: str
    label: str


class _Field(Struct, frozen=True):
    key: str
    label: str
    type: str
    choices: tuple[_Choice, ...] | None = None


class _Metadata(Struct, frozen=True):
    """The metadata of a body, or of the defaults of a template."""

    metadata: dict[str, _Value] | None = None


class _Template(Struct, frozen=True, rename="camel"):
    """The fields of a stored template of any kind."""

    custom_fields: tuple[_Field, ...] = ()
    defaults: _Metadata | None = None


_NO_FIELDS: Final = _Template()
_decode_template = StoredDecoder(_Template).decode
_decode_body = StoredDecoder(_Metadata).decode
