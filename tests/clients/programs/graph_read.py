# SPDX-License-Identifier: Apache-2.0
"""A program that reads the directory by the vendor's Graph SDK: only the address and the credential are others."""

import asyncio
import json
import os
from collections.abc import Awaitable

from azure.identity.aio import ClientSecretCredential
from kiota_abstractions.base_request_configuration import RequestConfiguration
from msgraph import GraphServiceClient
from msgraph.generated.groups.groups_request_builder import GroupsRequestBuilder
from msgraph.generated.models.group import Group
from msgraph.generated.models.o_data_errors.o_data_error import ODataError
from msgraph_core.tasks.page_iterator import PageIterator

Answer = dict[str, object] | list[list[object]]
Query = GroupsRequestBuilder.GroupsRequestBuilderGetQueryParameters
TEAM_ID, SITE_ID = os.environ["TEAM_ID"], "51730000-0000-4000-8000-000000000001"
ADA, NOBODY = "ada00000-0000-4000-8000-000000000001", "0000dead-0000-4000-8000-000000000000"


def asking(**options: object) -> RequestConfiguration[Query]:
    """Query options, as the SDK takes them; advanced ones need a header, as with the vendor."""
    configuration = RequestConfiguration(query_parameters=Query(**options))
    configuration.headers.add("ConsistencyLevel", "eventual")
    return configuration


async def find(graph: GraphServiceClient) -> Answer:
    wanted = f"chamberlain_group/requestId eq '{os.environ['REQUEST_ID']}'"
    (group,) = (await graph.groups.get(asking(filter=wanted))).value
    one = graph.groups.by_group_id(group.id)
    owners, members = await one.owners.get(), await one.members.get()
    return {
        "id": group.id,
        "displayName": group.display_name,
        "createdDateTime": group.created_date_time.isoformat(),
        "mark": (await one.get()).additional_data["chamberlain_group"],
        "owners": [[type(each).__name__, each.display_name] for each in owners.value],
        "members": [each.id for each in members.value],
    }


async def page(graph: GraphServiceClient) -> Answer:
    """All groups, page by page, as the SDK's own iterator does it."""
    seen: list[Group] = []
    first = await graph.groups.get(asking(top=999, filter="startswith(displayName,'Paged')"))
    await PageIterator(first, graph.request_adapter).iterate(lambda group: seen.append(group) or True)
    return {"first": len(first.value), "all": len(seen), "different": len({group.id for group in seen})}


async def ask_further(graph: GraphServiceClient) -> Answer:
    paged = "startswith(displayName,'Paged')"
    counted = await graph.groups.get(asking(top=5, filter=paged, count=True))
    descending = asking(top=3, filter=paged, count=True, orderby=["displayName desc"], select=["displayName"])
    ordered = await graph.groups.get(descending)
    teams = await graph.groups.get(asking(filter="groupTypes/any(c:c eq 'Unified') and displayName eq 'Seen'"))
    return {
        "count": counted.odata_count,
        "ordered": [[group.display_name, group.id] for group in ordered.value],
        "teams": [group.display_name for group in teams.value],
    }


async def discover(graph: GraphServiceClient) -> Answer:
    user = graph.users.by_user_id(ADA)
    licenses = (await user.license_details.get()).value
    rooms = (await graph.places.graph_room.get()).value
    channels = (await graph.teams.by_team_id(TEAM_ID).channels.get()).value
    return {
        "users": [each.display_name for each in (await graph.users.get()).value],
        "user": (await user.get()).user_principal_name,
        "by mail": (await graph.users.by_user_id("ada@estate.example").get()).id,
        "plans": [[plan.service_plan_name, plan.provisioning_status] for plan in licenses[0].service_plans],
        "site": (await graph.groups.by_group_id(SITE_ID).sites.by_site_id("root").get()).display_name,
        "team": (await graph.groups.by_group_id(TEAM_ID).team.get()).display_name,
        "channels": sorted(each.display_name for each in channels),
        "rooms": [[each.display_name, each.capacity] for each in rooms],
        "extensions": [each.id for each in (await graph.schema_extensions.get()).value],
    }


async def be_refused(graph: GraphServiceClient) -> Answer:
    one = graph.groups.by_group_id(NOBODY)
    return [
        await refusal(graph.groups.get(asking(filter="displayName like 'Seen'"))),
        await refusal(graph.groups.get(asking(filter="displayName eq 'Seen"))),
        await refusal(one.get()),
        await refusal(graph.groups.post(Group(display_name="Written"))),
        await refusal(graph.me.get()),
    ]


async def told(answer: Awaitable[Answer]) -> Answer:
    """Return the answer or its error, so that all other reads go on."""
    try:
        return await answer
    except ODataError as error:
        return [[error.response_status_code, error.error.code, error.error.message]]


async def refusal(call: Awaitable[object]) -> list[object]:
    try:
        await call
    except ODataError as error:
        return [error.response_status_code, error.error.code, error.error.message, error.error.inner_error.request_id]
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
        graph.request_adapter.base_url = f"{os.environ['GRAPH_URL']}/v1.0"
        uses = (find, page, ask_further, discover, be_refused)
        print(json.dumps({use.__name__: await told(use(graph)) for use in uses}, default=str), flush=True)


asyncio.run(main())
