# SPDX-License-Identifier: Apache-2.0
"""The compose file: what its services name is there, and its two scripts make what the service can use."""

import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from chamberlain.core.outages import Outage
from chamberlain.database.migrate import ROLES
from chamberlain.secrets.keyring import KeysFile
from tests.deploy.documented_names import DEFAULT_PORT, DEPLOY, SETTINGS, require_command, settings_in
from tests.docs.pages import ROOT
from tests.services import run_command

FOLDER = DEPLOY / "compose"
# A YAML document, whose parts are what is tested.
Document = Any


@pytest.fixture(scope="module")
def document() -> Document:
    return yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """The folder that the script has made."""
    subprocess.run([FOLDER / "make-secrets", tmp_path / "secrets"], check=True)
    return tmp_path / "secrets"


def ours(document: Document) -> Document:
    """The services that run our image."""
    return {name: each for name, each in document["services"].items() if each["image"] == "chamberlain"}


def test_it_works(document: Document) -> None:
    services = ours(document)

    assert list(services) == ["migrate", "api", "worker"]
    for each in services.values():
        require_command(each["command"])
        assert {name for name in each["environment"] if name.startswith("CHAMBERLAIN")} <= SETTINGS
        assert (each["read_only"], each["cap_drop"], each["user"]) == (True, ["ALL"], "8365:8365")
    assert settings_in((FOLDER / "compose.yaml").read_text(encoding="utf-8")) <= SETTINGS
    assert services["api"]["ports"] == [f"127.0.0.1:{DEFAULT_PORT}:{DEFAULT_PORT}"]
    assert (FOLDER / services["api"]["build"]["context"] / services["api"]["build"]["dockerfile"]).exists()


def test_an_upgrade_leaves_to_old_processes_what_they_need(document: Document) -> None:
    page = (ROOT / "docs" / "how-to" / "containers.md").read_text(encoding="utf-8")

    # New containers wait for this one, and running ones go on beside it.
    assert document["services"]["migrate"]["command"] == ["migrate", "--before"]
    assert "deploy/compose/compose.yaml run --rm migrate migrate" in page


def test_each_service_has_the_secrets_that_it_names_and_the_script_makes_them(
    document: Document, secrets: Path
) -> None:
    for service in document["services"].values():
        named = {
            str(value).rpartition("/")[2]
            for value in service["environment"].values()
            if str(value).startswith("/run/secrets/")
        }
        # A secret that is not needed before serving may be missing.
        assert named - {"keys"} <= set(service["secrets"])
        assert set(service["secrets"]) <= set(document["secrets"])
    made = {path.name for path in secrets.iterdir()}
    assert {Path(each["file"]).name for each in document["secrets"].values()} == made
    assert "keys" in document["services"]["api"]["secrets"]
    assert "keys" in document["services"]["worker"]["secrets"]


@pytest.mark.heavy
def test_the_secrets_can_be_used_and_stay(document: Document, secrets: Path) -> None:
    before = {path.name: path.read_text() for path in secrets.iterdir()}
    subprocess.run([FOLDER / "make-secrets", secrets], check=True)
    environment = {
        name: value.replace("/run/secrets", str(secrets))
        for name, value in ours(document)["migrate"]["environment"].items()
        if value.startswith("/run/secrets")
    }

    environment["CHAMBERLAIN_DATABASE_START_TIMEOUT"] = "0"

    # The database is unavailable: invalid settings would be reported before that, with another exit code.
    done = run_command("worker", "--data-dir", str(secrets / "data"), environment=environment)

    assert {path.name: path.read_text() for path in secrets.iterdir() if path.is_file()} == before
    assert KeysFile(secrets / "keys").read().first
    assert (done.returncode, Outage.NETWORK.seen in done.stderr) == (1, True), done.stderr
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o700


def test_the_roles_are_those_of_the_migrations() -> None:
    text = (FOLDER / "make-roles").read_text(encoding="utf-8")
    made = [line for line in text.splitlines() if line.startswith("CREATE")]
    for name in ("owner", "application", "worker"):
        made = [line.replace(f" PASSWORD :'{name}'", "") for line in made]

    assert made == [line for line in ROLES.splitlines() if line.startswith("CREATE")]
    assert all(os.access(FOLDER / name, os.X_OK) for name in ("make-roles", "make-secrets"))
