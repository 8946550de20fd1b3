# SPDX-License-Identifier: Apache-2.0
"""`chamberlain serve` on a terminal: the box, the log file, and Ctrl-C."""

import json

import pytest

from tests.folders import data_folder
from tests.pseudo_terminals import COLUMNS, on_terminal
from tests.services import COMMAND, free_port

pytestmark = pytest.mark.heavy


def test_it_works_on_a_terminal_and_a_second_time() -> None:
    with data_folder() as folder:
        serve = [*COMMAND, "serve", "--port", str(free_port()), "--data-dir", str(folder)]
        shown = []
        for _ in range(2):
            with on_terminal(serve, {"NO_COLOR": "1"}) as terminal:
                terminal.wait_for("Ctrl-C")
                terminal.press_ctrl_c()
                assert terminal.end() == 0
                shown.append(terminal.shown)

        passwords = json.loads((folder / "example-users.json").read_text()).values()
        logged = [json.loads(line) for line in (folder / "service.log").read_text().splitlines()]
        for text in shown:
            assert str(folder / "example-users.json") in text.replace("│\r\n│            ", "")
            assert {len(line) for line in text.splitlines() if line[:1] in "┌│└" and line} == {COLUMNS}
            # Nothing follows the box but the next commands, which are wider than it, and the line of the end.
            commands, _, end = text.rpartition("┘")[2].partition("^C")
            assert [line for line in commands.split("\r\n")[3:] if line and str(folder) not in line] == []
            assert end.split() == ["Stopped."]
            assert "\x1b" not in text
            assert not any(password in text for password in passwords)
        assert ["from an earlier start" in text for text in shown] == [False, True]
        assert [line["event"] for line in logged].count("The service has stopped.") == 2
