# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path

from tests.cli.shell import Shell
from tests.services import ADA, ADA_MAIL, BEN, GRAPH, ZOE_MAIL

NOTHING = "00000000-0000-4000-8000-00000000dead"


def test_it_works_to_ask_for_a_room_and_wait_for_it(ada: Shell) -> None:
    ended = ada.done(
        *("mailbox", "create", "--template", "room", "--name", "Zürich", "--display-name", "Room Zürich"),
        *("--capacity", "12", "--office-location", "HQ - Floor 5", "--whiteboard", "--no-video-conferencing"),
        *("--tag", "quiet", "--tag", "north", "--metadata", "floor=5", "--metadata", "booked=true"),
        *("--permission", f"{BEN}=FullAccess", "--primary-owner", ADA, "--hide-from-gal", "--wait", "--json"),
    )

    room = ended.json
    assert (room["provisioningState"], room["primarySmtpAddress"]) == ("active", "zurich@rooms.estate.example")
    assert room["roomMailboxMetadata"] == {"hasWhiteboard": True, "hasVideoConferencing": False}
    assert (room["tags"], room["metadata"]) == (["quiet", "north"], {"floor": "5", "booked": True})
    assert (room["permissions"], room["primaryOwner"], room["hideFromGAL"]) == ({BEN: "FullAccess"}, ADA, True)
    assert "Room Zürich: succeeded" in ended.err
    shown = ada.done("mailbox", "show", room["id"], "--json").json
    assert shown["capacity"] == 12


def test_it_takes_a_body_and_lets_options_come_before_it(ada: Shell, tmp_path: Path) -> None:
    file = tmp_path / "body.json"
    file.write_text(
        json.dumps({"name": "beamer", "displayName": "Of the file", "metadata": {"equipmentType": "beamer"}})
    )

    answer = ada.done("mailbox", "create", "--body", str(file), "--display-name", "Beamer", "--json").json

    assert (answer["displayName"], answer["type"], answer["templateSource"]) == ("Beamer", "equipment", "default")


def test_it_takes_a_body_from_standard_input(ada: Shell) -> None:
    ended = ada.done(
        "mailbox", "create", "--body", "-", typed='{"name": "typed", "displayName": "T", "autoMapping": true}'
    )

    assert "primarySmtpAddress" in ended.out
    assert "chamberlain request watch" in ended.err


def test_a_preview_does_nothing(ada: Shell) -> None:
    dry_run = ("mailbox", "create", "--template", "Room", "--name", "dry", "--display-name", "Dry", "--dry-run")

    ended = ada.done(*dry_run, "--json")

    assert ended.json["address"] == "dry@rooms.estate.example"
    assert ended.err == "Nothing was done.\n"
    assert ada.done("mailbox", "list", "-q", "dry", "--json").out == ""
    assert "steps.1.title" in ada.done(*dry_run).out


def test_a_dry_run_that_would_be_refused_ends_with_1(ada: Shell) -> None:
    asked = ("mailbox", "create", "--template", "Room", "--name", "twice", "--display-name", "Twice")
    ada.done(*asked)

    assert ada.run(*asked, "--dry-run").code == 1
    refused = ada.run(*asked)
    assert refused.code == 1
    assert "It conflicts with " in refused.err


def test_the_same_key_is_carried_out_once(ada: Shell) -> None:
    asked = ("mailbox", "create", "--template", "Room", "--name", "once", "--display-name", "Once", "--json")

    first, second = (ada.done(*asked, "--idempotency-key", "once").json for _ in range(2))

    assert first == second


def test_it_lists_by_type_and_state_and_beginning(ada: Shell) -> None:
    ada.done("mailbox", "create", "--template", "Room", "--name", "listed", "--display-name", "Listed", "--wait")

    asked = ("mailbox", "list", "--type", "room", "--state", "active", "--query", "listed")

    assert [each["name"] for each in ada.done(*asked, "--json").lines] == ["listed"]
    (line,) = ada.done(*asked).out.splitlines()
    assert line.split("\t")[1:5] == ["room", "active", "listed@rooms.estate.example", "Listed"]


