# SPDX-License-Identifier: Apache-2.0
"""A program that writes the directory by the vendor's Graph SDK: only the address and the credential are others."""

import asyncio
import json
import os

from azure.identity.aio import ClientSecretCredential
from kiota_abstractions.base_request_configuration import RequestConfiguration
from msgraph import GraphServiceClient
from msgraph.generated.groups.groups_request_builder import GroupsRequestBuilder
from msgraph.generated.models.channel import Channel
from msgraph.generated.models.group import Group
from msgraph.generated.models.o_data_errors.o_data_error import ODataError
from msgraph.generated.models.password_profile import PasswordProfile
from msgraph.generated.models.reference_create import ReferenceCreate
from msgraph.generated.models.team import Team
from msgraph.generated.models.user import User

ADA = "ada00000-0000-4000-8000-000000000001"
MARK = os.environ["MARK"]


async def write(graph: GraphServiceClient, root: str) -> dict[str, object]:
    user = await graph.users.post(
        User(
            display_name="Fay Moreau",
            user_principal_name="fay@estate.example",
            mail_nickname="fay",
            account_enabled=True,
            password_profile=PasswordProfile(password="a long secret"),
        )
    )
    group = await graph.groups.post(
        Group(
            display_name="Written",
            mail_nickname="written",
            mail_enabled=True,
            security_enabled=False,
            group_types=["Unified"],
            additional_data={
                "owners@odata.bind": [f"{root}/users/{ADA}"],
                "chamberlain_group": {"requestId": MARK},
            },
        )
    )
    one = graph.groups.by_group_id(group.id)
    await one.members.ref.post(ReferenceCreate(odata_id=f"{root}/directoryObjects/{user.id}"))
    await one.patch(Group(description="Written by a program"))
    team = await one.team.put(Team())
    channel = await graph.teams.by_team_id(group.id).channels.post(Channel(display_name="Plans"))
    wanted = GroupsRequestBuilder.GroupsRequestBuilderGetQueryParameters(
        filter=f"chamberlain_group/requestId eq '{MARK}'"
    )
    found = await graph.groups.get(RequestConfiguration(query_parameters=wanted))
    members = [each.display_name for each in (await one.members.get()).value]
    twice = await refusal(one.members.ref.post(ReferenceCreate(odata_id=f"{root}/directoryObjects/{user.id}")))
    last = await refusal(one.owners.by_directory_object_id(ADA).ref.delete())
    await one.members.by_directory_object_id(user.id).ref.delete()
    left = [each.display_name for each in (await one.members.get()).value]
    await graph.users.by_user_id(user.id).delete()
    await one.delete()
    return {
        "mail": group.mail,
        "team": team.id == group.id,
        "channel": channel.display_name,
        "found": [[each.display_name, each.description] for each in found.value if each.id == group.id],
        "members": members,
        "refused": [twice, last],
        "left": left,
        "gone": await refusal(one.get()),
    }


async def refusal(call: object) -> list[object]:
    try:
        await call
    except ODataError as error:
        return [error.response_status_code, error.error.code]
    return []


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
        root = graph.request_adapter.base_url = f"{os.environ['GRAPH_URL']}/v1.0"
        print(json.dumps(await write(graph, root)), flush=True)


asyncio.run(main())
