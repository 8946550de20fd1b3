"""The units for systemd: they are understood, name what exists, and are as closed as each other."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.known import DEPLOY, SETTINGS, lines_of, require_command, settings_in
from tests.docs.pages import ROOT

UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMMAND = "/opt/chamberlain/.venv/bin/chamberlain "
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


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_each_secret_that_it_names_is_handed_to_it(unit: Path) -> None:
    text = unit.read_text(encoding="utf-8")

    assert set(re.findall(r"%d/([\w-]+)", text)) == set(re.findall(r"^LoadCredential=([\w-]+):", text, re.MULTILINE))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is missing on this machine")
def test_systemd_understands_it(unit: Path, tmp_path: Path) -> None:
    # A template needs an instance, and what it starts has to be there.
    there = tmp_path / unit.name.replace("@", "@8365")
    program = Path(sys.executable).with_name("chamberlain")
    there.write_text(unit.read_text(encoding="utf-8").replace(COMMAND, f"{program} "))

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
