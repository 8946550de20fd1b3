# SPDX-License-Identifier: Apache-2.0
"""`chamberlain people find` against a running service."""

from tests.cli.shell import Shell


def test_it_works(ada: Shell) -> None:
    found = ada.done("people", "find", "ben ok", "--json").lines

    assert [(each["displayName"], each["mail"], each["isGuest"]) for each in found] == [
        ("Ben Okafor", "ben@estate.example", False)
    ]
    assert ada.done("people", "find", "Gil", "-o", "name").out.strip().endswith("9e570000-0000-4000-8000-000000000001")


def test_one_letter_is_not_enough(ada: Shell) -> None:
    ended = ada.run("people", "find", "b")

    assert ended.code == 1
    assert "code invalidParameter" in ended.err
