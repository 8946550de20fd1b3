# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.cli.shell import Shell
from tests.services import API, BEN, GROUP_TEMPLATE

ALL_STAFF = "94000000-0000-4000-8000-000000000001"
HANDBOOK = "51730000-0000-4000-8000-000000000001"
NOTHING = "00000000-0000-4000-8000-00000000dead"
GROUP = ("group", "create", "--template", "project GROUP")


def test_it_works_to_ask_for_a_group_and_wait_for_it(ada: Shell) -> None:
    asked = (*GROUP, "--display-name", "Orchard", "--description", "Apples", "--membership", "public")
    more = ("--member", BEN, "--metadata", "el-text-1=x", "--wait", "--json")

    answer = ada.done(*asked, *more).json

    assert answer["approvalRequired"] is False
    assert answer["group"]["mail"] == "orchard@estate.example"
    body = ada.done("request", "show", answer["requestId"], "--json").json["body"]
    assert ada.done("group", "show", answer["group"]["id"], "--json").json["metadata"] == {"el-text-1": "x"}
    for metadata in ("el-text-1", "el-text-1=x"):
        found = ada.done("group", "list", "--metadata", metadata, "--json").lines
        assert answer["group"]["id"] in [each["id"] for each in found]
    assert ada.done("group", "list", "--metadata", "el-text-1=y", "--json").lines == []
    assert ada.run("group", "list", "--metadata", "=x").code == 2
    assert body == {
        "displayName": "Orchard",
        "templateId": GROUP_TEMPLATE,
        "description": "Apples",
        "memberShipType": 1,
        "members": [BEN],
        "metadata": {"el-text-1": "x"},
    }


def test_private_is_a_membership_too(ada: Shell) -> None:
    # Its number is 0, which is not the same as nothing.
    answer = ada.done(*GROUP, "--display-name", "Private", "--membership", "private", "--json").json

    assert ada.done("request", "show", answer["requestId"], "--json").json["body"]["memberShipType"] == 0


def test_a_team_is_asked_for_by_the_name_of_its_template(ada: Shell) -> None:
    ended = ada.done("team", "create", "--template", "Confidential team", "--display-name", "Secret", "--json")

    assert ended.json["approvalRequired"] is True
    assert "The request needs approval. Nothing is created before." in ended.err


def test_a_team_has_no_template_of_groups(ada: Shell) -> None:
    assert ada.run("team", "create", "--template", "Project group", "--display-name", "X").code == 4


def test_it_rejects_a_team_for_somebody_without_licence(cleo: Shell) -> None:
    ended = cleo.run("team", "create", "--template", "Project team", "--display-name", "X")

    assert ended.code == 3
    assert "code teamLicenseRequired, traceId" in ended.err


def test_it_rejects_a_membership_that_is_none(ada: Shell) -> None:
    assert ada.run(*GROUP, "--membership", "secret").code == 2


def test_it_lists_and_shows_groups_and_sites(ada: Shell) -> None:
    assert ALL_STAFF in [line.split("\t")[0] for line in ada.done("group", "list", "-q", "All").out.splitlines()]
    assert ada.done("group", "show", ALL_STAFF, "--json").json["displayName"] == "All staff"
    assert "Handbook" in ada.done("site", "list").out
    assert ada.done("site", "show", HANDBOOK, "--json").json["securityGroupId"] == HANDBOOK


@pytest.mark.parametrize("written", ["handbook", "https://sites.estate.example/Handbook/"])
def test_a_site_goes_by_its_name_and_its_address(ada: Shell, written: str) -> None:
    assert ada.done("site", "show", written, "--json").json["id"] == HANDBOOK
    given = ada.done("site", "assign", written, "--policy", "Yearly review", "--json").json
    cleared = ada.done("site", "assign", written, "--no-policy", "--json").json

    assert (given["id"], given["policy"]["name"], cleared["policy"]) == (HANDBOOK, "Yearly review", None)


