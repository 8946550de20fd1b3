# SPDX-License-Identifier: Apache-2.0
"""Configuration files at a shell: planned, applied and exported, beside a running service and without one."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from chamberlain.configuration.yaml import MOST_BYTES, write_document
from chamberlain.embedded.example import example_estate
from tests.auth.issuer import make_key, run_issuer, sign
from tests.commands import run_here
from tests.folders import data_folder
from tests.services import (
    ADA,
    ADA_MAIL,
    API,
    GROUP_TEMPLATE,
    NO_CHANGES,
    NOT_CONFIRMED,
    TEAM_TEMPLATE,
    TLS,
    Service,
    look_up,
    outside_database,
    restarted_service,
    run_command,
    start_service,
)

# The content of YAML, whose types are under test here.
Document = Any

TENANT = "e57a7e00-0000-4000-8000-000000000001"
NINETY_DAYS = "90110000-0000-4000-8000-000000000001"
HOUSE = """\
tenants:
  - id: 40c5e000-0000-4000-8000-000000000001
    name: Green House
    domains: [green.example]
    templates:
      - {id: 40c5e000-0000-4000-8000-000000000011, kind: group, name: Project group}
"""
MADE = """\
Tenant 40c5e000-0000-4000-8000-000000000001
  create  tenant    40c5e000-0000-4000-8000-000000000001  Green House
  create  template  40c5e000-0000-4000-8000-000000000011  Project group
