# SPDX-License-Identifier: Apache-2.0
"""Writes of teams, channels, team members and guest settings."""

import re
from dataclasses import replace
from typing import Annotated, Final, Literal
from uuid import UUID, uuid5

import msgspec
from msgspec import Meta, Struct, field

from chamberlain.embedded.directory.database import Connection
from chamberlain.embedded.directory.errors import Forbidden, WriteRefused
from chamberlain.embedded.directory.graph.calls import Answer, Call, NotThere, Shape, Written
from chamberlain.embedded.directory.graph.groups import get_team, list_channels, list_settings
from chamberlain.embedded.directory.graph.relations import list_team_members
from chamberlain.embedded.directory.graph.tenant import GUEST_TEMPLATE_ID, GUEST_TEMPLATE_NAME
from chamberlain.embedded.directory.graph.users import fetch_user
from chamberlain.embedded.directory.graph.writes.bodies import convert, parse_reference, read_body, read_object, require
from chamberlain.embedded.directory.graph.writes.calls import created, resource_at, transaction
from chamberlain.embedded.directory.writes import teams as writes
from chamberlain.embedded.directory.writes.groups import Relation, add_references, missing_references
from chamberlain.embedded.directory.writes.teams import GuestSettingsChange

# Members in one call, from the published reference of Graph.
MOST_MEMBERS: Final = 200

_Options = dict[str, bool | str | None]


