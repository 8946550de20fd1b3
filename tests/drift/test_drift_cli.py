# SPDX-License-Identifier: Apache-2.0
"""A check for drift, asked for at the command line."""

from tests.cli.shell import Shell
from tests.services import wait_until


def test_it_works(ada: Shell) -> None:
    first = ada.done("drift", "check", "--comment", "Why not", "--json").json

    def is_through() -> bool:
        later = ada.done("drift", "check", "--json").json
        return later["finishedAt"] is not None and later["finishedAt"] >= first["askedAt"]

    wait_until(is_through, 20)


def test_it_rejects_who_is_no_administrator(cleo: Shell) -> None:
    ended = cleo.run("drift", "check")

    assert ended.code == 3
