# SPDX-License-Identifier: Apache-2.0
"""Looking ahead at policies, and what becomes of findings, at the command line."""

from tests.cli.shell import Shell
from tests.services import wait_until

ALL_STAFF = "94000000-0000-4000-8000-000000000001"


def test_it_works_to_accept_a_finding(ada: Shell) -> None:
    ahead = ada.done("group", "assign", ALL_STAFF, "--template", "No guests", "--dry-run", "--json")
    ada.done("group", "assign", ALL_STAFF, "--template", "No guests", "--wait")
    again = ada.done("group", "assign", ALL_STAFF, "--template", "No guests", "--dry-run")
    wait_until(lambda: ada.done("finding", "list", "--state", "open", "--json").lines != [], 20)
    (found,) = ada.done("finding", "list", "--state", "open", "--subject", ALL_STAFF, "--json").lines

    accepted = ada.done(
        "finding", "accept", found["id"], "--reason", "He stays.", "--until", "2099-12-31T00:00:00", "--json"
    ).json
    listed = ada.done("finding", "list", "--state", "accepted", "--kind", "guestAgainstRule").out
    guest = ada.run("finding", "repair", found["id"])
    ignored = ada.run("finding", "ignore", found["id"], "--comment", "Fine.")
    late = ada.run("finding", "accept", found["id"], "--reason", "He stays.", "--until", "2020-01-01T00:00:00")
    ada.done("group", "assign", ALL_STAFF, "--no-template", "--wait")

    assert [each["observed"]["displayName"] for each in ahead.json["findings"]] == ["Gil Hartmann"]
    assert "Nothing was done." in ahead.err
    assert "already assigned" in again.err
    assert accepted["state"] == "accepted"
    assert accepted["acceptance"]["until"] == "2099-12-31T00:00:00.000Z"
    assert listed.split("\t")[:4] == [found["id"], "accepted", "guestAgainstRule", "All staff"]
    # Only drift can be repaired or ignored.
    assert (guest.code, ignored.code) == (1, 1)
    assert "guestAgainstRule" in guest.err
    assert "guestAgainstRule" in ignored.err
    assert late.code == 1
    assert "--until: until must be later than now." in late.err


def test_it_shows_what_a_policy_would_do(ada: Shell) -> None:
    shown = ada.done("policy", "simulate", "90 days", "--group", ALL_STAFF)
    everything = ada.done("policy", "simulate", "90 days", "--json").json

    rows = [line.split("\t") for line in shown.out.splitlines()]
    assert [row[1] for row in rows] == ["reminder"] * 3 + ["finding", "action"]
    assert {row[4] for row in rows} == {"Gil Hartmann"}
    assert ": groups and sites 1, guests 1, reminders 3, finding guestExpired 1, action remove 1." in shown.err
    assert everything["counts"] == {"reminders": 3, "findings": {"guestExpired": 1}, "actions": {"remove": 1}}
    assert everything["subjects"] >= 3


def test_it_rejects_groups_that_there_are_not(ada: Shell) -> None:
    ended = ada.run("policy", "simulate", "90 days", "--group", "00000000-0000-0000-0000-000000000007")

    assert ended.code == 1
    assert "--group 00000000-0000-0000-0000-000000000007: The directory has no such group." in ended.err


def test_a_repair_and_an_ignored_value_need_a_finding(ada: Shell) -> None:
    missing = "00000000-0000-0000-0000-000000000007"

    assert ada.run("finding", "repair", missing, "--comment", "Now", "--wait").code == 4
    assert ada.run("finding", "ignore", missing, "--comment", "Fine.").code == 4


def test_it_rejects_to_confirm_what_there_is_not(ada: Shell, cleo: Shell) -> None:
    for shell in (ada, cleo):
        ended = shell.run("finding", "confirm", "00000000-0000-0000-0000-000000000007", "--comment", "Stays")
        assert ended.code == 4