class _TeamBody(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The options of a team.

    The directory checks their form and does not keep them.
    """

    member_settings: _Options | None = None
    messaging_settings: _Options | None = None
    fun_settings: _Options | None = None
    guest_settings: _Options | None = None


async def create_team(call: Call) -> Answer:
    """Give a group a team."""
    if call.body:
        convert(read_body(call).properties, _TeamBody, "Team")
    async with transaction(call) as connection:
        await writes.create_team(connection, call.tenant_id, _group_id(call))
    return created(call, f"teams/{_group_id(call)}", await get_team(resource_at(call, _group_id(call))))


class _ChannelBody(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    # The characters that the published reference excludes.
    display_name: Annotated[str, Meta(min_length=1, max_length=50, pattern=r"""^[^~#%&*{}+/\\:<>?|'"]+$""")]
    description: Annotated[str, Meta(max_length=1024)] | None = None
    membership_type: Literal["standard"] | None = None


async def create_channel(call: Call) -> Answer:
    """Add a channel to a team."""
    body = convert(read_body(call).properties, _ChannelBody, "Channel")
    async with transaction(call) as connection:
        await writes.create_channel(connection, call.tenant_id, _group_id(call), body.display_name, body.description)
    channels = await list_channels(resource_at(call, _group_id(call)))
    channel = _entry(channels, "displayName", body.display_name)
    context = f"{call.root}/$metadata#teams('{_group_id(call)}')/channels/$entity"
    return created(call, f"teams/{_group_id(call)}/channels/{channel['id']}", {"@odata.context": context, **channel})


class _Member(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    user: str = field(name="user@odata.bind")
    roles: list[Literal["owner", "guest"]] = []
    type: str | None = field(default=None, name="@odata.type")
    visible_history_start_date_time: str | None = None


class _Members(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    values: Annotated[list[dict[str, object]], Meta(min_length=1, max_length=MOST_MEMBERS)]


async def add_members(call: Call) -> Answer:
    """Add several members to a team.

    207 means that some could not be added.
    """
    members = [await _member(call, each) for each in convert(read_object(call), _Members, "Team").values]
    results: list[Shape] = []
    async with transaction(call) as connection:
        await writes.require_team(connection, call.tenant_id, _group_id(call))
        for user_id, is_owner in members:
            try:
                async with connection.transaction():
                    await _add(call, connection, user_id, is_owner=is_owner)
            except WriteRefused as refusal:
                results.append(_result(user_id, {"code": "NotFound", "message": refusal.detail}))
            else:
                results.append(_result(user_id, None))
    context = f"{call.root}/$metadata#Collection(microsoft.graph.aadUserConversationMemberResult)"
    status = 200 if all(each["error"] is None for each in results) else 207
    return Written(status, {"@odata.context": context, "value": results})


async def add_member(call: Call) -> Answer:
    """Add a member to a team."""
    user_id, is_owner = await _member(call, read_object(call))
    async with transaction(call) as connection:
        await writes.require_team(connection, call.tenant_id, _group_id(call))
        await _add(call, connection, user_id, is_owner=is_owner)
    member = _entry(await list_team_members(resource_at(call, _group_id(call))), "userId", str(user_id))
    context = f"{call.root}/$metadata#teams('{_group_id(call)}')/members/$entity"
    return created(call, f"teams/{_group_id(call)}/members/{member['id']}", {"@odata.context": context, **member})


# https://graph.microsoft.com/v1.0/users('ada@example.org'): a team also takes the userPrincipalName.
_BY_ADDRESS = re.compile(r"https?://[^?#]+/users(?:/([^/?#'@]+@[^/?#'@]+)|\('([^/?#'@]+@[^/?#'@]+)'\))")


async def _member(call: Call, given: dict[str, object]) -> tuple[UUID, bool]:
    member = convert(given, _Member, "ConversationMember")
    found = _BY_ADDRESS.fullmatch(member.user)
    if found is None:
        return parse_reference("user@odata.bind", member.user), "owner" in member.roles
    async with call.connected() as connection:
        user = await fetch_user(replace(call, id=None, address=found[1] or found[2]), connection)
    return user["id"], "owner" in member.roles


async def _add(call: Call, connection: Connection, user_id: UUID, *, is_owner: bool) -> None:
    if is_owner and "TeamMember.ReadWrite.All" not in call.writing.permissions:
        raise Forbidden("Insufficient privileges to complete the operation: the token may not add owners.")
    relations = (Relation.MEMBERS, Relation.OWNERS) if is_owner else (Relation.MEMBERS,)
    for relation in relations:
        missing = await missing_references(connection, call.tenant_id, _group_id(call), relation, [user_id])
        await add_references(connection, call.tenant_id, _group_id(call), relation, missing)


def _result(user_id: UUID, error: Shape | None) -> Shape:
    return {
        "@odata.type": "#microsoft.graph.aadUserConversationMemberResult",
        "userId": str(user_id),
        "error": error,
    }


class _Value(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    value: str


class _SettingsBody(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    values: list[_Value]
    template_id: str | None = None
    display_name: str | None = None


async def create_settings(call: Call) -> Answer:
    """Give a group its own guest settings."""
    body = read_body(call)
    require(body.properties, ("templateId", "values"), "GroupSetting")
    change = _settings(convert(body.properties, _SettingsBody, "GroupSetting"))
    async with transaction(call) as connection:
        await writes.create_settings(connection, call.tenant_id, _group_id(call), change)
    shape = _entry(await list_settings(resource_at(call, _group_id(call))), "id", str(settings_id(_group_id(call))))
    context = f"{call.root}/$metadata#groupSettings/$entity"
    return created(call, f"groups/{_group_id(call)}/settings/{shape['id']}", {"@odata.context": context, **shape})


async def update_settings(call: Call) -> Answer:
    """Change the guest settings of a group."""
    body = read_body(call)
    require(body.properties, ("values",), "GroupSetting")
    change = _settings(convert(body.properties, _SettingsBody, "GroupSetting"))
    _check_settings_id(call)
    async with transaction(call) as connection:
        await writes.update_settings(connection, call.tenant_id, _group_id(call), change)
    return Written(204)


async def delete_settings(call: Call) -> Answer:
    """Remove the guest settings of a group."""
    _check_settings_id(call)
    async with transaction(call) as connection:
        await writes.delete_settings(connection, call.tenant_id, _group_id(call))
    return Written(204)


def settings_id(group_id: UUID) -> UUID:
    """Return the id of a group's settings.

    It has at most one object, so the id is derived.
    """
    return uuid5(group_id, GUEST_TEMPLATE_NAME)


def _check_settings_id(call: Call) -> None:
    wanted = call.writing.named[1].lower()
    if wanted != str(settings_id(_group_id(call))):
        raise NotThere("Request_ResourceNotFound", f"Resource '{wanted}' does not exist.")


def _settings(body: _SettingsBody) -> GuestSettingsChange:
    if body.template_id not in {None, GUEST_TEMPLATE_ID}:
        message = f"A group can have settings of the template {GUEST_TEMPLATE_ID} only."
        raise WriteRefused("valueInvalid", message, "templateId")
    change = GuestSettingsChange()
    for each in body.values:
        match each.name, each.value.lower():
            case "AllowToAddGuests", "true" | "false":
                change = replace(change, allow_to_add_guests=each.value.lower() == "true")
            case "GuestsAddedBy", "members" | "owners" | "administrators":
                change = replace(change, guests_added_by=each.value.lower())
            case "AllowedGuestDomains", domains:
                change = replace(change, allowed_guest_domains=_domains(domains))
            case "BlockedGuestDomains", domains:
                change = replace(change, blocked_guest_domains=_domains(domains))
            case _:
                message = f"Invalid value specified for setting '{each.name}'."
                raise WriteRefused("valueInvalid", message, "values")
    return change


def _domains(written: str) -> list[str]:
    return [each.strip() for each in written.split(",") if each.strip()]


def _entry(listed: Shape, name: str, value: str) -> Shape:
    """Return the entry that was just written.

    Raises NotThere if a concurrent call has deleted it.
    """
    entries = msgspec.convert(listed["value"], list[dict[str, object]])
    found = next((each for each in entries if each[name] == value), None)
    if found is None:
        raise NotThere("Request_ResourceNotFound", f"Resource '{value}' does not exist.")
    return found


def _group_id(call: Call) -> UUID:
    return UUID(call.writing.named[0])
