# SPDX-License-Identifier: Apache-2.0
"""A program that reads strict answers by the vendor's Graph SDK, and lists members that the SDK does not know."""

import asyncio
import json
import os
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from azure.identity.aio import ClientSecretCredential
from kiota_abstractions.base_request_configuration import RequestConfiguration
from msgraph import GraphServiceClient
from msgraph.generated.groups.item.group_item_request_builder import GroupItemRequestBuilder
from msgraph.generated.models.o_data_errors.o_data_error import ODataError
from msgraph.generated.users.item.check_member_groups.check_member_groups_post_request_body import (
    CheckMemberGroupsPostRequestBody,
)

TEAM_ID, SITE_ID = os.environ["TEAM_ID"], "51730000-0000-4000-8000-000000000001"
ADA = "ada00000-0000-4000-8000-000000000001"


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
    async with ClientSecretCredential(
        os.environ["TENANT_ID"],
        os.environ["AUTOMATION_ID"],
        os.environ["AUTOMATION_SECRET"],
        authority=os.environ["AUTHORITY_HOST"],
        disable_instance_discovery=True,
        connection_verify=os.environ["REQUESTS_CA_BUNDLE"],
    ) as credential:
        graph = GraphServiceClient(credential, scopes=["https://graph.estate.example/.default"])
        graph.request_adapter.base_url = f"{os.environ['GRAPH_URL']}/v1.0"
        group, user = graph.groups.by_group_id(TEAM_ID), graph.users.by_user_id(ADA)
        query = GroupItemRequestBuilder.GroupItemRequestBuilderGetQueryParameters(select=["id", "chamberlain_group"])
        people = (await graph.users.get()).value
        (room,) = (each.id for each in people if each.display_name == "Orangery")
        selected = await group.get(RequestConfiguration(query_parameters=query))
        calls = {
            "groups": graph.groups.get(),
            "group": group.get(),
            "owners": group.owners.get(),
            "members": group.members.get(),
            "users among the members": group.members.graph_user.get(),
            "transitive members": group.transitive_members.graph_user.get(),
            "settings": group.settings.get(),
            "team": group.team.get(),
            "channels": graph.teams.by_team_id(TEAM_ID).channels.get(),
            "members of the team": graph.teams.by_team_id(TEAM_ID).members.get(),
            "changed groups": graph.groups.delta.get(),
            "changed users": graph.users.delta.get(),
            "users": graph.users.get(),
            "user": user.get(),
            "licenses": user.license_details.get(),
            "memberships": user.check_member_groups.post(CheckMemberGroupsPostRequestBody(group_ids=[TEAM_ID])),
            "mailbox settings": graph.users.by_user_id(room).mailbox_settings.get(),
            "rooms": graph.places.graph_room.get(),
            "site": graph.groups.by_group_id(SITE_ID).sites.by_site_id("root").get(),
            "extensions": graph.schema_extensions.get(),
            "organization": graph.organization.get(),
            "templates": graph.group_setting_templates.get(),
        }
        said: dict[str, object] = {"selected": sorted(selected.additional_data), "unknown": {}, "refused": {}}
        for name, call in calls.items():
            try:
                found = sorted(set(unknown(await call)))
            except ODataError as error:
                said["refused"][name] = [error.response_status_code, error.error.code]
                continue
            if found:
                said["unknown"][name] = found
        print(json.dumps(said), flush=True)


asyncio.run(main())