def test_it_says_that_there_are_more(ada: Shell) -> None:
    for name in ("more-1", "more-2", "more-3"):
        ada.done("mailbox", "create", "--template", "Room", "--name", name, "--display-name", name)
    asked = ("mailbox", "list", "-q", "more-", "--json")

    some, all_ = ada.done(*asked, "--limit", "2"), ada.done(*asked, "--limit", "2", "--all")

    assert (len(some.lines), some.err) == (2, "There are more: --limit and --all show them.\n")
    assert (len(all_.lines), all_.err) == (3, "")


def test_every_refusal_has_its_place_and_its_cure(ada: Shell) -> None:
    ended = ada.run(
        "mailbox",
        "create",
        "--template",
        "Shared mailbox",
        "--name",
        "x",
        "--display-name",
        "X",
        "--office-location",
        "5",
    )

    assert (ended.code, ended.out) == (1, "")
    assert "--office-location: A mailbox of type shared has no officeLocation. Leave it out" in ended.err
    last = ended.err.splitlines()[-1]
    assert last.startswith("code notPossible, traceId ")


def test_it_rejects_a_template_that_nobody_has(ada: Shell) -> None:
    ended = ada.run("mailbox", "create", "--template", "Broom closet", "--name", "x", "--display-name", "X")

    assert ended.code == 4
    assert ended.err == "--template: There is no template 'Broom closet'. Run chamberlain template list to see all.\n"


def test_a_user_is_written_as_an_address_where_the_directory_may_be_read(ada: Shell) -> None:
    asked = ("mailbox", "create", "--name", "x", "--display-name", "X", "--primary-owner", "ben@estate.example")
    without = ada.with_token(ada.service.token(ADA_MAIL, f"{GRAPH}/Group.Read.All"))

    shown = ada.done(*asked, "--template", "Room", "--dry-run", "--json").json
    ended = without.run(*asked)

    assert shown["conflicts"] == []
    assert ended.code == 3
    assert ended.err.startswith("ben@estate.example: the directory does not let this sign-in look up users.")


def test_it_rejects_an_id_and_a_name_of_nothing(ada: Shell) -> None:
    assert ada.run("mailbox", "show", NOTHING).code == 4
    assert ada.run("mailbox", "show", "zurich").code == 4


def test_what_another_tenant_has_is_not_there(ada: Shell) -> None:
    made = ada.done(
        "mailbox", "create", "--template", "Room", "--name", "ours", "--display-name", "Ours", "--json"
    ).json
    scope = "https://api.estate.example/mail/App.ReadWrite.All"

    zoe = ada.with_token(ada.service.token(ZOE_MAIL, scope))

    assert zoe.run("mailbox", "show", made["id"]).code == 4


def test_it_rejects_a_key_that_no_header_takes(ada: Shell) -> None:
    ended = ada.run("mailbox", "create", "--name", "x", "--idempotency-key", "Zürich")

    assert ended.code == 2
    assert "visible ASCII" in ended.err


def test_it_rejects_bodies_and_pairs_that_cannot_be_read(ada: Shell, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "half.json").write_text('{"name": "\\ud800"}')
    (tmp_path / "deep.json").write_text('{"name": ' + "[" * 100_000 + "]" * 100_000 + "}")
    (tmp_path / "long.json").write_text('{"capacity": ' + "9" * 5_000 + "}")
    refused = {
        ("--body", str(tmp_path / "list.json")): "is no JSON object",
        ("--body", str(tmp_path / "broken.json")): "is not JSON",
        ("--body", str(tmp_path / "half.json")): "is not JSON",
        ("--body", str(tmp_path / "deep.json")): "is not JSON",
        ("--body", str(tmp_path / "long.json")): "is not JSON",
        ("--name", "\udcff"): "is not text in UTF-8",
        ("--template", "Room", "--tag", "quiet", "--tag", "\udcff"): "is not text in UTF-8",
        ("--body", str(tmp_path / "none.json")): "cannot be read (No such file or directory)",
        ("--permission", BEN): "Write user=level",
        ("--metadata", "a=1", "--metadata", "a=2"): "names a twice",
    }

    for options, sentence in refused.items():
        ended = ada.run("mailbox", "create", *options)
        assert (ended.code, ended.out) == (2, "")
        assert sentence in ended.err
