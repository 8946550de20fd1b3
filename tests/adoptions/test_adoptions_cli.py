# SPDX-License-Identifier: Apache-2.0
"""Adoptions at the command line: preview, adopt and undo."""

import pytest

from tests.cli.shell import Json, Shell
from tests.services import NOT_CONFIRMED, wait_until

pytestmark = pytest.mark.heavy

ALL_STAFF = "94000000-0000-4000-8000-000000000001"
RULE = ("--kind", "group", "--template", "project group", "--prefix", "all staff")


def adoption(ada: Shell, adoption_id: str) -> Json:
    [found] = [each for each in ada.done("adoption", "list", "--json").lines if each["id"] == adoption_id]
    return found


def until(ada: Shell, adoption_id: str, state: str) -> None:
    wait_until(lambda: adoption(ada, adoption_id)["state"] == state, 20.0)


def test_it_works(ada: Shell) -> None:
    # The service looks around for groups when it starts.
    wait_until(lambda: ALL_STAFF in ada.done("adoption", "preview", *RULE).out, 20.0)
    shown = ada.done("adoption", "preview", *RULE)
    preview = ada.done("adoption", "preview", *RULE, "--json").json

    confirmed = ada.done("adoption", "confirm", *RULE, "--digest", preview["digest"], "--json").json
    until(ada, confirmed["id"], "succeeded")
    shown_again = ada.done("adoption", "show", confirmed["id"], "--json").json
    managed = ada.done("adoption", "preview", *RULE, "--json").json
    undone = ada.done("adoption", "undo", confirmed["id"], "--yes", "--comment", "A slip.", "--json").json
    until(ada, confirmed["id"], "undone")

    assert shown.out.split("\t")[:4] == ["taken", "All staff", "all-staff@estate.example", ALL_STAFF]
    assert "1 would be taken, 0 not" in shown.err
    assert preview["digest"] in shown.err
    assert managed["counts"] == {"taken": 0, "conflicts": {"alreadyManaged": 1}}
    assert (shown_again["id"], shown_again["state"]) == (confirmed["id"], "succeeded")
    assert undone["state"] == "undoing"


def test_it_shows_and_asks_before_anything_is_taken(ada: Shell) -> None:
    wait_until(lambda: ALL_STAFF in ada.done("adoption", "preview", *RULE).out, 20.0)

    ended = ada.run("adoption", "confirm", *RULE, typed="n\n")

    assert (ended.code, ALL_STAFF in ended.out) == (1, True)
    assert ended.err.endswith(NOT_CONFIRMED)


def test_it_rejects_what_was_not_shown_and_a_kind_that_there_is_not(ada: Shell) -> None:
    stale = ada.run("adoption", "confirm", *RULE, "--digest", f"sha256:{64 * '0'}")
    strange = ada.run("adoption", "preview", "--kind", "projector", "--template", "Room")

    assert stale.code == 1
    assert "code previewChanged" in stale.err
    assert strange.code != 0
    assert "kind" in strange.err


def test_it_rejects_callers_without_the_administrator_role(cleo: Shell) -> None:
    assert cleo.run("adoption", "list").code != 0
