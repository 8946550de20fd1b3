# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path

import pytest

from chamberlain.templates.models import TemplateKind
from tests.cli.shell import Json, Shell
from tests.services import NOT_CONFIRMED

WEBHOOK = {"url": "https://hooks.estate.example/chamberlain"}


def written(folder: Path, body: Json) -> str:
    file = folder / "body.json"
    file.write_text(json.dumps(body))
    return str(file)


def test_it_works_to_make_show_replace_and_remove_a_template(ada: Shell, tmp_path: Path) -> None:
    created = ada.done(
        "template", "create", "--body", written(tmp_path, {"kind": "room", "name": "Hall"}), "--json"
    ).json
    shown = ada.done("template", "show", "hall", "--json").json
    # The template is read, changed and replaced.
    changed = written(tmp_path, {**shown, "description": "Large"})
    replaced = ada.done("template", "replace", "Hall", "--body", changed, "--json").json
    stale = ada.run("template", "replace", "Hall", "--body", changed)
    removed = ada.done("template", "delete", created["id"], "--yes")

    assert shown["id"] == created["id"]
    assert replaced["description"] == "Large"
    # The file has the version that was read, and no change in between is lost.
    assert replaced["etag"] != shown["etag"]
    assert stale.code == 1
    assert "code etagStale" in stale.err
    assert removed.err == f"Hall ({created['id']}) is removed.\n"
    assert ada.run("template", "show", created["id"]).code == 4


def test_an_unknown_kind_gets_a_list_of_all_six(ada: Shell, tmp_path: Path) -> None:
    done = ada.run("template", "create", "--body", written(tmp_path, {"kind": "rooms", "name": "Hall"}))

    assert done.code == 2
    assert [kind for kind in TemplateKind if f"'{kind}'" not in done.err] == []
    assert "Did you mean room?" in done.err


def test_it_lists_those_that_one_may_use_and_all_of_the_tenant(ada: Shell) -> None:
    offered = {line.split("\t")[2] for line in ada.done("template", "list").out.splitlines()}
    administered = {each["name"] for each in ada.done("template", "list", "--admin", "--json").lines}
    guests = ada.done("template", "list", "--admin", "--kind", "guest", "--json").lines

    assert {"Room", "Project group", "Confidential team"} <= offered
    assert administered >= offered | {"Partners"}
    assert {each["kind"] for each in guests} == {"guest"}


def test_it_lists_what_a_token_is_good_for(ada: Shell) -> None:
    ben = ada.with_token(ada.service.token("ben@estate.example", "https://api.estate.example/collab/App.ReadWrite.All"))

    assert {each["kind"] for each in ben.done("template", "list", "--json").lines} == {"group", "team"}


@pytest.mark.parametrize("named", ["confidential team", "7E000000-0000-4000-8000-000000000013"])
def test_it_shows_what_a_request_needs(ada: Shell, named: str) -> None:
    ben = ada.with_token(ada.service.token("ben@estate.example", "https://api.estate.example/collab/App.ReadWrite.All"))

    form = ben.done("template", "form", named, "--json").json

    assert (form["kind"], form["approvalRequired"], form["nameFollowsRule"]) == ("team", True, True)
    assert [(field["key"], field["default"]) for field in form["customFields"]] == [("el-text-1", None)]


def test_a_form_of_a_mailbox_has_its_domains(ada: Shell) -> None:
    form = ada.done("template", "form", "Room", "--json").json

    assert (form["kind"], form["domain"]) == ("room", "rooms.estate.example")
    assert "estate.example" in form["domains"]
    assert ada.run("template", "form", "Rooom").code == 4
    assert ada.run("template", "form", "7e000000-0000-4000-8000-0000000000ff").code == 4


def test_it_asks_before_one_is_removed(ada: Shell) -> None:
    ended = ada.run("template", "delete", "Equipment", typed="n\n")

    assert ended.code == 1
    assert "This removes the template Equipment" in ended.err
    assert ended.err.endswith(NOT_CONFIRMED)
    assert ada.run("template", "delete", "Equipment", typed="").code == 1


