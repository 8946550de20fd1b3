# SPDX-License-Identifier: Apache-2.0
"""Commands of events against a running service."""

import json
import os

from tests.cli.shell import Shell
from tests.services import GROUP_TEMPLATE, wait_until


def test_it_works(ada: Shell) -> None:
    # The first read makes the tenant one with a reader.
    ada.done("event", "list", "--limit", "1")
    asked = ada.done(
        "group", "create", "--display-name", "Followed", "--template", GROUP_TEMPLATE, "--wait", "--json"
    ).json
    request_id = asked["requestId"]

    found = ada.done("event", "list", "--request", request_id, "--all", "--json")
    one = ada.done("event", "list", "--request", request_id, "--limit", "1")
    cursor = one.err.split()[-1]
    rest = ada.done("event", "list", "--request", request_id, "--after", cursor)
    of_type = ada.done("event", "list", "--request", request_id, "--type", "group.created", "--json")

    assert [each["type"] for each in found.lines] == ["request.accepted", "group.created"]
    assert one.out.split("\t")[1:] == ["request.accepted", "Followed", "Ada Achterberg", f"{request_id}\n"]
    assert [line.split("\t")[1] for line in rest.out.splitlines()] == ["group.created"]
    assert of_type.lines == found.lines[1:]
    assert ada.run("event", "list", "--type", "request.faild").err.endswith("Did you mean request.failed?\n")


def test_it_follows_events_until_it_is_interrupted(ada: Shell) -> None:
    with ada.started("event", "follow", "--oldest", "--type", "template.changed", "--json") as following:
        following.wait_for("Ctrl-C")
        created = ada.done("template", "create", "--body", "-", "--json", typed='{"kind": "room", "name": "Seen"}').json
        ada.done("template", "delete", created["id"], "--yes")
        stream, said = following.process.stdout, list[str]()
        assert stream is not None
        os.set_blocking(stream.fileno(), False)

        def deleted() -> bool:
            said.append((stream.read() or b"").decode())
            # Other tests delete templates too, and the last line can be incomplete.
            whole = "".join(said).rpartition("\n")[0].splitlines()
            return any(created["id"] in line and '"change": "deleted"' in line for line in whole)

        wait_until(deleted, 60.0)
        following.interrupt()
        ended = following.end()

    assert ended.code == 130
    assert "To continue: --after " in ended.err
    followed = [json.loads(line) for line in "".join(said).splitlines() if created["id"] in line]
    listed = ada.done("event", "list", "--type", "template.changed", "--all", "--json").lines
    assert followed == [each for each in listed if each["data"]["template"]["id"] == created["id"]]
