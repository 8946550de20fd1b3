# SPDX-License-Identifier: Apache-2.0
import re

import pytest

from tests.cli.shell import Json, Shell
from tests.client.scripted_server import Reply, answer, problem, scripted
from tests.services import API, BEN, wait_until

DARA = "dara@estate.example"
NOTHING = "00000000-0000-4000-8000-00000000dead"


@pytest.fixture
def dara(ada: Shell) -> Shell:
    """An approver of confidential teams."""
    return ada.with_token(ada.service.token(DARA, f"{API}/.default"))


def asked(ada: Shell, name: str) -> str:
    answer: Json = ada.done("team", "create", "--template", "Confidential team", "--display-name", name, "--json").json
    request_id: str = answer["requestId"]
    return request_id


def test_it_works_to_approve_and_watch(ada: Shell, dara: Shell) -> None:
    request_id = asked(ada, "Approved")

    to_decide = dara.done("request", "list", "--to-decide", "--json").lines
    approved = dara.done("request", "approve", request_id, "--comment", "fine", "--json").json
    watched = ada.done("request", "watch", request_id, "--json").lines

    assert request_id in [each["requestId"] for each in to_decide]
    assert approved["approvals"][0]["decisions"][0]["comment"] == "fine"
    assert {each["event"] for each in watched} == {"state", "step", "approval"}
    assert watched[-1]["data"]["state"] == "succeeded"
    assert ada.done("request", "watch", request_id, "--jq", ".data.state").out.splitlines()[-1] == "succeeded"
    assert "Make the group a team: succeeded" in ada.done("request", "watch", request_id).err


def test_an_approver_names_a_request_by_its_name(ada: Shell, dara: Shell) -> None:
    request_id = asked(ada, "Named")

    assert dara.done("request", "show", "CONF-Named", "-o", "name").out == f"{request_id}\n"
    assert ada.done("request", "show", "CONF-Named", "-o", "name").out == f"{request_id}\n"


def test_a_substitute_is_named_with_the_approver(ada: Shell, dara: Shell) -> None:
    ben = ada.with_token(ada.service.token("ben@estate.example", f"{API}/.default"))
    both = "Ben Okafor for Dara Lindqvist"
    dara.done("substitute", "name", "--days", "1", BEN)
    try:
        request_id = asked(ada, "Substituted")
        wait_until(lambda: ben.run("request", "show", request_id).code == 0, 30)
        before = dara.done("request", "show", request_id).out
        approved = ben.done("request", "approve", request_id).out
    finally:
        dara.done("substitute", "withdraw")

    assert re.search(rf"^approvals\.1\.substitutes\.1\.displayName +{both}$", before, re.MULTILINE)
    assert re.search(rf"^approvals\.1\.decisions\.1\.by\.displayName +{both}$", approved, re.MULTILINE)
    assert f"decided by {both}" in ada.done("request", "watch", request_id).err
    listed = ada.done("audit", "list", "--subject", request_id, "--action", "request.approve")
    assert listed.out.split("\t")[2] == both
    (row,) = ada.done("audit", "list", "--subject", request_id, "--action", "request.approve", "--json").lines
    assert (row["actor"]["displayName"], row["after"]["onBehalfOf"]["displayName"]) == ("Ben Okafor", "Dara Lindqvist")
    shown = ada.done("request", "show", request_id, "--json").json["approvals"][0]["decisions"][0]
    assert shown["by"]["displayName"] == "Ben Okafor"


def test_a_request_that_was_rejected_ends_the_watching_with_1(ada: Shell, dara: Shell) -> None:
    request_id = asked(ada, "Rejected")

    assert dara.done("request", "reject", request_id, "--json").json["state"] == "rejected"
    ended = ada.run("request", "watch", request_id)

    assert ended.code == 1
    assert ended.err.endswith(f"Request {request_id} is rejected.\n")
    assert "state" in ended.out


def test_it_assigns_approvers_to_a_blocked_request(ada: Shell, dara: Shell) -> None:
    request_id = asked(dara, "Blocked")
    assert ada.done("request", "show", request_id, "--json").json["blocked"] == "noApprover"

    unblocked = ada.done("request", "assign", request_id, "--approver", "ben@estate.example", "--json").json

    assert (unblocked["blocked"], unblocked["approvals"][0]["approvers"][0]["id"]) == (None, BEN)


def test_it_cancels_and_does_not_retry_what_has_not_failed(ada: Shell) -> None:
    request_id = asked(ada, "Cancelled")

    assert ada.done("request", "cancel", request_id, "--json").json["state"] == "cancelled"
    refused = ada.run("request", "retry", request_id)

    assert refused.code == 1
    assert "code stateDoesNotAllow" in refused.err


