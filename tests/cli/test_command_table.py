# SPDX-License-Identifier: Apache-2.0
"""Commands, right and wrong, with their exact output on a terminal of 80 columns.

`command_table.txt` has the commands and what they print. WRITE_COMMAND_TABLE=1 writes it again; read its changes before
you commit them. Ids, times and ports that differ from run to run have stable placeholders of the same length.
"""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.cli import table_runner
from tests.cli.browser_user import browser_user
from tests.cli.shell import Shell
from tests.services import Service, restarted_service

pytestmark = pytest.mark.heavy

TABLE = Path(__file__).with_name("command_table.txt")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SAMPLE = re.compile(r"[0-9a-f]{8}-0000-4000-8000-[0-9a-f]{12}")
# Objects of the table beside those of the sample. The last two have one name.
SETUP = (
    ("group", "create", "--template", "Project group", "--display-name", "Orchard", "--wait"),
    ("mailbox", "create", "--template", "Room", "--name", "lindau", "--display-name", "Room Lindau", "--wait"),
    ("team", "create", "--template", "Confidential team", "--display-name", "Merger"),
    ("group", "create", "--template", "Project group", "--display-name", "Twin", "--wait"),
    ("group", "create", "--template", "Project group", "--display-name", "Twin", "--wait"),
)


def cases() -> dict[str, str]:
    """Expected output by command line, with the exit code at its end."""
    blocks = re.split(r"^\$ ", TABLE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {line: output for line, _, output in (block.partition("\n") for block in blocks)}


CASES = cases()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The output of all commands, of one process on one terminal."""
    folder = tmp_path_factory.mktemp("table")
    with restarted_service() as service:
        ada = signed_in(service, folder)
        for arguments in SETUP:
            ada.done(*arguments)
        # A read imports a group that discovery has not found yet.
        for each in ada.done("request", "list", "--kind", "group", "--jq", ".[].result.id").out.split():
            ada.done("group", "show", each)
        (folder / "rom.json").write_text('{"kind": "rom", "name": "Rooms"}')
        outputs = run_on_terminal(ada, folder, list(CASES))
        found = dict(zip(CASES, stable(outputs, ada), strict=True))
    if os.environ.get("WRITE_COMMAND_TABLE"):
        TABLE.write_text("".join(f"$ {line}\n{output}" for line, output in found.items()), encoding="utf-8")
    return found


@pytest.mark.parametrize("line", CASES)
def test_it_works(shown: Mapping[str, str], line: str) -> None:
    assert shown[line] == CASES[line]


def test_there_are_forty_commands_and_none_is_wider_than_the_terminal() -> None:
    assert len(CASES) >= 40
    assert sum("[exit " in output for output in CASES.values()) >= 20
    for line, output in CASES.items():
        # Errors and output for programs have lines of any length, and an address stays whole.
        if not re.search(r"completion|csv|json", line) and "[exit " not in output:
            assert [each for each in output.splitlines() if len(each) > 80 and "https://" not in each] == [], line


def signed_in(service: Service, folder: Path) -> Shell:
    """An administrator, signed in with a browser."""
    shell = Shell(service, folder, {"COLUMNS": "80", "TZ": "UTC", "NO_COLOR": "1"})
    with shell.started("login", "--browser") as login, browser_user(service) as user:
        user.sign_in(login.wait_for(r"https://\S+/authorize\S+")[0])
        assert login.end().code == 0
    return shell


def run_on_terminal(shell: Shell, folder: Path, lines: list[str]) -> list[str]:
    """Run command lines one after the other, and split what the terminal shows."""
    (folder / "commands").write_text("\n".join(lines), encoding="utf-8")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, table_runner.__file__, str(folder / "commands")],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, **shell.variables, "TERM": "xterm", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    os.close(theirs)
    text = read_all(ours).replace("\r\n", "\n")
    assert process.wait(60) == 0, text
    found = re.findall(rf"(.*?){table_runner.SEPARATOR}(\d+)\n", text, re.DOTALL)
    return [output + ("" if code == "0" else f"[exit {code}]\n") for output, code in found]


def read_all(terminal: int) -> str:
    """Read a terminal until its other end is closed."""
    parts = []
    while True:
        try:
            part = os.read(terminal, 65_536)
        except OSError:  # Linux raises it when the other end is closed.
            break
        if not part:
            break
        parts.append(part)
    os.close(terminal)
    return b"".join(parts).decode()


def stable(outputs: list[str], shell: Shell) -> Iterator[str]:
    """Replace ids, times, ports and versions that differ from run to run."""
    known = "\n".join(shell.done("request", "list", "--json").out.splitlines()[::-1])
    known += shell.done("mailbox", "list", "--json").out + shell.done("group", "list", "--json").out
    ids = dict.fromkeys(each for each in _UUID.findall(known + "".join(outputs)) if not _SAMPLE.fullmatch(each))
    fixed = {each: f"{number:08x}-aaaa-4aaa-8aaa-aaaa{number:08x}" for number, each in enumerate(ids, start=1)}
    for output in outputs:
        text = output
        for each, stand_in in fixed.items():
            text = text.replace(each, stand_in).replace(each[-8:], stand_in[-8:])
        yield _without_times(text, shell.service)


def _without_times(text: str, service: Service) -> str:
    text = re.sub(r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(\.\d+)?", lambda found: f"2026-11-26{found[1]}09:30:00", text)
    text = re.sub(r"\b\d+ [smh]$", "5 s", text, flags=re.MULTILINE)
    text = text.replace(f":{service.port}", ":18365").replace(f":{service.port + 1}", ":18366")
    text = re.sub(r"traceId [0-9a-f]{32}", f"traceId {32 * '0'}", text)
    text = re.sub(r"twin-[0-9a-f]{8}@", "twin-00000000@", text)
    return re.sub(r"^Python 3\.\S+", "Python 3.x", text, flags=re.MULTILINE)
