# SPDX-License-Identifier: Apache-2.0
"""People as SCIM resources.

Mailboxes are users of the directory too, but no resources here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.graph.calls import Row
from chamberlain.embedded.directory.scim.errors import invalid_value
from chamberlain.embedded.directory.scim.resources import Resource, Selection, weak_etag
from chamberlain.embedded.directory.scim.schemas import ENTERPRISE, USERS, Json
from chamberlain.embedded.directory.writes import users as writes
from chamberlain.embedded.directory.writes.users import UserFields
from chamberlain.queries import load_queries

SQL = load_queries(__name__)


@dataclass(frozen=True, slots=True)
class _Text:
    """A text of the directory with its place in the resource."""

    property: str
    field: str
    attribute: str
    part: str | None = None
    is_enterprise: bool = False


_TEXTS = (
    _Text("givenName", "given_name", "name", "givenName"),
    _Text("surname", "surname", "name", "familyName"),
    _Text("jobTitle", "job_title", "title"),
    _Text("preferredLanguage", "preferred_language", "preferredLanguage"),
    _Text("department", "department", "department", is_enterprise=True),
    _Text("companyName", "company_name", "organization", is_enterprise=True),
    _Text("employeeId", "employee_id", "employeeNumber", is_enterprise=True),
)
# The parts of the address that counts.
_ADDRESS = (
    _Text("streetAddress", "street_address", "streetAddress"),
    _Text("postalCode", "postal_code", "postalCode"),
    _Text("city", "city", "locality"),
    _Text("state", "state", "region"),
    _Text("country", "country", "country"),
)
_GUEST = "Guest"


@dataclass(frozen=True, slots=True)
class _Person:
    """The values of a resource that the directory has columns for."""

    user_name: str
    display_name: str
    mail: str | None
    user_type: str
    is_enabled: bool
    manager_id: UUID | None
    texts: Mapping[str, str]


class Users:
    """The people of all tenants. Writing needs the worker's role."""

    kind = USERS
    further = "groups"

    async def count(self, connection: Connection, tenant_id: UUID) -> int:
        """Count the people of a tenant."""
        counted: int = await connection.fetchval(SQL["count_users"], tenant_id)
        return counted

    async def read(
        self, connection: Connection, tenant_id: UUID, selection: Selection, root: str
    ) -> Sequence[Resource]:
        """Read people in the order of their ids, without their groups."""
        rows = await connection.fetch(
            SQL["users"],
            tenant_id,
            selection.id,
            selection.external_id,
            selection.name,
            selection.after,
            selection.offset,
            selection.most,
        )
        return [_read_row(row, root) for row in rows]

    async def complete(
        self, connection: Connection, tenant_id: UUID, resources: Sequence[Resource], root: str
    ) -> Sequence[Resource]:
        """Add the groups of the people."""
        rows = await connection.fetch(SQL["groups_of"], tenant_id, [one.id for one in resources])
        groups: dict[UUID, list[Json]] = {}
        for row in rows:
            reference = _reference(root, "Groups", row["id"]) | {"display": row["display_name"], "type": "direct"}
            groups.setdefault(row["member_id"], []).append(reference)
        return [replace(one, computed={"groups": groups[one.id]} if one.id in groups else {}) for one in resources]

    async def lock(self, connection: Connection, tenant_id: UUID, id_: UUID) -> None:
        """Lock a user until the end of the transaction."""
        await connection.execute(SQL["lock_user"], tenant_id, id_)

    async def create(self, connection: Connection, tenant_id: UUID, id_: UUID, document: Json) -> None:
        """Create a user. The account is enabled unless the document says otherwise."""
        document = {"active": True, **document}
        person = _person(document)
        await writes.create_user(connection, tenant_id, id_, _fields(person))
        if person.manager_id is not None:
            await _set_manager(connection, tenant_id, id_, person.manager_id)
        await connection.execute(SQL["store"], tenant_id, id_, document.get("externalId"), _encoded(document))

    async def replace(self, connection: Connection, tenant_id: UUID, before: Resource, document: Json) -> None:
        """Write the changed values of a user.

        Properties without a SCIM attribute stay.
        """
        old, new = _person(before.document), _person(document)
        if replace(old, manager_id=None) != replace(new, manager_id=None):
            await writes.update_user(connection, tenant_id, before.id, _fields(new))
        if old.manager_id != new.manager_id:
            await _set_manager(connection, tenant_id, before.id, new.manager_id)
        await connection.execute(SQL["store"], tenant_id, before.id, document.get("externalId"), _encoded(document))

    async def delete(self, connection: Connection, tenant_id: UUID, id_: UUID) -> None:
        """Delete a user."""
        await writes.delete_user(connection, tenant_id, id_)
        await connection.execute(SQL["forget"], tenant_id, id_)


