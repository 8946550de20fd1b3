# SPDX-License-Identifier: Apache-2.0
"""Connections to Microsoft 365: opened from the files of their tenant.

No server is called.
"""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from chamberlain.app.connections import Opener, described
from chamberlain.connections.models import Adapter, Connection, ConnectionState, Described, Target
from chamberlain.core.errors import ConnectionBroken
from chamberlain.core.ids import ConnectionId, TenantId
from chamberlain.directory.microsoft365.settings import CreationMethod, Microsoft365SettingsInvalid, read_settings
from chamberlain.directory.microsoft365.tokens import Certificate, Federation, ManagedIdentity, Secret
from chamberlain.secrets.keyring import Keyring

TENANT = TenantId(UUID(int=2))
ADDRESS = "https://graph.microsoft.com/11111111-2222-3333-4444-555555555555"
CERTIFICATE = """\
client_id = "an application"

[certificate]
key_file = "key.pem"
certificate_file = "certificate.pem"
"""
TARGET = Target(
    Connection(
        id=ConnectionId(UUID(int=1)),
        tenant_id=TENANT,
        adapter=Adapter.MICROSOFT365,
        address=ADDRESS,
        has_secret=False,
        credential_file="microsoft365.toml",
        state=ConnectionState.NEW,
        reason=None,
        described=Described(),
        checked_at=None,
        revision=1,
        created_at=datetime(2026, 11, 27, tzinfo=UTC),
        updated_at=datetime(2026, 11, 27, tzinfo=UTC),
    ),
    None,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the tenant, with its settings."""
    found = tmp_path / str(TENANT)
    found.mkdir()
    (found / "microsoft365.toml").write_text(CERTIFICATE, encoding="utf-8")
    for name in ("key.pem", "certificate.pem", "secret"):
        (found / name).write_text(f"the {name}", encoding="utf-8")
    return found


@pytest.fixture
def opener(folder: Path) -> Opener:
    """An opener that may call Graph."""
    return Opener(Keyring("k1", {"k1": bytes(32)}), frozenset({"graph.microsoft.com"}), folder.parent)


async def test_it_works(opener: Opener) -> None:
    opened = await opener.open(TARGET)

    try:
        capabilities = await opened.adapters.directory.capabilities(TENANT)
        assert described(capabilities).abilities == ("licenseCheck", "membershipRules", "teams")
        assert (opened.pool, opened.suite) == (None, None)
        assert opened.version == await opener.version_of(TARGET)
        assert opener.budget_of(TARGET) is None
    finally:
        await opened.close()
        # A second call is harmless.
        await opened.terminate()


async def test_a_changed_key_is_another_version(opener: Opener, folder: Path) -> None:
    opened = await opener.open(TARGET)
    await opened.close()

    (folder / "renewed.pem").write_text("another", encoding="utf-8")

    assert await opener.version_of(TARGET) != opened.version


@pytest.mark.parametrize(
    ("connection", "code"),
    [
        (replace(TARGET.connection, address=ADDRESS.replace("graph", "other")), "hostNotPermitted"),
        (replace(TARGET.connection, address="https://graph.microsoft.com/contoso"), "credentialUnreadable"),
        (replace(TARGET.connection, credential_file=None), "credentialUnreadable"),
        (replace(TARGET.connection, credential_file="other.toml"), "connectionBroken"),
        (replace(TARGET.connection, credential_file="key.pem"), "connectionBroken"),
    ],
)
async def test_it_cannot_be_opened(opener: Opener, connection: Connection, code: str) -> None:
    with pytest.raises(ConnectionBroken) as broken:
        await opener.open(replace(TARGET, connection=connection))

    assert broken.value.because.code == code


@pytest.mark.parametrize(
    ("written", "credential"),
    [
        (CERTIFICATE, Certificate("the key.pem", "the certificate.pem")),
        ('client_id = "a"\n[secret]\nsecret_file = "secret"', Secret("the secret")),
        ('client_id = "a"\n[federation]\ntoken_file = "/var/run/token"', Federation(Path("/var/run/token"))),
        ('client_id = "a"\n[managed_identity]', ManagedIdentity(None)),
        ('client_id = "a"\n[managed_identity]\nclient_id = "b"', ManagedIdentity("b")),
    ],
)
def test_each_credential_is_read(folder: Path, written: str, credential: object) -> None:
    (folder / "microsoft365.toml").write_text(written, encoding="utf-8")

    found = read_settings(ADDRESS, folder, "microsoft365.toml")

    assert found.application.credential == credential
    assert found.application.authority == ADDRESS.replace("graph.microsoft.com", "login.microsoftonline.com")
    assert (found.graph, found.application.resource) == ("https://graph.microsoft.com", "https://graph.microsoft.com")


def test_the_settings_can_be_for_one_directory(folder: Path) -> None:
    directory = ADDRESS.rpartition("/")[2]
    (folder / "microsoft365.toml").write_text(f'directory = "{directory.upper()}"\n{CERTIFICATE}', encoding="utf-8")

    found = read_settings(ADDRESS, folder, "microsoft365.toml")

    assert found.directory == directory
    with pytest.raises(Microsoft365SettingsInvalid):
        read_settings(f"https://graph.microsoft.com/{uuid4()}", folder, "microsoft365.toml")


@pytest.mark.parametrize("method", CreationMethod)
def test_groups_can_be_created_without_the_upsert(folder: Path, method: CreationMethod) -> None:
    (folder / "microsoft365.toml").write_text(f'creation = "{method}"\n{CERTIFICATE}', encoding="utf-8")

    assert read_settings(ADDRESS, folder, "microsoft365.toml").creation is method


def test_a_national_cloud_has_its_own_sign_in(folder: Path) -> None:
    address = ADDRESS.replace("graph.microsoft.com", "microsoftgraph.chinacloudapi.cn")

    found = read_settings(address, folder, "microsoft365.toml")

    assert found.application.authority.startswith("https://login.partner.microsoftonline.cn/")


def test_another_installation_has_its_own_sign_in_and_resource(folder: Path) -> None:
    settings = (
        'login = "https://localhost:8366/identity"\nresource = "https://graph.estate.example"\n'
        'client_id = "a"\n[secret]\nsecret_file = "secret"'
    )
    (folder / "microsoft365.toml").write_text(settings, encoding="utf-8")
    directory = ADDRESS.rpartition("/")[2]

    found = read_settings(f"https://localhost:8366/graph/{directory}", folder, "microsoft365.toml")

    assert (found.graph, found.directory) == ("https://localhost:8366/graph", directory)
    assert found.application.authority == f"https://localhost:8366/identity/{directory}"
    assert found.application.resource == "https://graph.estate.example"


@pytest.mark.parametrize(
    "written",
    [
        'client_id = "a"',
        f'{CERTIFICATE}[secret]\nsecret_file = "secret"',
        'client_id = "a"\n[secret]\nsecret_file = "../secret"',
        'client_id = "a"\n[secret]\nsecret_file = "absent"',
        'client_id = "a"\nunknown = 1\n[managed_identity]',
        "not TOML",
    ],
)
def test_invalid_settings_are_refused(folder: Path, written: str) -> None:
    (folder / "microsoft365.toml").write_text(written, encoding="utf-8")

    with pytest.raises(Microsoft365SettingsInvalid):
        read_settings(ADDRESS, folder, "microsoft365.toml")


def test_secrets_are_not_shown() -> None:
    shown = repr([Certificate("a private key", "a certificate"), Secret("a secret word")])

    assert "a private key" not in shown
    assert "a secret word" not in shown
