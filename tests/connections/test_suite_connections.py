# SPDX-License-Identifier: Apache-2.0
"""Connections to open suites: opened from the files of their tenant.

No server is called.
"""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from chamberlain.app.connections import Opener, described
from chamberlain.connections.models import Adapter, Connection, ConnectionState, Described, Target
from chamberlain.core.errors import ConnectionBroken
from chamberlain.core.ids import ConnectionId, TenantId
from chamberlain.directory.capabilities import Ability
from chamberlain.secrets.keyring import Keyring

TENANT = TenantId(UUID(int=2))
SETTINGS = """\
[ldap]
base = "dc=estate,dc=example"
bind_dn = "cn=chamberlain,dc=estate,dc=example"
password_file = "ldap-password"

[dovecot]
url = "https://mail.example:8080"
key_file = "doveadm-key"

[matrix]
url = "https://matrix.example"
server_name = "estate.example"
token_file = "matrix-token"
"""
TARGET = Target(
    Connection(
        id=ConnectionId(UUID(int=1)),
        tenant_id=TENANT,
        adapter=Adapter.OPENSUITE,
        address="ldaps://ldap.example",
        has_secret=False,
        credential_file="suite.toml",
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
    (found / "suite.toml").write_text(SETTINGS, encoding="utf-8")
    for name in ("ldap-password", "doveadm-key", "matrix-token"):
        (found / name).write_text("secret", encoding="utf-8")
    return found


@pytest.fixture
def opener(folder: Path) -> Opener:
    """An opener that may call the LDAP server."""
    return Opener(Keyring("k1", {"k1": bytes(32)}), frozenset({"ldap.example"}), folder.parent)


async def test_it_works(opener: Opener) -> None:
    opened = await opener.open(TARGET)

    try:
        capabilities = await opened.adapters.directory.capabilities(TENANT)
        assert Ability.TEAMS in described(capabilities).abilities
        assert opened.pool is None
        assert opened.suite is not None
        assert opened.version == await opener.version_of(TARGET)
        assert opener.budget_of(TARGET) is None
    finally:
        await opened.close()
        # A second call is harmless.
        await opened.terminate()


async def test_a_changed_secret_is_another_version(opener: Opener, folder: Path) -> None:
    opened = await opener.open(TARGET)
    await opened.close()

    (folder / "renewed").write_text("another", encoding="utf-8")

    assert await opener.version_of(TARGET) != opened.version


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (replace(TARGET, connection=replace(TARGET.connection, address="ldaps://other.example")), "hostNotPermitted"),
        (replace(TARGET, connection=replace(TARGET.connection, address="postgresql://r@h/d")), "credentialUnreadable"),
        (replace(TARGET, connection=replace(TARGET.connection, credential_file=None)), "credentialUnreadable"),
        (replace(TARGET, connection=replace(TARGET.connection, credential_file="other")), "suiteSettingsUnusable"),
        (
            replace(TARGET, connection=replace(TARGET.connection, credential_file="doveadm-key")),
            "suiteSettingsUnusable",
        ),
    ],
)
async def test_a_suite_that_cannot_be_opened_is_broken(opener: Opener, target: Target, code: str) -> None:
    with pytest.raises(ConnectionBroken) as broken:
        await opener.open(target)

    assert broken.value.because.code == code


async def test_an_operator_without_files_has_no_suites(opener: Opener) -> None:
    with pytest.raises(ConnectionBroken) as broken:
        await replace(opener, files=None).open(TARGET)

    assert broken.value.because.code == "credentialUnreadable"
