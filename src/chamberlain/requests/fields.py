# SPDX-License-Identifier: Apache-2.0
"""Custom fields of requests, with the labels of their template revision."""

from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
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
        return (await self.show_all(database, people, (record,)))[0]

    async def show_all(
        self, database: Database, people: People, records: Sequence[RequestRecord]
    ) -> Sequence[tuple[ShownField, ...]]:
        """Return the fields of requests of one tenant.

        It reads the unknown templates in one transaction, and looks up all users at once.
        """
        templates = await self._templates(database, {_revision_of(each) for each in records})
        filled = [_filled(templates.get(_revision_of(each), _NO_FIELDS), each) for each in records]
        users = frozenset(chain.from_iterable(_users(fields, values) for fields, values in filled))
        names = await _names(people, records[0].tenant_id, users) if users else {}
        return [
            tuple(ShownField(each.key, each.label, _shown(each, values[each.key], names)) for each in fields)
            for fields, values in filled
        ]

    async def _templates(
        self, database: Database, revisions: Collection["_Revision | None"]
    ) -> Mapping["_Revision | None", "_Template"]:
        wanted = [each for each in revisions if each is not None]
        found: dict[_Revision | None, _Template] = {}
        for revision in wanted:
            if (template := self._found.get(revision)) is not None:
                self._found.move_to_end(revision)
                found[revision] = template
        if missing := [each for each in wanted if each not in found]:
            async with database.transaction(missing[0][0]) as tx:
                columns = ([template for _, template, _ in missing], [number for _, _, number in missing])
                rows = await tx.fetch(SQL["find_templates"], tx.tenant_id, *columns)
            for row in rows:
                revision = (missing[0][0], TemplateId(row["template_id"]), row["revision"])
                found[revision] = self._found[revision] = _decode_template(row["content"].encode())
            while len(self._found) > _MOST_REVISIONS:
                self._found.popitem(last=False)
        return found


def _revision_of(record: RequestRecord) -> "_Revision | None":
    template = record.template
    return None if template is None else (record.tenant_id, template.id, template.revision)


def _filled(template: "_Template", record: RequestRecord) -> tuple[Sequence["_Field"], Mapping[str, _Value]]:
    """Return the fields with a value in the request, and the values."""
    if not template.custom_fields:
        return (), {}
    sent = _decode_body(record.body).metadata
    defaults = None if template.defaults is None else template.defaults.metadata
    values = (defaults if sent is None else sent) or {}
    return [each for each in template.custom_fields if values.get(each.key, "") != ""], values


async def _names(people: People, tenant_id: TenantId, users: frozenset[UserId]) -> Mapping[UserId, str]:
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
