# SPDX-License-Identifier: Apache-2.0
"""Clients find groups and users of an open suite below `/graph`: over HTTP, with the SDK and by the command line."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from chamberlain_client.models import NewGroup
from tests.cli.browser_user import browser_user
from tests.cli.shell import Shell
from tests.client.callers import Callers
from tests.services import ADA, ADA_MAIL, BEN, CLEO, DYNAMIC_TEMPLATE, GRAPH, GROUP_TEMPLATE, Service
from tests.suite.suite_directory import SuiteDirectory
from tests.suite.suite_requests import DARA, SHARED, SuiteRequests, unique

GIL = "9e570000-0000-4000-8000-000000000001"


@pytest.fixture(scope="session")
def ada(suite_service: Service, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """An administrator, signed in with a browser."""
    shell = Shell(suite_service, tmp_path_factory.mktemp("ada"))
    with shell.started("login", "--browser") as login, browser_user(suite_service) as user:
        user.sign_in(login.wait_for(r"https://\S+/authorize\S+")[0])
        ended = login.end()
    assert ended.code == 0, ended.err
    return shell


def users(service: Service, query: str) -> list[dict[str, Any]]:
    """The users of a call."""
    answer = service.get(f"/graph/v1.0/users{query}", ADA_MAIL, f"{GRAPH}/User.Read.All")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    entries: list[dict[str, Any]] = found.get("value", [found])
    return entries


def test_the_sdk_finds_a_group_by_its_request(suite_service: Service) -> None:
    wanted = NewGroup(display_name=unique("Project"), template_id=UUID(GROUP_TEMPLATE), members=(UUID(BEN),))

    with Callers(suite_service).client() as client:
        accepted = client.groups.create(wanted)
        found = client.wait_for_group(accepted)

    assert found.display_name == wanted.display_name
    [shown] = suite_service.find_group(str(accepted.request_id))
    assert shown["id"] == str(found.id)
    assert shown["chamberlain_group"] == {"requestId": str(accepted.request_id)}
    # No other tenant, and no other request, finds it.
    assert suite_service.find_group(str(uuid4())) == []
    assert suite_service.find_group(str(accepted.request_id), "zoe@other.example") == []


def test_members_of_a_dynamic_group_are_found(requests: SuiteRequests, suite_service: Service) -> None:
    group = requests.group(DYNAMIC_TEMPLATE, "Sales")

    found = suite_service.graph(f"/groups/{group['id']}").json()
    members = suite_service.graph(f"/groups/{group['id']}/members").json()["value"]

    assert (found["groupTypes"], found["membershipRuleProcessingState"]) == (["Unified", "DynamicMembership"], "On")
    assert {each["id"] for each in members} == {BEN, CLEO}


def test_a_nested_group_is_a_member_of_the_type_group(
    requests: SuiteRequests, suite_service: Service, directory: SuiteDirectory
) -> None:
    inner, outer = requests.group(GROUP_TEMPLATE, "Inner"), requests.group(GROUP_TEMPLATE, "Outer", members=[BEN])
    inner_dn, outer_dn = (directory.one(f"(entryUUID={each['id']})", "entryUUID", "member") for each in (inner, outer))
    directory.replace(outer_dn["dn"][0], "member", *outer_dn["member"], inner_dn["dn"][0])

    members = suite_service.graph(f"/groups/{outer['id']}/members").json()["value"]

    assert {each["id"]: each["@odata.type"] for each in members} == {
        ADA: "#microsoft.graph.user",
        BEN: "#microsoft.graph.user",
        inner["id"]: "#microsoft.graph.group",
    }


def test_users_guests_and_hidden_mailboxes_are_found(requests: SuiteRequests, suite_service: Service) -> None:
    mailbox = requests.mailbox(SHARED, "Quay", hideFromGAL=True)
    select = "$select=id,userType,showInAddressList"

    [dara] = users(suite_service, f"?$filter=mail eq 'dara@estate.example'&{select}")
    [guest] = users(suite_service, f"/{GIL}?{select}")
    [hidden] = users(suite_service, f"?$filter=mail eq '{mailbox['primarySmtpAddress']}'&{select}")

    assert (dara["id"], dara["userType"], dara["showInAddressList"]) == (DARA, "Member", True)
    assert (guest["id"], guest["userType"]) == (GIL, "Guest")
    assert (hidden["userType"], hidden["showInAddressList"]) == ("Member", False)


def test_everything_else_is_elsewhere(suite_service: Service) -> None:
    for path in ("/groups?$top=1", "/groups/$count", f"/groups/{uuid4()}/settings"):
        answer = suite_service.graph(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "Request_ResourceNotFound")


@pytest.mark.parametrize("name", ["dara@estate.example", "Dara Lindqvist"])
def test_the_command_line_finds_users_by_name(ada: Shell, suite_service: Service, name: str) -> None:
    options = ("--display-name", unique("Project"), "--template", GROUP_TEMPLATE, "--owner", name)

    created = ada.done("group", "create", *options, "--wait", "--json").json

    [found] = suite_service.find_group(str(created["requestId"]))
    owners = suite_service.graph(f"/groups/{found['id']}/owners").json()["value"]
    assert {each["id"] for each in owners} == {ADA, DARA}


def test_the_command_line_suggests_similar_names(ada: Shell) -> None:
    options = ("--display-name", unique("Project"), "--template", GROUP_TEMPLATE, "--owner", "Dara")

    ended = ada.run("group", "create", *options)

    assert ended.code != 0
    assert "Dara Lindqvist" in ended.err