def test_it_writes_policies(ada: Shell, tmp_path: Path) -> None:
    rules = {"name": "A week", "expiry": {"afterDays": 7, "reminderDays": [1], "action": "notify"}}
    created = ada.done("policy", "create", "--body", written(tmp_path, rules), "--json").json
    replaced = ada.done(
        "policy", "replace", "a week", "--body", written(tmp_path, {**created, "active": False}), "--json"
    )

    assert replaced.json["active"] is False
    assert ada.done("policy", "show", "A week", "--json").json["expiry"]["afterDays"] == 7
    assert {"A week", "90 days"} <= {line.split("\t")[1] for line in ada.done("policy", "list").out.splitlines()}
    assert ada.done("policy", "delete", "A week", "--yes").err.endswith("is removed.\n")


def test_a_name_that_several_have_has_to_be_an_id(ada: Shell, tmp_path: Path) -> None:
    made = [
        ada.done("policy", "create", "--body", written(tmp_path, {"name": "Double"}), "--json").json["id"] for _ in "ab"
    ]

    ended = ada.run("policy", "show", "double")

    assert ended.code == 1
    assert all(policy_id in ended.err for policy_id in made)


@pytest.fixture(scope="module")
def webhook_test_result(ada: Shell, tmp_path_factory: pytest.TempPathFactory) -> Json:
    """A template whose webhook may not be called, and what came of telling it something."""
    body = {"kind": "room", "name": "Telling", "webhook": {"url": "https://127.0.0.1:1/hook"}}
    folder = tmp_path_factory.mktemp("bodies")
    template = ada.done("template", "create", "--body", written(folder, body), "--json").json
    asked = (
        "mailbox",
        "create",
        "--template",
        "Telling",
        "--name",
        "told",
        "--display-name",
        "Told",
        "--wait",
        "--json",
    )
    return {"template": template, "mailbox": ada.done(*asked).json}


def test_a_webhook_is_tried_and_gets_a_new_secret(ada: Shell, webhook_test_result: Json) -> None:
    tried = ada.run("webhook", "test", "Telling", "--json")
    rotated = ada.done("webhook", "rotate", webhook_test_result["template"]["id"], "--json")

    assert tried.code == 1
    assert tried.json["status"] is None
    assert tried.err == "The receiver did not accept the call.\n"
    assert rotated.json["secret"].startswith("whsec_")


def test_deliveries_are_listed_and_told_again(ada: Shell, webhook_test_result: Json) -> None:
    (delivery,) = ada.done(
        *(
            "delivery",
            "list",
            "--template",
            "Telling",
            "--request",
            webhook_test_result["mailbox"]["requestId"],
            "--json",
        )
    ).lines
    again = ada.done("delivery", "redeliver", delivery["id"], "--json").json
    span = ("delivery", "redeliver", "--from", "2026-01-01", "--to", "2100-01-01T00:00:00", "--template", "Telling")

    assert again["id"] == delivery["id"]
    assert ada.done(*span, "--json").json["count"] >= 1
    assert ada.run("delivery", "redeliver").code == 2
    assert ada.run("delivery", "redeliver", delivery["id"], "--from", "2026-01-01").code == 2


def test_the_audit_trail_is_listed(ada: Shell, webhook_test_result: Json) -> None:
    asked = (
        "audit",
        "list",
        "--action",
        "template.create",
        "--subject",
        webhook_test_result["template"]["id"],
        "--from",
        "2026-01-01",
    )

    (row,) = ada.done(*asked, "--json").lines

    assert row["actor"]["displayName"] == "Ada Achterberg"
    assert "\ttemplate.create\tAda Achterberg\tTelling\t" in ada.done(*asked).out
    assert ada.done(*asked, "--to", "2026-01-02").out == ""
