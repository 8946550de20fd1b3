# SPDX-License-Identifier: Apache-2.0
"""The commands of the pages about configuration files and tenants do what the pages say, word for word."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from chamberlain.configuration.files import read_configuration
from chamberlain.connections.models import ConnectionSettings
from chamberlain.tenants.schema import TenantShape
from tests.docs.commands import outputs, printed_in
from tests.docs.homes import new_project, service_of_user
from tests.docs.pages import ROOT, named, section, shell_blocks
from tests.services import NO_CHANGES, Service

FILES, CI, TENANTS = (
    ROOT / "docs" / "how-to" / name for name in ("configuration-files.md", "configuration-from-ci.md", "tenants.md")
)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with service_of_user() as running:
        yield running


@pytest.fixture
def project(service: Service) -> Path:
    """A folder of the project for the files of one page."""
    return new_project(service)


def run(service: Service, folder: Path, block: str, environment: Mapping[str, str] | None = None) -> str:
    """The output of a copied block."""
    return printed_in(folder, service, block.rstrip("\n"), more=environment).removesuffix("\n")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def house() -> str:
    """The file that the page writes."""
    (text,) = re.findall(
        r"^cat > house.yaml <<'END'\n(.*?)^END$", "".join(shell_blocks(FILES)), re.MULTILINE | re.DOTALL
    )
    return str(text)


@pytest.mark.heavy
def test_it_works_with_configuration_files(service: Service, project: Path) -> None:
    export, nothing, write, look, apply = shell_blocks(FILES)
    # A fence without a language has the output.
    (shown,) = re.findall(r"^```\n(Tenant .*?)^```$", FILES.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)

    run(service, project, export)
    assert run(service, project, nothing) == NO_CHANGES
    run(service, project, write)
    assert run(service, project, look) == shown
    assert run(service, project, apply) == f"{shown}Done.\n"


def test_the_assignments_that_are_shown_can_be_read() -> None:
    assignments, _ = blocks(FILES, "yaml")

    (entry,) = read_configuration(f"{house()}{assignments}".encode()).tenants

    assert [(each.type, each.template, each.policy is None) for each in entry.assignments] == [
        ("group", "No guests", False),
        ("site", None, False),
        ("group", None, True),
    ]


def test_the_connection_that_is_shown_can_be_read() -> None:
    (connection,) = blocks(ROOT / "docs" / "how-to" / "connect-a-directory.md", "yaml")

    (entry,) = read_configuration(f"{house()}{connection}".encode()).tenants

    assert isinstance(entry.connection, ConnectionSettings)
    assert entry.connection.credential_file == "directory-password"


@pytest.mark.heavy
def test_it_works_from_a_ci_job(service: Service) -> None:
    *_, commands, plan, apply = outputs(service, *shell_blocks(CI))
    planned, applied = json.loads(plan), json.loads(apply)

    assert commands.count("1 to change") == 2
    assert [each["name"] for each in planned["changes"]] == ["Example Estate"]
    assert applied == planned


def test_it_names_every_member_of_a_tenant() -> None:
    members = [field.encode_name for field in msgspec.structs.fields(TenantShape)]

    assert named(section(FILES, "## Tenant members")) == [
        *members,
        "connection",
        "templates",
        "policies",
        "assignments",
    ]


def test_the_issuers_that_are_shown_can_be_read() -> None:
    _, issuers = blocks(FILES, "yaml")
    indented = "".join(f"    {line}\n" for line in issuers.splitlines())
    text = re.sub(r"^    issuers:.*?(?=^    templates:)", indented, house(), flags=re.MULTILINE | re.DOTALL)

    (entry,) = read_configuration(text.encode()).tenants

    assert [list(each.audiences) for each in entry.tenant.issuers or ()] == [["4f1c0d5e-0000-4000-8000-000000000001"]]


@pytest.mark.heavy
def test_it_works_with_tenants(service: Service, project: Path) -> None:
    list_, suspend, resume, export, delete, deleted = shell_blocks(TENANTS)

    assert "\tserved\tOther House\tother.example\n" in run(service, project, list_)
    assert run(service, project, suspend).startswith("Other House is suspended")
    assert run(service, project, resume) == "Other House is served again.\n"
    run(service, project, export)
    assert '{"table":"chamberlain.tenant","row":{"tenant_id":' in (project / "other-house.jsonl").read_text()
    assert "Other House (e57a7e00-0000-4000-8000-000000000002) is gone: " in run(service, project, delete)
    assert "\tOther House\tCommand line (" in run(service, project, deleted)