2 to create, 0 to change, 0 to remove.
"""


class Shell:
    """Commands on the database of a service, and a file to work with."""

    def __init__(self, service: Service, folder: Path) -> None:
        self.service = service
        self.file = folder / "estate.yaml"

    def run(self, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        where = ("--data-dir", str(self.service.data_dir))
        return run_here(*arguments, *where, environment=self.service.environment, typed=typed)

    def told(self, verb: str, *options: str) -> tuple[int, str]:
        """Exit code and output of a command on the file that has no fault to tell."""
        done = self.run(verb, str(self.file), *options)
        assert done.stderr == ""
        return done.returncode, done.stdout

    def exported(self) -> Document:
        assert self.told("export") == (0, "")
        return yaml.safe_load(self.file.read_text(encoding="utf-8"))

    def write(self, document: Document) -> None:
        self.file.write_text(write_document(document), encoding="utf-8")

    def changes(self) -> object:
        """How many changes there have been."""
        return look_up(self.service.embedded_addresses.worker, "SELECT count(*) FROM chamberlain.audit")


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """One of its own, since its tenants change."""
    with restarted_service() as running:
        yield running


@pytest.fixture
def shell(service: Service, tmp_path: Path) -> Shell:
    return Shell(service, tmp_path)


def template_in(document: Document, template: str) -> Document:
    (found,) = [each for each in document["tenants"][0]["templates"] if each["id"] == template]
    return found


def test_it_works(shell: Shell) -> None:
    document = shell.exported()
    assert shell.told("plan") == (0, NO_CHANGES)

    template_in(document, GROUP_TEMPLATE)["name"] = "Project circle"
    shell.write(document)
    code, plan = shell.told("plan")
    assert code == 2
    assert plan.splitlines() == [
        f"Tenant {TENANT}",
        f"  change  template  {GROUP_TEMPLATE}  Project circle",
        '            name: "Project group" -> "Project circle"',
        "0 to create, 1 to change, 0 to remove.",
    ]

    before = shell.changes()
    assert shell.told("apply") == (0, f"{plan}Done.\n")
    assert shell.changes() == int(str(before)) + 1
    assert shell.told("plan") == (0, NO_CHANGES)
    assert shell.exported() == document


def test_the_example_estate_is_such_a_file(shell: Shell) -> None:
    shell.file.write_bytes(example_estate().replace(b"name: Project group", b"name: Project circle"))

    code, plan = shell.told("plan")

    assert (code, plan.splitlines(keepends=True)[0]) == (0, NO_CHANGES)
    assert "directory and clients are for the embedded products" in plan


def test_the_running_service_follows_at_once(shell: Shell, service: Service) -> None:
    body = {"displayName": "A group", "templateId": GROUP_TEMPLATE}
    assert service.post_group(body).status_code == 202
    document = shell.exported()

    template_in(document, GROUP_TEMPLATE)["active"] = False
    shell.write(document)
    assert shell.told("apply")[0] == 0
    refused = service.post_group(body)

    template_in(document, GROUP_TEMPLATE)["active"] = True
    shell.write(document)
    assert shell.told("apply")[0] == 0
    assert [fault["code"] for fault in refused.json()["errors"]] == ["templateInactive"]
    assert service.post_group(body).status_code == 202


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_nothing_is_removed_when_nobody_agrees(shell: Shell, answer: str) -> None:
    document = shell.exported()
    document["tenants"][0]["policies"] = []
    shell.write(document)
    before = shell.changes()

    done = shell.run("apply", str(shell.file), typed=answer)

    assert done.returncode == 1
    assert "2 to remove." in done.stdout
    assert "This removes policy 90 days, policy Yearly review. Do it?" in done.stdout
    assert done.stderr.endswith(NOT_CONFIRMED)
    assert shell.changes() == before


def test_a_connection_needs_a_permitted_host_and_its_loss_needs_confirmation(shell: Shell) -> None:
    host = {"CHAMBERLAIN_CONNECTION_HOSTS": "db.estate.example"}
    permitted = Shell(replace(shell.service, environment={**shell.service.environment, **host}), shell.file.parent)
    tenant = shell.exported()["tenants"][1]
    address = "postgresql://directory@db.estate.example/directory"

    def write(connection: object) -> None:
        shell.write({"tenants": [{**tenant, "connection": connection}]})

    write({"adapter": "embedded", "address": address, "credentialFile": "password"})
    refused, applied = shell.run("plan", str(shell.file)), permitted.told("apply")
    exported = shell.exported()["tenants"][1]["connection"]
    write({"adapter": "embedded"})
    kept = permitted.run("apply", str(shell.file), typed="n\n")
    write(None)
    removed = permitted.told("apply", "--yes")

    assert refused.returncode == 1
    assert "CHAMBERLAIN_CONNECTION_HOSTS" in refused.stderr
    assert (applied[0], applied[1].splitlines()[-2:]) == (0, ["1 to create, 0 to change, 0 to remove.", "Done."])
    assert exported == {"adapter": "embedded", "address": address, "credentialFile": "password"}
    assert "This removes address of connection embedded. Do it?" in kept.stdout
    assert kept.stderr.endswith(NOT_CONFIRMED)
    assert (removed[0], "connection" in shell.exported()["tenants"][1]) == (0, False)


@pytest.mark.parametrize(("options", "typed"), [(["--yes"], ""), ([], "y\n")])
def test_it_is_removed_when_somebody_agrees(shell: Shell, options: list[str], typed: str) -> None:
    document = shell.exported()
    kept = [each for each in document["tenants"][0]["policies"] if each["id"] != NINETY_DAYS]
    shell.write({"tenants": [{**document["tenants"][0], "policies": kept}]})

    done = shell.run("apply", str(shell.file), *options, typed=typed)

    assert (done.returncode, done.stderr) == (0, "")
    assert f"  remove  policy    {NINETY_DAYS}  90 days\n" in done.stdout
    assert done.stdout.endswith("Done.\n")
    assert shell.exported()["tenants"][0]["policies"] == kept
    shell.write(document)
    assert shell.told("apply")[0] == 0


@pytest.mark.parametrize(
    ("old", "new", "below", "cure"),
    [
        ("name: Project team", "name: Project team\n        name: A", 1, '"name" is there twice (first on line'),
        ("name: Project team", "name: &a Project team", 0, "Anchors and aliases (& and *) are not read."),
        ("name: Project team", "name: *a", 0, "Anchors and aliases (& and *) are not read."),
        ("name: Project team", "name: !secret a", 0, "Tags (!secret) are not read."),
        (TEAM_TEMPLATE, TEAM_TEMPLATE[:-1], 0, "id must be a UUID such as"),
        ("name: Project team", f"name: a\n        guestTemplateId: {TENANT}", 1, "The tenant has no guest template"),
    ],
)
def test_it_rejects_a_faulty_file_with_its_place(shell: Shell, old: str, new: str, below: int, cure: str) -> None:
    shell.exported()
    text = shell.file.read_text(encoding="utf-8").replace("name: Project circle", "name: Never")
    line = text.partition(old)[0].count("\n") + 1 + below
    shell.file.write_text(text.replace(old, new, 1), encoding="utf-8")
    before = shell.changes()

    done = shell.run("apply", str(shell.file))

    assert (done.returncode, done.stdout) == (1, "")
    assert [told for told in done.stderr.splitlines() if told.startswith(f"{shell.file}, line {line}") and cure in told]
    assert shell.changes() == before


def test_it_rejects_files_that_cannot_be_read(shell: Shell, tmp_path: Path) -> None:
    shell.file.write_bytes(b"#" * (MOST_BYTES + 1))
    several = [shell.file, tmp_path / "absent.yaml"]

    large, absent, folder = (shell.run("plan", str(each)) for each in (*several, tmp_path))

    assert (large.returncode, large.stderr) == (
        1,
        f"{shell.file}: The file has more than {MOST_BYTES} bytes. Split it.\n",
    )
    assert (absent.returncode, absent.stderr) == (1, f"{several[1]} cannot be read (No such file or directory).\n")
    assert (folder.returncode, folder.stderr) == (1, f"{tmp_path} cannot be read (Is a directory).\n")


def test_it_rejects_what_two_files_define_with_both_places(shell: Shell, tmp_path: Path) -> None:
    shell.file.write_text(HOUSE, encoding="utf-8")
    again = tmp_path / "again.yaml"
    again.write_text(HOUSE, encoding="utf-8")

    done = shell.run("plan", str(shell.file), str(again))

    assert done.returncode == 1
    assert f"{again}, line 2, tenants[0].id: 40c5e000-0000-4000-8000-000000000001 is there twice" in done.stderr
    assert f"(first at {shell.file}, line 2, tenants[0].id)" in done.stderr


def test_it_plans_and_applies_at_a_remote_service(shell: Shell, service: Service, tmp_path: Path) -> None:
    document = shell.exported()
    estate = {"tenants": [each for each in document["tenants"] if each["id"] == TENANT]}
    environment = {
        "CHAMBERLAIN_TOKEN": service.token(ADA_MAIL, f"{API}/.default"),
        "CHAMBERLAIN_CONFIG_DIR": str(tmp_path),
    }

    def remote(verb: str, *options: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        shell.write(estate)
        sent = (verb, str(shell.file), "--server", service.url, "--data-dir", str(service.data_dir), *options)
        return run_here(*sent, environment=environment, typed=typed)

    same = remote("plan")
    template_in(estate, GROUP_TEMPLATE)["name"] = "Project ring"
    estate["tenants"][0]["policies"].pop()
    planned, kept = remote("plan", "--json"), remote("apply", typed="n\n")
    applied, again = remote("apply", "--yes"), remote("plan")
    estate["tenants"][0]["domains"].append("more.example")
    refused = remote("apply", "--yes")
    line = shell.file.read_text(encoding="utf-8").partition("domains:")[0].count("\n") + 1

    assert (same.returncode, same.stdout) == (0, NO_CHANGES), same.stderr
    assert (planned.returncode, json.loads(planned.stdout)["counts"]) == (2, {"create": 0, "change": 1, "remove": 1})
    assert (kept.returncode, kept.stderr.endswith(NOT_CONFIRMED)) == (1, True)
    assert (applied.returncode, applied.stdout.splitlines()[-1]) == (0, "Done."), applied.stderr
    assert (again.returncode, again.stdout) == (0, NO_CHANGES)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"{shell.file}, line {line}, tenants[0].domains: ")
    shell.write(document)
    assert shell.told("apply")[0] == 0


async def test_tokens_of_ones_own_identity_platform_are_accepted(shell: Shell, service: Service) -> None:
    document = await asyncio.to_thread(shell.exported)
    key, now = make_key("k"), int(datetime.now(UTC).timestamp())
    async with run_issuer() as issuer, httpx2.AsyncClient(verify=TLS, timeout=30) as client:
        issuer.keys.append(key)
        claims = {
            "iss": issuer.address, "tid": "green", "aud": "4f1c", "oid": ADA, "sub": ADA, "azp": "c", "idtyp": "user",
            "scp": "collab/App.ReadWrite.All", "iat": now, "nbf": now, "exp": now + 600,
        }  # fmt: skip
        body = {"displayName": "By our own platform", "templateId": GROUP_TEMPLATE}
        headers = {"authorization": f"Bearer {sign(claims, key)}"}
        before = await client.post(service.groups_url, json=body, headers=headers)
        audiences = {"4f1c": API}
        document["tenants"][0]["issuers"] = [{"issuer": issuer.address, "tid": "green", "audiences": audiences}]
        shell.write(document)
        applied = await asyncio.to_thread(shell.told, "apply")

        after = await client.post(service.groups_url, json=body, headers=headers)

    assert (before.status_code, before.json()["code"]) == (401, "tokenInvalid")
    assert "issuers: [] -> [" in applied[1]
    assert after.status_code == 202, after.text


@pytest.mark.heavy
def test_it_works_without_a_running_service(tmp_path: Path) -> None:
    file = tmp_path / "house.yaml"
    file.write_text(HOUSE, encoding="utf-8")
    with data_folder() as folder:
        where = ("--data-dir", str(folder / "data"))

        absent = run_command("tenant", "list", *where)
        planned = run_command("plan", str(file), *where)
        is_there = (folder / "data").exists()
        applied = run_command("apply", str(file), *where)
        planned_again = run_command("plan", str(file), *where)
        service = start_service(folder / "data")
        try:
            service.wait_until_ready()
            listed = run_command("tenant", "list", *where)
        finally:
            service.stop()

    assert (absent.returncode, absent.stdout) == (1, "")
    assert "There is no database in" in absent.stderr
    # To plan changes nothing, and makes no database in a folder whose name was mistyped.
    assert (planned.returncode, planned.stdout, is_there) == (1, "", False)
    assert "There is no database in" in planned.stderr
    assert (applied.returncode, applied.stdout) == (0, f"{MADE}Done.\n")
    assert (planned_again.returncode, planned_again.stdout) == (0, NO_CHANGES)
    # The example estate is for a database without tenants.
    assert listed.stdout == "40c5e000-0000-4000-8000-000000000001\tserved\tGreen House\tgreen.example\n"


@pytest.mark.heavy
def test_it_works_on_an_outside_database(tmp_path: Path) -> None:
    file = tmp_path / "house.yaml"
    file.write_text(f"{HOUSE}directory: {{}}\nclients: [{{name: cli}}]\n", encoding="utf-8")
    with outside_database() as outside:
        planned, applied, again = (
            run_command(verb, str(file), environment=outside.environment) for verb in ("plan", "apply", "plan")
        )
        text = run_command(
            "export", "--tenant", "40c5e000-0000-4000-8000-000000000001", environment=outside.environment
        )

    note = "The sections directory and clients are for the embedded products and are no part of this.\n"
    assert (planned.returncode, planned.stdout) == (2, MADE + note)
    assert (applied.returncode, applied.stdout) == (0, f"{MADE}{note}Done.\n")
    assert (again.returncode, again.stdout) == (0, f"{NO_CHANGES}{note}")
    (tenant,) = yaml.safe_load(text.stdout)["tenants"]
    assert tenant["name"] == "Green House"
    assert json.dumps(tenant).count("Project group") == 1
