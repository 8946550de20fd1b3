# SPDX-License-Identifier: Apache-2.0
"""Writes below `/groups`."""

from typing import Annotated, Literal, TypeVar
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from chamberlain.embedded.directory.errors import Forbidden, WriteRefused
from chamberlain.embedded.directory.graph.calls import Answer, Call, NotThere, Written
from chamberlain.embedded.directory.graph.groups import get_group
from chamberlain.embedded.directory.graph.writes.bodies import Body, convert, read_body, read_reference, require
from chamberlain.embedded.directory.graph.writes.calls import created, resource_at, transaction
from chamberlain.embedded.directory.writes import groups as writes
from chamberlain.embedded.directory.writes.groups import GroupChange, NewGroup, Relation

# The header by which an upsert creates a group.
_CREATE = "create-if-missing"

_BOUND = ("owners", "members")

# The permissions to create a group with owners and members. Group.Create alone is not sufficient.
_WITH_REFERENCES = frozenset(
    {"Group.ReadWrite.All", "Directory.ReadWrite.All", "Directory.Read.All", "User.Read.All", "User.ReadWrite.All"}
)

Value = TypeVar("Value")


class _Label(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    label_id: Annotated[str, Meta(min_length=1, max_length=256)]
    # Graph returns the name too, so that a client may send it back.
    display_name: str | None = None


class _GroupBody(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The properties that a body can have.

    Lengths and characters are those of the published reference.
    """

    display_name: Annotated[str, Meta(min_length=1, max_length=256)] | UnsetType = UNSET
    mail_nickname: (
        Annotated[str, Meta(min_length=1, max_length=64, pattern=r'^[^\x00-\x20\x7f-\U0010ffff@()\\\[\]";:<>,]+$')]
        | UnsetType
    ) = UNSET
    description: Annotated[str, Meta(max_length=1024)] | UnsetType | None = UNSET
    visibility: Literal["Private", "Public"] | UnsetType | None = UNSET
    group_types: list[Literal["Unified", "DynamicMembership"]] | UnsetType = UNSET
    membership_rule: Annotated[str, Meta(min_length=1, max_length=3072)] | UnsetType | None = UNSET
    membership_rule_processing_state: Literal["On"] | UnsetType | None = UNSET
    mail_enabled: bool | UnsetType = UNSET
    security_enabled: bool | UnsetType = UNSET
    assigned_labels: Annotated[list[_Label], Meta(max_length=1)] | UnsetType = UNSET
    unique_name: Annotated[str, Meta(min_length=1, max_length=128)] | UnsetType = UNSET
    is_assignable_to_role: Literal[False] | UnsetType | None = UNSET


_REQUIRED = ("displayName", "mailEnabled", "mailNickname", "securityEnabled")


async def create_group(call: Call) -> Answer:
    """Create a group."""
    body, fields = _read(call)
    require(body.properties, _REQUIRED, "Group")
    _check_references(call, body)
    new = _new_group(call, body, fields)
    async with transaction(call) as connection:
        await writes.create_group(connection, call.tenant_id, new)
    return created(call, f"groups/{new.id}", await get_group(resource_at(call, new.id)))


async def update_group(call: Call) -> Answer:
    """Change properties of a group, and add owners and members."""
    body, fields = _read(call)
    async with transaction(call) as connection:
        await writes.update_group(connection, call.tenant_id, _group_id(call), _change(body, fields))
    return Written(204)


async def upsert_group(call: Call) -> Answer:
    """Change the group with a unique name.

    A missing one is created if the client prefers that.
    """
    body, fields = _read(call)
    unique_name = call.writing.named[0].replace("''", "'")
    if fields.unique_name not in {UNSET, unique_name}:
        raise WriteRefused("valueInvalid", "The uniqueName of the body is another one.", "uniqueName")
    if not unique_name or len(unique_name) > 128:
        raise WriteRefused("valueInvalid", "A uniqueName has 1 to 128 characters.", "uniqueName")
    new = _new_group(call, body, fields, unique_name)
    async with transaction(call) as connection:
        if await writes.find_by_unique_name(connection, call.tenant_id, unique_name) is None:
            if _CREATE not in call.writing.prefer:
                raise NotThere("Request_ResourceNotFound", f"Resource '{unique_name}' does not exist.")
            require(body.properties, _REQUIRED, "Group")
        if not await writes.upsert_group(connection, call.tenant_id, new, _change(body, fields)):
            return Written(204)
    return created(call, f"groups/{new.id}", await get_group(resource_at(call, new.id)))


async def delete_group(call: Call) -> Answer:
    """Delete a group."""
    async with transaction(call) as connection:
        await writes.delete_group(connection, call.tenant_id, _group_id(call))
    return Written(204)


async def add_reference(call: Call, relation: Relation) -> Answer:
    """Add an owner or a member."""
    one = read_reference(call)
    async with transaction(call) as connection:
        await writes.add_references(connection, call.tenant_id, _group_id(call), relation, [one])
    return Written(204)


async def remove_reference(call: Call, relation: Relation) -> Answer:
    """Remove an owner or a member."""
    async with transaction(call) as connection:
        one = UUID(call.writing.named[1])
        await writes.remove_reference(connection, call.tenant_id, _group_id(call), relation, one)
    return Written(204)


def _group_id(call: Call) -> UUID:
    return UUID(call.writing.named[0])


def _read(call: Call) -> tuple[Body, _GroupBody]:
    body = read_body(call, bound=_BOUND, extends=True)
    fields = convert(body.properties, _GroupBody, "Group")
    if fields.assigned_labels is not UNSET and call.writing.caller_id is None:
        raise Forbidden("Insufficient privileges to complete the operation. Labels need a signed-in user.")
    return body, fields


def _check_references(call: Call, body: Body) -> None:
    """Refuse owners and members of a token that may not read users."""
    if not any(body.references.values()) or call.writing.permissions & _WITH_REFERENCES:
        return
    raise Forbidden("Insufficient privileges to complete the operation. Owners and members need User.Read.All.")


def _new_group(call: Call, body: Body, fields: _GroupBody, unique_name: str | None = None) -> NewGroup:
    types = _given(fields.group_types) or []
    owners = body.references.get("owners", [])
    if not owners and call.writing.caller_id is not None and "Unified" in types:
        # As in Graph, the user who creates a group owns it.
        owners = [call.writing.caller_id]
    return NewGroup(
        id=call.writing.new_id(),
        display_name=_given(fields.display_name) or "",
        mail_nickname=_given(fields.mail_nickname) or "",
        description=_given(fields.description),
        visibility=_given(fields.visibility),
        group_types=types,
        membership_rule=_given(fields.membership_rule),
        mail_enabled=_given(fields.mail_enabled) or False,
        security_enabled=_given(fields.security_enabled) or False,
        label_id=_label(fields),
        unique_name=unique_name or _given(fields.unique_name),
        extensions=body.extensions,
        owners=owners,
        members=body.references.get("members", []),
    )


def _change(body: Body, fields: _GroupBody) -> GroupChange:
    return GroupChange(
        display_name=fields.display_name,
        mail_nickname=fields.mail_nickname,
        description=fields.description,
        # Without a value, the visibility stays.
        visibility=fields.visibility or UNSET,
        group_types=fields.group_types,
        membership_rule=fields.membership_rule,
        mail_enabled=fields.mail_enabled,
        security_enabled=fields.security_enabled,
        label_id=UNSET if fields.assigned_labels is UNSET else _label(fields),
        unique_name=fields.unique_name,
        extensions=body.extensions,
        owners=body.references.get("owners", []),
        members=body.references.get("members", []),
    )


def _label(fields: _GroupBody) -> str | None:
    labels = _given(fields.assigned_labels)
    return labels[0].label_id if labels else None


def _given(value: Value | UnsetType | None) -> Value | None:
    return None if value is UNSET else value