async def _set_manager(connection: Connection, tenant_id: UUID, id_: UUID, manager_id: UUID | None) -> None:
    if manager_id is not None and not await connection.fetchval(SQL["user_exists"], tenant_id, manager_id):
        raise invalid_value(f"There is no user {manager_id} who could be the manager.")
    await writes.set_manager(connection, tenant_id, id_, manager_id)


def _encoded(document: Json) -> str:
    return msgspec.json.encode(document).decode()


def _fields(person: _Person) -> UserFields:
    texts = {text.field: person.texts.get(text.property) for text in (*_TEXTS, *_ADDRESS)}
    return UserFields(
        display_name=person.display_name,
        user_principal_name=person.user_name,
        mail=person.mail,
        user_type="Guest" if person.user_type == _GUEST else "Member",
        account_enabled=person.is_enabled,
        mobile_phone=person.texts.get("mobilePhone"),
        **texts,
    )


def _person(document: Json) -> _Person:
    """Return the values of a resource for the columns of the directory."""
    enterprise = _object(document.get(ENTERPRISE))
    name = _object(document.get("name"))
    user_name = str(document.get("userName", ""))
    texts = {}
    for text in _TEXTS:
        found = (enterprise if text.is_enterprise else document).get(text.attribute)
        texts[text.property] = _object(found).get(text.part) if text.part is not None else found
    address = _main(document, "addresses", "work")
    texts |= {text.property: address.get(text.attribute) for text in _ADDRESS}
    texts["mobilePhone"] = _mobile(document).get("value")
    mail = _main(document, "emails", "work").get("value")
    manager = _object(enterprise.get("manager")).get("value")
    return _Person(
        user_name=user_name,
        display_name=str(document.get("displayName") or name.get("formatted") or _joined_name(name) or user_name),
        mail=None if mail is None else str(mail),
        user_type=_GUEST if str(document.get("userType", "")).lower() == "guest" else "Member",
        is_enabled=document.get("active") is not False,
        manager_id=None if manager is None else _id_of_manager(str(manager)),
        texts={name: str(value) for name, value in texts.items() if value is not None},
    )


def _joined_name(name: Json) -> str:
    return " ".join(str(name[part]) for part in ("givenName", "familyName") if part in name)


