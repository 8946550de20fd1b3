# SPDX-License-Identifier: Apache-2.0
"""Objects are found by name, address, or the end of their id, with few calls."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
import typer

from chamberlain.cli.calls import Service
from chamberlain.cli.names import FINDINGS, MAILBOXES, REQUESTS, TEMPLATES, Listed, id_of, template_id, user_id
from chamberlain_client.operations import LIST_OFFERED_GROUP_TEMPLATES, LIST_OFFERED_MAILBOX_TEMPLATES, Server
from chamberlain_client.synchronous.transport import Transport
from chamberlain_client.timing import Clock, Retries
from tests.client.scripted_server import Reply, ScriptedServer, answer, scripted
from tests.services import TLS

ORCHARD, HARVEST = "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10", "0d9c1b7e-5a0e-4c58-9a54-3d2f000b7c10"
TEAM, GROUP, ROOM = (f"7e000000-0000-4000-8000-0000000000{end}" for end in ("12", "11", "03"))


def page(*items: object) -> Reply:
    return answer({"items": items, "nextCursor": None})


@contextmanager
def calling(*answers: Reply) -> Iterator[tuple[Service, ScriptedServer]]:
    """A caller of a server with these answers."""
    with scripted(*answers) as server, httpx2.Client(verify=TLS) as client:
        addresses, tokens = dict.fromkeys(Server, server.url), dict.fromkeys(Server, "t")
        retries = Retries(attempts=1)
        yield Service(Transport(client, addresses, tokens, timeout=30, retries=retries, clock=Clock())), server


REQUESTS_PAGE = page({"requestId": ORCHARD, "displayName": "Orchard"}, {"requestId": HARVEST, "displayName": "Harvest"})


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("6a1b7c10", ORCHARD),
        ("6A1B7C10", ORCHARD),
        ("9a54-3d2f6a1b7c10", ORCHARD),
        ("9a543d2f000b7c10", HARVEST),
        ("000b7c10", HARVEST),
    ],
)
def test_it_works_with_one_call(written: str, found: str) -> None:
    with calling(REQUESTS_PAGE) as (service, server):
        assert id_of(service, written, REQUESTS) == found

    assert len(server.seen) == 1


def test_a_request_is_found_by_name_among_those_to_decide_and_the_own_ones() -> None:
    with calling(REQUESTS_PAGE) as (service, server):
        assert id_of(service, "orchard", REQUESTS) == ORCHARD

    assert [each.path for each in server.seen] == [
        "/requests/v1/?toDecide=true&limit=200",
        "/requests/v1/?limit=200",
    ]


@pytest.mark.parametrize("listed", [REQUESTS, MAILBOXES, TEMPLATES, FINDINGS])
def test_an_id_needs_no_call(listed: Listed) -> None:
    with calling() as (service, server):
        assert id_of(service, ORCHARD, listed) == ORCHARD

    assert server.seen == []


def test_an_ambiguous_end_lists_the_candidates(capsys: pytest.CaptureFixture[str]) -> None:
    with calling(REQUESTS_PAGE) as (service, _), pytest.raises(typer.Exit) as ended:
        id_of(service, "7c10", REQUESTS, option="--request")

    assert ended.value.exit_code == 1
    assert capsys.readouterr().err.splitlines() == [
        "--request: 2 requests have an id that ends in 7c10:",
        f"  {HARVEST}  Harvest",
        f"  {ORCHARD}  Orchard",
        "Write the id of one.",
    ]


def test_a_name_like_the_short_id_of_another_request_is_ambiguous(capsys: pytest.CaptureFixture[str]) -> None:
    # A requester chose the name, so that an approver of the other request decides about this one.
    other = page({"requestId": HARVEST, "displayName": "6a1b7c10"}, {"requestId": ORCHARD, "displayName": "Orchard"})

    with calling(other) as (service, _), pytest.raises(typer.Exit) as ended:
        id_of(service, "6a1b7c10", REQUESTS)

    assert ended.value.exit_code == 1
    assert capsys.readouterr().err.splitlines()[1:3] == [f"  {HARVEST}  6a1b7c10", f"  {ORCHARD}  Orchard"]


def test_a_name_that_exists_twice_lists_both(capsys: pytest.CaptureFixture[str]) -> None:
    rooms = page({"id": ROOM, "kind": "room", "name": "Twin"})
    groups = page({"id": GROUP, "kind": "group", "name": "twin"})

    with calling(rooms, groups) as (service, _), pytest.raises(typer.Exit):
        id_of(service, "TWIN", TEMPLATES)

    assert capsys.readouterr().err.splitlines()[:3] == [
        "2 templates have the name 'TWIN':",
        f"  {GROUP}  group  twin",
        f"  {ROOM}  room  Twin",
    ]


@pytest.mark.parametrize("written", ["10", "c10", "-c10", "xyz7c10"])
def test_fewer_than_four_digits_are_no_end(written: str) -> None:
    with calling(REQUESTS_PAGE) as (service, _), pytest.raises(typer.Exit) as ended:
        id_of(service, written, REQUESTS)

    assert ended.value.exit_code == 4


@pytest.mark.parametrize("written", ["", " ", "a\x1b[31mb", 257 * "x"])
@pytest.mark.parametrize("listed", [REQUESTS, MAILBOXES])
def test_a_text_that_is_no_name_needs_no_call(written: str, listed: Listed) -> None:
    with calling() as (service, server), pytest.raises(typer.Exit) as ended:
        id_of(service, written, listed)

    assert (ended.value.exit_code, server.seen) == (4, [])


def test_a_similar_name_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    with calling(REQUESTS_PAGE) as (service, _), pytest.raises(typer.Exit) as ended:
        id_of(service, "Orchad", REQUESTS)

    assert ended.value.exit_code == 4
    assert "Did you mean Orchard?" in capsys.readouterr().err


def test_an_address_of_a_mailbox_is_a_filter() -> None:
    info = {"id": ROOM, "name": "info", "displayName": "Info", "primarySmtpAddress": "info@estate.example"}

    with calling(page(info)) as (service, server):
        assert id_of(service, "info@estate.example", MAILBOXES) == ROOM

    assert ["q=info%40estate.example" in call.path for call in server.seen] == [True]


def test_a_display_name_of_a_mailbox_is_found_although_the_filter_does_not_know_it() -> None:
    room = {"id": ROOM, "name": "lindau", "displayName": "Room Lindau", "primarySmtpAddress": "lindau@estate.example"}

    with calling(page(), page(room)) as (service, server):
        assert id_of(service, "room lindau", MAILBOXES) == ROOM

    assert len(server.seen) == 2


TEMPLATE_LISTS = (LIST_OFFERED_GROUP_TEMPLATES, LIST_OFFERED_MAILBOX_TEMPLATES)
OFFERED = page(
    {"id": GROUP, "kind": "group", "name": "Project group"}, {"id": TEAM, "kind": "team", "name": "Project team"}
)


@pytest.mark.parametrize("written", ["project TEAM", TEAM.upper()])
def test_a_template_of_another_kind_is_named_as_such(capsys: pytest.CaptureFixture[str], written: str) -> None:
    with calling(OFFERED, page()) as (service, _), pytest.raises(typer.Exit):
        template_id(service, written, ("group",), TEMPLATE_LISTS)

    assert capsys.readouterr().err == (
        "--template: 'Project team' is a template for teams, and this command takes one for groups. "
        "Use: chamberlain team create\n"
    )


def test_a_template_of_another_list_is_named_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    room = page({"id": ROOM, "kind": "room", "name": "Room"})

    with calling(OFFERED, room) as (service, _), pytest.raises(typer.Exit):
        template_id(service, "Room", ("group",), TEMPLATE_LISTS)

    assert "'Room' is a template for rooms" in capsys.readouterr().err


def test_only_templates_of_the_kind_are_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    with calling(OFFERED, page()) as (service, _), pytest.raises(typer.Exit):
        template_id(service, "Project grup", ("group",), TEMPLATE_LISTS)

    assert "Did you mean Project group? Run" in capsys.readouterr().err


def test_a_user_is_found_by_full_name() -> None:
    ben = {"id": ROOM, "displayName": "Ben Okafor", "mail": "ben@estate.example"}

    with calling(answer({"value": [ben]})) as (service, _):
        assert user_id(service, "ben okafor") == ROOM


def test_a_part_of_a_name_of_a_user_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    ben = {"id": ROOM, "displayName": "Ben Okafor", "mail": "ben@estate.example"}

    with calling(answer({"value": [ben]})) as (service, _), pytest.raises(typer.Exit):
        user_id(service, "Ben", option="--member")

    assert (
        capsys.readouterr().err == "--member: There is no user 'Ben'. Did you mean Ben Okafor (ben@estate.example)?\n"
    )
