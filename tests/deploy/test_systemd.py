# SPDX-License-Identifier: Apache-2.0
"""The units for systemd: they are understood, name what exists, and are as closed as each other."""

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.databases import Databases
from tests.deploy.documented_names import DEPLOY, SETTINGS, lines_of, require_command, settings_in
from tests.docs.pages import ROOT, section

UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMMAND = "/opt/chamberlain/.venv/bin/chamberlain "
PROGRAM = Path(sys.executable).with_name("chamberlain")
BY_HAND = DEPLOY / "systemd" / "by-hand"
PAGE = ROOT / "docs" / "how-to" / "system-service.md"


def test_it_works_for_every_unit_that_the_page_names() -> None:
    named = re.findall(r"chamberlain[\w-]*@?(?=\d|\.service|\s|`)", PAGE.read_text(encoding="utf-8"))

    assert {f"{name}.service" for name in named if not name.endswith("-")} >= {unit.name for unit in UNITS}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_it_names_settings_and_commands_that_there_are(unit: Path) -> None:
    text = unit.read_text(encoding="utf-8")
    (started,) = re.findall(r"^ExecStart=(.+)$", text, re.MULTILINE)

    assert settings_in(text) <= SETTINGS
    require_command(started.removeprefix(COMMAND).split())


@pytest.mark.parametrize("unit", [unit for unit in UNITS if "@" in unit.name], ids=lambda unit: unit.name)
def test_each_of_several_processes_has_settings_of_its_own_behind_the_common_ones(unit: Path) -> None:
    files = re.findall(r"^EnvironmentFile=-(.+)$", unit.read_text(encoding="utf-8"), re.MULTILINE)
    name = unit.name.partition("@")[0].removeprefix("chamberlain-")

    # Else none could show its figures: each needs a port for them.
    assert files == ["/etc/chamberlain/environment", f"/etc/chamberlain/{name}-%i.environment"]
    assert f"`/etc/chamberlain/{name}-" in PAGE.read_text(encoding="utf-8")
    assert f"`/etc/chamberlain/{name}-" in (ROOT / "docs/how-to/dashboard.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_each_secret_that_it_names_is_handed_to_it(unit: Path) -> None:
    text = unit.read_text(encoding="utf-8")

    assert set(re.findall(r"%d/([\w-]+)", text)) == set(re.findall(r"^LoadCredential=([\w-]+):", text, re.MULTILINE))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is missing on this machine")
def test_systemd_understands_it(unit: Path, tmp_path: Path) -> None:
    # A template needs an instance, and what it starts has to be there.
    there = tmp_path / unit.name.replace("@", "@8365")
    there.write_text(unit.read_text(encoding="utf-8").replace(COMMAND, f"{PROGRAM} "))

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(there)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_all_are_as_closed_as_each_other() -> None:
    closed = {
        tuple(
            line
            for line in lines_of(unit)
            if re.match(r"Protect|Private|Restrict[A-Z]\w+=(?!78)|System|NoNew|Cap", line)
        )
        for unit in UNITS
    }

    assert len(closed) == 1
    assert {"NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet="} <= set(closed.pop())


@pytest.mark.heavy
async def test_keys_are_rotated_by_hand_beside_several_processes(databases: Databases, tmp_path: Path) -> None:
    (prepare,) = _blocks("## Several processes on an outside database")
    for name in ("etc", "var"):
        (tmp_path / name).mkdir()
    # Files of root and of the service's user on a real machine belong here to the user who runs the tests.
    _shell(tmp_path, f"cp() {{ :; }}\nsystemctl() {{ :; }}\n{re.sub(' -[og] chamberlain', '', prepare)}")
    modes = _modes_of_files(tmp_path)
    (tmp_path / "etc/chamberlain/database-url").write_text(databases.addresses.application)
    (tmp_path / "etc/chamberlain/database-worker-url").write_text(databases.addresses.worker)
    (tmp_path / "etc/chamberlain/environment").write_text(
        "CHAMBERLAIN_SMTP_SENDER='Chamberlain <chamberlain@green.example>'\n"
    )

    added = _by_hand(tmp_path, ["keys", "add"])
    (key,) = re.findall(r"\bk[0-9a-f]{8}\b", added)[:1]
    rotated = _by_hand(tmp_path, ["keys", "rotate", "--to", key])
    listed = _by_hand(tmp_path, ["keys", "list"])

    assert modes == {"database-url": 0o640, "database-worker-url": 0o640, "database-owner-url": 0o600, "keys": 0o600}
    assert f"keys rotate --to {key}" in added
    assert f"{key} encrypts" in rotated
    assert re.findall(r"^(\w+)\t(seals|opens)", listed, re.MULTILINE) == [(key, "seals"), ("k1", "opens")]


@pytest.mark.parametrize(
    "command", re.findall(rf"/opt/chamberlain/deploy/systemd/{BY_HAND.name} (.+)", PAGE.read_text(encoding="utf-8"))
)
def test_commands_by_hand_are_those_that_there_are(command: str) -> None:
    require_command(command.rstrip("\\").split())


def test_a_command_by_hand_finds_what_the_units_name() -> None:
    text = BY_HAND.read_text(encoding="utf-8")
    units = "".join(unit.read_text(encoding="utf-8") for unit in UNITS)

    assert settings_in(text) <= SETTINGS
    assert os.access(BY_HAND, os.X_OK)
    assert set(re.findall(r"/etc/chamberlain/[\w-]+", text)) <= set(re.findall(r"/etc/chamberlain/[\w-]+", units))
    # The keys file is where it is without a setting.
    assert set(re.findall(r"CHAMBERLAIN_KEYS_FILE=(.+)", units)) == {"/var/lib/chamberlain/keys"}


def _blocks(heading: str) -> list[str]:
    return re.findall(r"^```sh.*?\n(.*?)^```$", section(PAGE, heading), re.MULTILINE | re.DOTALL)


def _modes_of_files(folder: Path) -> Mapping[str, int]:
    return {each.name: stat.S_IMODE(each.stat().st_mode) for each in folder.rglob("*") if each.is_file()}


def _by_hand(machine: Path, arguments: Sequence[str]) -> str:
    return _shell(machine, BY_HAND.read_text(encoding="utf-8"), *arguments)


def _shell(machine: Path, script: str, *arguments: str) -> str:
    """The output of a script on a machine with these folders."""
    here = script.replace("/etc/chamberlain", f"{machine}/etc/chamberlain")
    here = here.replace("/var/lib/chamberlain", f"{machine}/var").replace(COMMAND, f"{PROGRAM} ")
    done = subprocess.run(
        ["sh", "-euc", here, "sh", *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
