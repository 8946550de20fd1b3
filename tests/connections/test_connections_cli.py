# SPDX-License-Identifier: Apache-2.0
"""Connections at the command line: added, listed, checked, changed and removed."""

import pytest

from tests.cli.shell import Shell

SECRET = "never printed"


def test_it_works(ada: Shell) -> None:
    missing = ada.run("connection", "check")
    added = ada.done("connection", "add", "--json").json
    listed = ada.done("connection", "list", "--json").lines
    checked = ada.done("connection", "check", "--json").json
    nothing = ada.run("connection", "change")
    events = ada.done("event", "list", "--type", "connection.ready", "--all").out.splitlines()
    removed = ada.done("connection", "remove", "--yes")

    assert missing.code == 2
    assert (added["adapter"], added["address"], added["state"]) == ("embedded", None, "ready")
    assert [each["id"] for each in listed] == [added["id"]]
    assert checked["state"] == "ready"
    assert nothing.code == 2
    assert events[-1].split("\t")[1:3] == ["connection.ready", "embedded"]
    assert removed.err
    assert ada.done("connection", "list", "--json").lines == []


def test_the_service_refuses_a_host_that_is_not_permitted(ada: Shell) -> None:
    refused = ada.run(
        "connection", "add", "--credential-stdin", "--address", "postgresql://r@192.0.2.1/d", typed=f"{SECRET}\n"
    )

    assert refused.code == 1
    assert "CHAMBERLAIN_CONNECTION_HOSTS" in refused.err
    assert SECRET not in refused.out + refused.err


@pytest.mark.parametrize(
    "options",
    [
        ["--address", "postgresql://r@192.0.2.1/d"],
        ["--credential-file", "password"],
        ["--address", "postgresql://r@192.0.2.1/d", "--credential-stdin"],
    ],
)
def test_an_address_needs_a_credential(ada: Shell, options: list[str]) -> None:
    refused = ada.run("connection", "add", *options, typed="\n")

    assert refused.code == 2
    assert "--credential-stdin" in refused.err


def test_two_credentials_exclude_each_other(ada: Shell) -> None:
    refused = ada.run("connection", "change", "--credential-stdin", "--credential-file", "password", typed=SECRET)

    assert refused.code == 2
