# SPDX-License-Identifier: Apache-2.0
"""A program that reads and writes the fake Microsoft 365 by the vendor's Graph SDK, over a socket."""

import asyncio
import json
import os
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import httpx
from kiota_abstractions.authentication.anonymous_authentication_provider import AnonymousAuthenticationProvider
from msgraph import GraphRequestAdapter, GraphServiceClient
from msgraph.generated.models.channel import Channel
from msgraph.generated.models.group import Group
from msgraph.generated.models.group_setting import GroupSetting
from msgraph.generated.models.o_data_errors.o_data_error import ODataError
from msgraph.generated.models.reference_create import ReferenceCreate
from msgraph.generated.models.setting_value import SettingValue
from msgraph.generated.models.team import Team
from msgraph.generated.models.team_member_settings import TeamMemberSettings
from msgraph.generated.models.user import User
from msgraph.generated.users.item.check_member_groups.check_member_groups_post_request_body import (
    CheckMemberGroupsPostRequestBody,
)
from msgraph_core import GraphClientFactory

GRAPH = os.environ["GRAPH_URL"]
ADA, BEN = "ada00000-0000-4000-8000-000000000001", "be000000-0000-4000-8000-000000000002"
GUEST_TEMPLATE = "08d542b9-071f-4e16-94b0-74abb372e3d9"


def unknown(model: object) -> Iterator[str]:
    """List the members in `additional_data` that are neither an annotation nor an extension."""
    if isinstance(model, list):
        for each in model:
            yield from unknown(each)
    elif is_dataclass(model) and not isinstance(model, type):
        for name in getattr(model, "additional_data", None) or {}:
            if "@" not in name and "_" not in name:
                yield f"{type(model).__name__}.{name}"
        for field in fields(model):
            if field.name not in {"additional_data", "backing_store"}:
                yield from unknown(getattr(model, field.name, None))


async def main() -> None:
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    client = GraphClientFactory.create_with_default_middleware(client=httpx.AsyncClient(headers=headers))
    adapter = GraphRequestAdapter(AnonymousAuthenticationProvider(), client=client)
    adapter.base_url = GRAPH
    graph = GraphServiceClient(request_adapter=adapter)

    body = Group(
        display_name="Golf",
        mail_enabled=True,
        mail_nickname="golf",
        security_enabled=False,
        group_types=["Unified"],
        visibility="Private",
        additional_data={"owners@odata.bind": [f"{GRAPH}/users/{ADA}"]},
    )
    created = await graph.groups.post(body)
    group, team = graph.groups.by_group_id(created.id), graph.teams.by_team_id(created.id)
    by_name = graph.groups_with_unique_name("golf")
    user = graph.users.by_user_id(BEN)
    setting = GroupSetting(template_id=GUEST_TEMPLATE, values=[SettingValue(name="AllowToAddGuests", value="false")])
    calls = {
        "unique name": lambda: group.patch(Group(unique_name="golf")),
        "group by name": by_name.get,
        "group": group.get,
        "member": lambda: group.members.ref.post(ReferenceCreate(odata_id=f"{GRAPH}/directoryObjects/{BEN}")),
        "owner": lambda: group.owners.ref.post(ReferenceCreate(odata_id=f"{GRAPH}/users/{BEN}")),
        "no owner": group.owners.by_directory_object_id(BEN).ref.delete,
        "groups": graph.groups.get,
        "owners": group.owners.get,
        "users among the owners": group.owners.graph_user.get,
        "members": group.members.get,
        "users among the members": group.members.graph_user.get,
        "transitive members": group.transitive_members.graph_user.get,
        "new setting": lambda: group.settings.post(setting),
        "settings": group.settings.get,
        "settings of the tenant": graph.group_settings.get,
        "templates": graph.group_setting_templates.get,
        "new team": lambda: group.team.put(
            Team(member_settings=TeamMemberSettings(allow_create_update_channels=False))
        ),
        "team": team.get,
        "new channel": lambda: team.channels.post(Channel(display_name="Plans")),
        "channels": team.channels.get,
        "members of the team": team.members.get,
        "site": lambda: group.sites.by_site_id("root").get(),
        "users": graph.users.get,
        "user": user.get,
        "manager": user.manager.get,
        "licenses": graph.users.by_user_id(ADA).license_details.get,
        "memberships": lambda: user.check_member_groups.post(CheckMemberGroupsPostRequestBody(group_ids=[created.id])),
        "change of a user": lambda: user.patch(User(account_enabled=True)),
        "sessions": user.revoke_sign_in_sessions.post,
        "labels": graph.security.data_security_and_governance.sensitivity_labels.get,
        "changed groups": graph.groups.delta.get,
        "changed users": graph.users.delta.get,
        "extensions": graph.schema_extensions.get,
        "organization": graph.organization.get,
        "domains": graph.domains.get,
        "contacts": graph.contacts.get,
        "no member": group.members.by_directory_object_id(BEN).ref.delete,
        "no group": group.delete,
        "recycle bin": graph.directory.deleted_items.graph_group.get,
    }
    said: dict[str, dict[str, object]] = {"unknown": {}, "refused": {}}
    for name, call in calls.items():
        try:
            found = sorted(set(unknown(await call())))
        except ODataError as error:
            said["refused"][name] = [error.response_status_code, error.error.code, error.error.message]
            continue
        if found:
            said["unknown"][name] = found
    print(json.dumps(said), flush=True)


asyncio.run(main())