def test_it_rejects_to_approve_what_one_has_asked_for(ada: Shell) -> None:
    ended = ada.run("request", "approve", asked(ada, "Own"))

    assert ended.code == 3
    assert "code selfApproval" in ended.err


def test_an_approver_neither_cancels_nor_retries(ada: Shell, dara: Shell) -> None:
    request_id = asked(ada, "Kept")

    refused = [dara.run("request", verb, request_id) for verb in ("cancel", "retry")]

    assert [(each.code, "code notAdministrator" in each.err) for each in refused] == [(3, True)] * 2
    assert dara.done("request", "show", request_id, "--json").json["actions"] == ["approve", "reject"]
    assert ada.done("request", "show", request_id, "--json").json["actions"] == ["cancel"]


def test_it_lists_by_state_and_kind(ada: Shell) -> None:
    request_id = asked(ada, "Listed")

    listed = ada.done("request", "list", "--state", "pendingApproval", "--kind", "team", "--mine", "--json").lines

    assert request_id in [each["requestId"] for each in listed]
    assert "\tteam\tpendingApproval\tCONF-Listed\tAda Achterberg\t" in ada.done("request", "list").out


def test_it_lists_by_prefix_and_time(ada: Shell) -> None:
    request_id = asked(ada, "Findable")

    listed = ada.done("request", "list", "-q", "conf-FIND", "--from", "2020-01-01", "--mine", "--json").lines
    before = ada.done("request", "list", "--query", "conf-find", "--to", "2020-01-01T00:00:00", "--json").lines

    assert [each["requestId"] for each in listed] == [request_id]
    assert before == []


def test_it_does_not_wait_for_ever(ada: Shell) -> None:
    ended = ada.run("request", "watch", asked(ada, "Slow"), "--timeout", "0.5")

    assert ended.code == 5
    assert "chamberlain request watch" in ended.err


def test_asking_waits_no_longer_either(ada: Shell) -> None:
    create = (
        "team",
        "create",
        "--template",
        "Confidential team",
        "--display-name",
        "Waits",
        "--wait",
        "--timeout",
        "0.5",
    )

    ended = ada.run(*create, "--json")

    assert ended.code == 5
    assert "approval 1: pending (Dara Lindqvist)" in ended.err
    # A script finds what it has asked for.
    assert ada.done("request", "show", ended.json["requestId"], "--json").json["state"] == "pendingApproval"


def test_waiting_that_fails_prints_what_the_options_choose(ada: Shell) -> None:
    create = ("team", "create", "--template", "Confidential team", "--wait", "--timeout", "0.1", "--display-name")

    filtered = ada.run(*create, "Filtered", "--jq", ".requestId")
    without = ada.run(*create, "Without", "--json", "--fields", "group.id")
    failing = ada.run(*create, "Failing", "--jq", ".group[]")

    assert [filtered.code, without.code, failing.code] == [5, 5, 5]
    assert ada.done("request", "show", filtered.out.strip()).code == 0
    assert (without.out, failing.out) == ("", "")


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        pytest.param(problem(401, "tokenExpired"), 3, id="the sign-in ends"),
        pytest.param(problem(503, "overloaded", retry_after="3600"), 6, id="the service goes away"),
    ],
)
def test_what_was_asked_for_is_reported_though_nobody_can_look_on(nobody: Shell, reply: Reply, code: int) -> None:
    accepted = answer({"requestId": NOTHING, "tenantId": NOTHING, "approvalRequired": False}, 202)
    create = ("group", "create", "--template", NOTHING, "--display-name", "Lost", "--wait", "--json")

    with scripted(answer({"items": [], "nextCursor": None}), accepted, reply) as server:
        ended = nobody.with_token("e30.e30.e30").run(*create, "--server", server.url)

    assert (ended.code, ended.json) == (code, {"requestId": NOTHING})
    assert f"chamberlain request watch {NOTHING}" in ended.err


def test_ctrl_c_ends_the_waiting_alone(ada: Shell) -> None:
    request_id = asked(ada, "Interrupted")

    with ada.started("request", "watch", request_id) as watching:
        watching.wait_for("approval 1: pending")
        watching.interrupt()
        ended = watching.end()

    assert ended.code == 130
    assert f"chamberlain request watch {request_id}" in ended.err
    assert "Traceback" not in ended.err
    assert ada.done("request", "show", request_id, "--json").json["state"] == "pendingApproval"


def test_it_rejects_a_request_that_is_not_there(ada: Shell) -> None:
    for command in ("show", "watch", "cancel"):
        assert ada.run("request", command, NOTHING).code == 4
