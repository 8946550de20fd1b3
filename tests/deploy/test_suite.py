# SPDX-License-Identifier: Apache-2.0
"""The files of the open suite, without its servers."""

import re
import stat
import subprocess
from pathlib import Path

import pytest
import yaml

from deploy.suite.people import people_ldif
from deploy.suite.plist import command_line, settings

pytestmark = pytest.mark.pure

SUITE = Path(__file__).parents[2] / "deploy" / "suite"
FOLDERS = ("slapd", "dovecot", "postfix", "postgresql", "sogo", "nginx", "synapse", "memcached", "systemd", "tenant")
PLACEHOLDER = re.compile("@[A-Z][A-Z0-9_]*@")


def fill(folder: str, target: Path, settings_file: Path = SUITE / "example.env") -> subprocess.CompletedProcess[str]:
    command = [str(SUITE / "fill"), str(settings_file), str(SUITE / folder), str(target)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("folder", FOLDERS)
def test_it_works_for_every_placeholder(folder: str, tmp_path: Path) -> None:
    done = fill(folder, tmp_path)

    assert done.returncode == 0, done.stderr
    assert {file.name for file in tmp_path.iterdir()} == {file.name for file in (SUITE / folder).iterdir()}
    assert not any(PLACEHOLDER.search(file.read_text(encoding="utf-8")) for file in tmp_path.iterdir())


def test_files_with_secrets_are_closed(tmp_path: Path) -> None:
    fill("dovecot", tmp_path)

    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == {
        "dovecot.conf": 0o644,
        "doveadm-key.conf": 0o640,
        "users.conf.ext": 0o640,
        "logins.conf.ext": 0o640,
    }


def test_a_missing_value_is_an_error(tmp_path: Path) -> None:
    env = tmp_path / "suite.env"
    env.write_text("DOMAIN=estate.example\n")

    done = fill("synapse", tmp_path / "synapse", env)

    assert done.returncode == 1
    assert "@APPSERVICE_TOKEN@" in done.stderr


def test_values_are_taken_literally(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.conf").write_text("password = @A_PASSWORD@\n")
    (tmp_path / "suite.env").write_text("A_PASSWORD=a|b&c\\d=\n")

    subprocess.run([SUITE / "fill", tmp_path / "suite.env", tmp_path / "in", tmp_path / "out"], check=True)

    assert (tmp_path / "out" / "a.conf").read_text() == "password = a|b&c\\d=\n"


def test_it_passes_the_settings_of_sogo_as_arguments(tmp_path: Path) -> None:
    fill("sogo", tmp_path)
    text = (tmp_path / "sogo.conf").read_text(encoding="utf-8")

    words = command_line(text)

    assert dict(settings(text))["SOGoSuperUsernames"] == '( "chamberlain-calendar" )'
    assert words[words.index("-WOPort") + 1] == "127.0.0.1:20000"
    sources = words[words.index("-SOGoUserSources") + 1]
    assert sources.count("{") == sources.count("}") == 4
    assert "/*" not in sources


def test_the_yaml_files_can_be_read(tmp_path: Path) -> None:
    fill("synapse", tmp_path)

    documents = {file.name: yaml.safe_load(file.read_text(encoding="utf-8")) for file in tmp_path.glob("*.yaml")}

    assert documents["chamberlain.yaml"]["namespaces"]["aliases"] == [
        {"exclusive": True, "regex": "#chamberlain-.*:estate.example"}
    ]
    assert documents["homeserver.yaml"]["server_name"] == "estate.example"


def test_the_people_are_those_of_the_estate() -> None:
    entries = people_ldif("dc=estate,dc=example").split("\n\n")

    [ada] = [entry for entry in entries if entry.startswith("dn: uid=ada,")]
    assert "entryUUID: ada00000-0000-4000-8000-000000000001" in ada
    assert "mail: ada@estate.example" in ada
    [gil] = [entry for entry in entries if "uid=gil," in entry.splitlines()[0]]
    assert gil.startswith("dn: uid=gil,ou=guests,")
    assert "employeeType: Guest" in gil
