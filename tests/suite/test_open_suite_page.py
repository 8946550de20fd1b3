# SPDX-License-Identifier: Apache-2.0
"""open-suite.md, followed to the letter on one machine."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from chamberlain.directory.opensuite.check import Item
from deploy.suite.connection import environment_of
from deploy.suite.folder import Suite, created, opened
from deploy.suite.processes import end
from tests.docs.pages import ROOT, named, rows, section, shell_blocks
from tests.services import running_service, wait_until
from tests.suite.calendar_client import CalendarClient
from tests.suite.conftest import PARTS, SYNAPSE
from tests.suite.suite_requests import WITHIN

PAGE = ROOT / "docs" / "how-to" / "open-suite.md"
# The two blocks that write suite.env. The reader changes it after them.
SETTINGS_BLOCKS = 2
# Programs that would change the machine. The packages are there, and servers start in the folder of the test.
_PROGRAMS: Mapping[str, str] = {
    "apt-get": "exit 0",
    "systemctl": 'cd {root} && exec {python} -m tests.suite.systemctl {folder} {synapse} "$@"',
}


@pytest.fixture
def reader_folder() -> Iterator[Path]:
    """A folder with the values of one machine, where no server has started."""
    folder = Path(tempfile.mkdtemp(prefix="suite-", dir="/var/tmp"))
    suite = created(folder)
    yield folder
    end(suite, PARTS)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.timeout(600)
def test_it_works(reader_folder: Path, tmp_path: Path) -> None:
    blocks = shell_blocks(PAGE)
    for name in ("deploy", "requirements-synapse.lock"):
        (tmp_path / name).symlink_to(ROOT / name)
    run(tmp_path, reader_folder, blocks[:SETTINGS_BLOCKS])
    change_addresses(tmp_path / "suite.env", opened(reader_folder))
    shutil.copy(tmp_path / "suite.env", reader_folder / "suite.env")
    suite = opened(reader_folder)
    (reader_folder / "synapse-home").symlink_to(SYNAPSE.parents[1])
    (reader_folder / "default-slapd").write_text('SLAPD_CONF=\nSLAPD_SERVICES="ldap:/// ldapi:///"\n')

    with running_service(environment=environment_of(suite)) as service:
        here = f"--port {service.port} --data-dir {service.data_dir}"
        said = run(tmp_path, reader_folder, blocks[SETTINGS_BLOCKS:], here)

    assert "ready" in said
    calendar, start = CalendarClient(suite), datetime(2031, 1, 6, 9, tzinfo=UTC)
    uid = calendar.book("tess", "lake-view@rooms.estate.example", start)
    wait_until(lambda: calendar.answer("tess", uid, "lake-view@rooms.estate.example") == "ACCEPTED", WITHIN)


def test_it_names_every_item_of_the_check() -> None:
    table = section(PAGE, "## 6. Connect the tenant")

    assert [row[0] for row in rows(table)] == list(Item)
    assert named(table) == []


def change_addresses(settings: Path, suite: Suite) -> None:
    """Change all values but the secrets, as the reader does with those of four servers."""
    lines = settings.read_text(encoding="utf-8").splitlines()
    names = [line.partition("=")[0] for line in lines if "=" in line and not line.startswith("#")]
    secrets = {name for name in names if name.endswith(("PASSWORD", "KEY", "TOKEN", "SECRET"))}
    changed = [
        f"{name}={suite.values[name]}" if (name := line.partition("=")[0]) in set(names) - secrets else line
        for line in lines
    ]
    # Ports that example.env has within an address.
    changed.append(f"LDAP_PORT={suite.values['LDAP_PORT']}")
    settings.write_text("\n".join(changed) + "\n", encoding="utf-8")


def run(work: Path, folder: Path, blocks: list[str], here: str = "") -> str:
    """Run blocks in one shell, and return their output."""
    programs = work / "programs"
    programs.mkdir(exist_ok=True)
    for name, script in _PROGRAMS.items():
        text = script.format(root=ROOT, python=sys.executable, folder=folder, synapse=SYNAPSE)
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", "set -euo pipefail\n" + "\n".join(adapted(block, folder, here) for block in blocks)],
        cwd=work,
        env={
            **os.environ,
            "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PGHOST": str(folder / "postgresql" / "data"),
            "PGPORT": opened(folder).values["DATABASE_PORT"],
            "PGUSER": "postgres",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def adapted(block: str, folder: Path, here: str) -> str:
    """Replace what a test must not touch: a file of the machine, and users that no package creates."""
    replaced = {
        "/etc/default/slapd": f"{folder}/default-slapd",
        '"$SYNAPSE_CONFIG" synapse': '"$SYNAPSE_CONFIG"',
        "-o synapse -g synapse": "-o root -g root",
        "chown synapse": "chown root",
        '"$CONNECTION_FILES/$TENANT" chamberlain': '"$CONNECTION_FILES/$TENANT"',
        "chamberlain connection add": f"chamberlain connection add {here}",
        "chamberlain mailbox create": f"chamberlain mailbox create {here}",
    }
    for name, value in replaced.items():
        block = block.replace(name, value)
    return block
