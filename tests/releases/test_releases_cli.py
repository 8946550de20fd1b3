# SPDX-License-Identifier: Apache-2.0
"""Releases at the command line: preview, confirmation and progress."""

from tests.cli.shell import Shell
from tests.services import NOT_CONFIRMED

TEAMS = ("--type", "team")


def test_it_works(ada: Shell) -> None:
    ada.done("team", "create", "--display-name", "Leavers", "--template", "project team", "--wait")
    waiting = ada.done(
        "team", "create", "--display-name", "Undecided", "--template", "confidential team", "--json"
    ).json

    preview = ada.done("release", *TEAMS, "--dry-run")
    declined = ada.run("release", *TEAMS, typed="n\n")
    released = ada.done("release", *TEAMS, "--yes", "--wait", "--comment", "They leave.", "--json").json
    again = ada.done("release", *TEAMS, "--yes", "--wait")
    ada.done("request", "cancel", waiting["requestId"])

    assert any(line.split("\t")[:3] == ["team", "release", "Leavers"] for line in preview.out.splitlines())
    assert (declined.code, declined.err.endswith(NOT_CONFIRMED)) == (1, True)
    assert (released["state"], released["types"]) == ("succeeded", ["team"])
    assert released["counts"]["released"] == released["counts"]["total"] >= 1
    # The team that waits for approval, and those of other tests, are skipped each time.
    assert released["counts"]["skipped"] >= 1
    assert f"0 of 0 objects are released, {released['counts']['skipped']} skipped." in again.err


def test_it_rejects_an_unknown_type(ada: Shell) -> None:
    ended = ada.run("release", "--type", "site", "--dry-run")

    assert ended.code == 2
    assert "--type: 'site' is not one of" in ended.err