def _id_of_manager(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise invalid_value(f"{text} is no id of a user who could be the manager.") from error


def _main(document: Json, attribute: str, type_: str) -> Json:
    """Return the value that the directory keeps.

    It is the primary one, or the one of this type, or the first.
    """
    values = [one for one in _list(document.get(attribute)) if isinstance(one, dict)]
    primary = [one for one in values if one.get("primary") is True]
    typed = [one for one in values if str(one.get("type", "")).lower() == type_]
    return next(iter([*primary, *typed, *values]), {})


def _mobile(document: Json) -> Json:
    values = [one for one in _list(document.get("phoneNumbers")) if isinstance(one, dict)]
    return next((one for one in values if str(one.get("type", "")).lower() == "mobile"), {})


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _reference(root: str, endpoint: str, id_: UUID) -> Json:
    return {"value": str(id_), "$ref": f"{root}/{endpoint}/{id_}"}


def _read_row(row: Row, root: str) -> Resource:
    """Build the resource of a user.

    Values that another program has changed replace those of the document.
    """
    stored = row["document"]
    if stored is None:
        document: Json = {"active": row["account_enabled"], "displayName": row["display_name"]}
    else:
        document = msgspec.json.decode(stored)
    properties = msgspec.json.decode(row["properties"], type=dict[str, str])
    known = {text.property for text in (*_TEXTS, *_ADDRESS)} | {"mobilePhone"}
    now = _Person(
        row["user_principal_name"],
        row["display_name"],
        row["mail"],
        row["user_type"],
        row["account_enabled"],
        row["manager_id"],
        {name: value for name, value in properties.items() if name in known},
    )
    _overwrite(document, now)
    enterprise = document.get(ENTERPRISE)
    if isinstance(enterprise, dict) and "manager" in enterprise:
        enterprise["manager"] = _reference(root, "Users", row["manager_id"])
    if not enterprise:
        document.pop(ENTERPRISE, None)
    document["schemas"] = [USERS.schema, *([ENTERPRISE] if enterprise else [])]
    return Resource(row["id"], document, weak_etag(document), row["created_at"], row["changed_at"], {})


def _overwrite(document: Json, now: _Person) -> None:
    """Set the attributes that differ in the directory."""
    document.setdefault("userName", now.user_name)
    then = _person(document)
    document["userName"] = now.user_name
    enterprise = _object(document.get(ENTERPRISE))
    if now.user_type != then.user_type:
        document["userType"] = now.user_type
    if now.is_enabled != then.is_enabled:
        document["active"] = now.is_enabled
    for text in _TEXTS:
        value = now.texts.get(text.property)
        if value != then.texts.get(text.property):
            _put_text(enterprise if text.is_enterprise else document, text, value)
    if now.mail != then.mail:
        _put_value(document, "emails", now.mail, {"type": "work", **_main(document, "emails", "work")})
    mobile = now.texts.get("mobilePhone")
    if mobile != then.texts.get("mobilePhone"):
        _put_value(document, "phoneNumbers", mobile, {"type": "mobile", **_mobile(document)})
    _put_address(document, now, then)
    if now.manager_id != then.manager_id:
        _put_manager(enterprise, now.manager_id)
    if enterprise:
        document[ENTERPRISE] = enterprise
    if now.display_name != _person(document).display_name:
        document["displayName"] = now.display_name


def _put_manager(enterprise: Json, manager_id: UUID | None) -> None:
    enterprise.pop("manager", None)
    if manager_id is not None:
        enterprise["manager"] = {"value": str(manager_id)}


def _put_text(container: Json, text: _Text, value: str | None) -> None:
    if text.part is None:
        target, name = container, text.attribute
    else:
        target, name = _object(container.get(text.attribute)), text.part
    target.pop(name, None)
    if value is not None:
        target[name] = value
    if text.part is not None:
        container.pop(text.attribute, None)
        if target:
            container[text.attribute] = target


def _put_value(document: Json, attribute: str, value: str | None, current: Json) -> None:
    """Replace the value of an attribute with several that the directory keeps."""
    values = [one for one in _list(document.get(attribute)) if one != current]
    if value is not None:
        values.insert(0, {**current, "value": value})
    document.pop(attribute, None)
    if values:
        document[attribute] = values


def _put_address(document: Json, now: _Person, then: _Person) -> None:
    if all(now.texts.get(text.property) == then.texts.get(text.property) for text in _ADDRESS):
        return
    current = _main(document, "addresses", "work")
    values = [one for one in _list(document.get("addresses")) if one is not current]
    names = {text.attribute for text in _ADDRESS}
    address: Json = {name: value for name, value in current.items() if name not in {*names, "formatted"}}
    found = {text.attribute: now.texts[text.property] for text in _ADDRESS if text.property in now.texts}
    if found:
        values.insert(0, {"type": "work", **address, **found})
    document.pop("addresses", None)
    if values:
        document["addresses"] = values