def test_a_group_goes_by_its_name_and_its_address(ada: Shell) -> None:
    for written in ("all STAFF", "all-staff@estate.example"):
        assert ada.done("group", "show", written, "--json").json["id"] == ALL_STAFF
    simulated = ada.done("policy", "simulate", "90 days", "--group", "All staff", "--site", "Handbook", "--json").json
    assert simulated["subjects"] == 2


def test_it_rejects_names_of_several_and_of_none(ada: Shell) -> None:
    for _ in range(2):
        made = ada.done(*GROUP, "--display-name", "Twin house", "--wait", "--json").json
        # A read imports a group that discovery has not found yet.
        ada.done("group", "show", made["group"]["id"])
    listed = ("group", "list", "-q", "Twin house", "--json")

    twins, nobody = ada.run("group", "show", "twin house"), ada.run("site", "assign", "No house", "--no-policy")

    assert (twins.code, "2 groups have the name 'twin house':" in twins.err) == (1, True)
    assert [each["id"] in twins.err for each in ada.done(*listed).lines] == [True, True]
    assert nobody.code == 4
    assert "There is no site 'No house'. Run chamberlain site list to see all." in nobody.err


def test_it_assigns_by_name_waits_and_takes_away(ada: Shell) -> None:
    assigned = ada.done(
        *("group", "assign", ALL_STAFF, "--template", "partners", "--policy", "90 days", "--wait", "--json")
    )
    again = ada.done("group", "assign", ALL_STAFF, "--template", "Partners", "--json")
    listed = ada.done("group", "list", "--template", "Partners", "--json").lines
    cleared = ada.done("group", "assign", ALL_STAFF, "--no-template", "--json").json

    assert assigned.json["template"]["name"] == "Partners"
    assert {effect["state"] for effect in assigned.json["effects"]} <= {"succeeded", "warning"}
    assert again.err == "It was already assigned.\n"
    assert [group["id"] for group in listed] == [ALL_STAFF]
    assert (cleared["templateId"], cleared["policy"]["name"]) == (None, "90 days")


def test_it_assigns_to_sites(ada: Shell) -> None:
    assigned = ada.done("site", "assign", HANDBOOK, "--template", "No guests", "--wait", "--json").json

    assert assigned["template"]["name"] == "No guests"
    assert ada.done("site", "assign", HANDBOOK, "--no-template", "--no-policy", "--json").json["templateId"] is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "Say what to assign or to take away"),
        (("--template", "Partners", "--no-template"), "Do not assign and clear the same field"),
    ],
)
def test_it_rejects_an_assignment_that_makes_no_sense(ada: Shell, options: tuple[str, ...], sentence: str) -> None:
    ended = ada.run("group", "assign", ALL_STAFF, *options)

    assert ended.code == 2
    assert sentence in ended.err


def test_it_rejects_an_assignment_that_is_stale(ada: Shell) -> None:
    ended = ada.run("group", "assign", ALL_STAFF, "--policy", "Yearly review", "--if-match", '"stale"')

    assert ended.code == 1
    assert "code etagStale" in ended.err


def test_a_site_is_no_group(ada: Shell) -> None:
    ended = ada.run("group", "show", HANDBOOK)

    assert ended.code == 4


def test_it_rejects_to_show_two_things_or_none(ada: Shell) -> None:
    assert ada.run("group", "show").code == 2
    assert ada.run("group", "show", ALL_STAFF, "--request", NOTHING).code == 2


def test_the_group_of_a_request_is_not_there_before_it_is_made(ada: Shell) -> None:
    asked = ada.done("team", "create", "--template", "Confidential team", "--display-name", "Later", "--json").json

    ended = ada.run("group", "show", "--request", asked["requestId"])

    assert ended.code == 4
    assert f"chamberlain request show {asked['requestId']}" in ended.err


def test_it_rejects_who_administers_nothing(ada: Shell) -> None:
    ben = ada.with_token(ada.service.token("ben@estate.example", f"{API}/admin/Config.ReadWrite.All"))

    ended = ben.run("group", "list")

    assert ended.code == 3
    assert "code notAdministrator" in ended.err
