# SPDX-License-Identifier: Apache-2.0
"""The page that connects a tenant to Microsoft 365 works to the letter, as far as a fake can show it."""

import json
import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import httpx2
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from chamberlain.core.errors import ConnectionBroken, OutsideFault, Rejected
from chamberlain.directory.microsoft365.connection import Microsoft365, open_microsoft365
from chamberlain.directory.microsoft365.settings import read_settings
from chamberlain.directory.port import GroupWork, Work
from chamberlain.directory.steps import Step
from tests.directory.group_work import reference, work
from tests.directory.sample_directory import ADA, CLEO, TENANT
from tests.docs.pages import REFERENCE, ROOT, Fence, fences, rows, section
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import sample_fake
from tests.microsoft365.graph_client import GRAPH, token
from tests.microsoft365.recording_transport import RecordingTransport

PAGE = ROOT / "docs" / "how-to" / "microsoft365.md"
# The ids that a reader notes in step 1, as the page has them, and those of the example.
CLIENT, NEW_CLIENT = "the application (client) id", "a99c11e0-0000-4000-8000-000000000027"
DIRECTORY = "11111111-2222-3333-4444-555555555555"


def commands(heading: str) -> list[str]:
    return re.findall(r"^- `([^`]+)`$", section(PAGE, heading), re.MULTILINE)


def block(language: str) -> Fence:
    """Return the first block of a language, with the id of the application."""
    first = next(fence for fence in fences(PAGE) if fence.language == language)
    return replace(first, text=first.text.replace(CLIENT, NEW_CLIENT))


def permissions() -> frozenset[str]:
    table = rows(section(REFERENCE / "microsoft365.md", "## Permissions"))
    return frozenset(name for row in table for name in re.findall(r"`([^`]+)`", row[0]))


def registered(fake: FakeMicrosoft365, folder: Path) -> None:
    """Do steps 1 and 2: create the certificate, and register the application with it."""
    [command] = commands("## 2. Create the certificate")
    subprocess.run(shlex.split(command), cwd=folder, check=True, capture_output=True)
    certificate = x509.load_pem_x509_certificate((folder / "certificate.pem").read_bytes())
    public_key = certificate.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    fake.add_app(NEW_CLIENT, public_key=public_key, secret="of the Graph Explorer alone")
    fake.consent(str(TENANT), NEW_CLIENT, permissions())


async def extension_of(fake: FakeMicrosoft365) -> str:
    """Do step 3, as an owner of the application. Returns the assigned id."""
    refresh = fake.tokens.delegate(str(TENANT), NEW_CLIENT, "Application.ReadWrite.All")
    signed_in = token(
        fake,
        grant_type="refresh_token",
        refresh_token=refresh,
        client_id=NEW_CLIENT,
        client_secret="of the Graph Explorer alone",
    )
    transport = RecordingTransport(fake.transport())
    async with httpx2.AsyncClient(transport=transport, headers={"Authorization": f"Bearer {signed_in}"}) as explorer:
        answer = await explorer.post(f"{GRAPH}/schemaExtensions", json=json.loads(block("json").text))
    assert answer.status_code == 201
    return str(answer.json()["id"])


def connected(fake: FakeMicrosoft365, folder: Path) -> Microsoft365:
    """Do steps 4 and 5 with the address of the page, in the directory of the fake."""
    (folder / "microsoft365.toml").write_text(block("toml").text, encoding="utf-8")
    [command] = commands("## 5. Connect the tenant")
    words = shlex.split(command)
    file_name, address = (words[words.index(name) + 1] for name in ("--credential-file", "--address"))
    assert UUID(address.rpartition("/")[2]) == UUID(DIRECTORY)
    settings = read_settings(address.replace(DIRECTORY, str(TENANT)), folder, file_name)

    async def sleep(seconds: float) -> None:
        fake.clock.wait(timedelta(seconds=seconds))

    transport = RecordingTransport(fake.transport())
    return open_microsoft365(settings, TENANT, None, transport=transport, sign_in=fake.http_client(), sleep=sleep)


async def test_it_works(tmp_path: Path) -> None:
    fake = sample_fake()
    registered(fake, tmp_path)
    extension = await extension_of(fake)
    microsoft365 = connected(fake, tmp_path)
    one = work(channels=("General", "Plans"))
    one = replace(one, wanted=replace(one.wanted, extension=extension))

    await microsoft365.adapters.check(TENANT)
    [outcome] = await microsoft365.adapters.directory.ensure([one])
    [seen] = await microsoft365.adapters.directory.observe([reference(one)])
    await microsoft365.close()

    assert outcome.fault is None
    assert seen is not None
    assert seen.marks == one.wanted.marks
    assert re.fullmatch(r"ext[a-z0-9]{8}_group", extension)


async def fault_without(permission: str, steps: Sequence[GroupWork], folder: Path) -> OutsideFault | None:
    """Return the last fault of works without a permission."""
    fake = sample_fake()
    registered(fake, folder)
    fake.consent(str(TENANT), NEW_CLIENT, permissions() - {permission})
    microsoft365 = connected(fake, folder)
    await microsoft365.adapters.check(TENANT)
    outcomes = [outcome for each in steps for outcome in await microsoft365.adapters.directory.ensure([each])]
    await microsoft365.close()
    return outcomes[-1].fault


async def test_a_missing_permission_is_named(tmp_path: Path) -> None:
    team = work(channels=("General",))
    later = Work(replace(team.wanted, owners=(ADA, CLEO)), (Step.ADD_OWNERS,))

    waits = await fault_without("Group.ReadWrite.All", [team], tmp_path)
    fails = await fault_without("TeamMember.ReadWrite.All", [team, later], tmp_path)

    assert isinstance(waits, ConnectionBroken)
    assert "Group.ReadWrite.All" in waits.reason
    assert isinstance(fails, Rejected)
    assert fails.code == "refusedByDirectory"
    assert "TeamMember.ReadWrite.All" in fails.detail
