"""The commands of the pages about configuration files and tenants do what the pages say, word for word."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from chamberlain.configuration.files import read_configuration
from chamberlain.tenants.schema import TenantShape
from tests.docs.pages import ROOT, named, section, shell_blocks
from tests.services import NO_CHANGES, Service, restarted_service

FILES, TENANTS = (ROOT / "docs" / "how-to" / name for name in ("configuration-files.md", "tenants.md"))
PROGRAMS = Path(sys.executable).parent


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with restarted_service() as running:
        yield running


def run(service: Service, folder: Path, block: str) -> str:
    """The output of a copied block."""
    done = subprocess.run(
        ["bash", "-c", f"set -euo pipefail\n{block.replace('.venv/bin/', f'{PROGRAMS}/')}"],
        cwd=folder,
        env={**os.environ, "CHAMBERLAIN_DATA_DIR": str(service.data_dir)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_it_works_with_configuration_files(service: Service, tmp_path: Path) -> None:
    export, nothing, look, apply = shell_blocks(FILES)
    house, _ = blocks(FILES, "yaml")
    # A fence without a language has the output.
    (shown,) = re.findall(r"^```\n(Tenant .*?)^```$", FILES.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "house.yaml").write_text(house, encoding="utf-8")

    run(service, tmp_path, export)
    assert run(service, tmp_path, nothing) == NO_CHANGES
    assert run(service, tmp_path, look) == shown
    assert run(service, tmp_path, apply) == f"{shown}Done.\n"


def test_it_names_every_member_of_a_tenant() -> None:
    members = [field.encode_name for field in msgspec.structs.fields(TenantShape)]

    assert named(section(FILES, "## Tenant members")) == [*members, "templates", "policies"]


def test_the_issuers_that_are_shown_can_be_read() -> None:
    house, issuers = blocks(FILES, "yaml")
    indented = "".join(f"    {line}\n" for line in issuers.splitlines())
    text = re.sub(r"^    issuers:.*?(?=^    templates:)", indented, house, flags=re.MULTILINE | re.DOTALL)

    (entry,) = read_configuration(text.encode()).tenants

    assert [list(each.audiences) for each in entry.tenant.issuers or ()] == [["4f1c0d5e-0000-4000-8000-000000000001"]]


def test_it_works_with_tenants(service: Service, tmp_path: Path) -> None:
    list_, suspend, resume, export, delete, deleted = shell_blocks(TENANTS)

    assert "  served     Other House  other.example\n" in run(service, tmp_path, list_)
    assert run(service, tmp_path, suspend).startswith("Other House is suspended")
    assert run(service, tmp_path, resume) == "Other House is served again.\n"
    run(service, tmp_path, export)
    assert '{"table":"chamberlain.tenant","row":{"tenant_id":' in (tmp_path / "other-house.jsonl").read_text()
    assert "Other House (e57a7e00-0000-4000-8000-000000000002) is gone: " in run(service, tmp_path, delete)
    assert "  Other House  head " in run(service, tmp_path, deleted)
