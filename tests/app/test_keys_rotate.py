# SPDX-License-Identifier: Apache-2.0
"""Keys are rotated beside those who write secrets: everything that is stored opens, before, meanwhile and after."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from chamberlain.app.commands.keys import IdentityKeys
from chamberlain.app.keys import KeyService, KeyUse, Rotation, add_key
from chamberlain.core.errors import Conflict, NotFound
from chamberlain.core.ids import TemplateId
from chamberlain.embedded.identity.signing_keys import SigningKeys
from chamberlain.secrets.keyring import Keyring, KeysFile, KeysUnusable, load_keyring
from chamberlain.template_admin import webhook_secrets
from chamberlain.template_admin import webhook_secrets as template_admin_webhook_secrets
from chamberlain.template_admin.webhook_secrets import WebhookSecrets
from tests.databases import Databases
from tests.estates import ESTATE, OPERATOR, TRACE, open_estate

pytestmark = pytest.mark.heavy

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
ADD_TEMPLATES = """
INSERT INTO chamberlain.template (tenant_id, template_id, revision, kind, active, created_by)
SELECT $1, t.id, 1, 'group', true, '{}' FROM unnest($2::uuid[]) AS t (id)
"""
AUDIT = "SELECT tenant_id, payload ->> 'before' AS before FROM chamberlain.audit WHERE action = $1 ORDER BY tenant_id"
WAITING = """
SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'chamberlain.webhook_secret'::regclass
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
TAKE_ONE = "SELECT 1 FROM chamberlain.webhook_secret WHERE template_id = $1 FOR UPDATE"


@dataclass
class SecretsFixture:
    """An installation with secrets. `keyring` is that of its running service."""

    databases: Databases
    file: KeysFile
    keyring: Keyring
    signing_keys: SigningKeys
    templates: list[TemplateId]

    @property
    def keys(self) -> KeyService:
        return KeyService(self.databases.worker, self.file, IdentityKeys(self.databases.worker))

    async def rotate(self, to: str | None = None) -> Rotation:
        return await self.keys.rotate(to, actor=OPERATOR, trace_id=TRACE)

    async def uses(self) -> list[KeyUse]:
        return list(await self.keys.list())

    async def drop(self, key_id: str) -> None:
        await self.keys.drop(key_id, actor=OPERATOR, trace_id=TRACE)

    async def put(self, template_id: TemplateId, secret: str) -> None:
        """Give a template another secret, as the service does."""
        secrets = WebhookSecrets(self.keyring, lambda: secret, lambda: NOW)
        async with self.databases.application.transaction(ESTATE) as tx:
            await secrets.rotate(tx, ESTATE, template_id)

    async def secrets(self) -> list[tuple[str, ...]]:
        """The secrets that sign the calls of each template."""
        async with self.databases.worker.across_tenants() as tx:
            keys = [(ESTATE, each) for each in self.templates]
            found = await webhook_secrets.signing(tx, self.keyring, keys, now=NOW)
        return [found[key].values for key in keys]

    async def audit(self, action: str) -> list[str | None]:
        async with self.databases.worker.across_tenants() as tx:
            return [row["before"] for row in await tx.fetch(AUDIT, action)]


@pytest.fixture
async def secrets_fixture(databases: Databases, tmp_path: Path) -> SecretsFixture:
    """One with more secrets than are sealed at once, half of which have another one beside them."""
    await open_estate(databases)
    templates = [TemplateId(UUID(int=uuid4().int)) for _ in range(250)]
    async with databases.worker.across_tenants() as tx:
        await tx.execute(ADD_TEMPLATES, ESTATE, templates)
    keyring = load_keyring(tmp_path / "keys")
    signing_keys = SigningKeys(databases.application.pool, keyring, lambda: NOW)
    secrets_fixture = SecretsFixture(databases, KeysFile(tmp_path / "keys"), keyring, signing_keys, templates)
    await signing_keys.current()
    for number, template_id in enumerate(templates):
        await secrets_fixture.put(template_id, f"whsec_{number}")
        if number % 2:
            await secrets_fixture.put(template_id, f"whsec_{number}_newer")
    return secrets_fixture


async def test_it_works(secrets_fixture: SecretsFixture) -> None:
    old = secrets_fixture.keyring.first
    before = await secrets_fixture.secrets()

    rotation = await secrets_fixture.rotate()

    # 250 secrets, the older ones of half of them, and one signing key.
    assert rotation == Rotation(old, rotation.after, resealed=376, left=0)
    assert await secrets_fixture.uses() == [
        KeyUse(rotation.after, is_there=True, seals=True, secrets=376),
        KeyUse(old, is_there=True, seals=False, secrets=0),
    ]
    assert await secrets_fixture.secrets() == before
    assert await secrets_fixture.audit("keys.rotate") == [f'{{"sealsWith":"{old}"}}'] * 2
    # The process that was running seals with it, and another one opens the signing keys with it.
    other = SigningKeys(
        secrets_fixture.databases.application.pool, load_keyring(secrets_fixture.file.path), lambda: NOW
    )
    assert (await other.current()).id == (await secrets_fixture.signing_keys.current()).id
    assert secrets_fixture.keyring.seal(b"", "")[1:].startswith(rotation.after.encode())


async def test_nothing_is_lost_of_what_is_written_meanwhile(secrets_fixture: SecretsFixture) -> None:
    async def write() -> None:
        for number, template_id in enumerate(secrets_fixture.templates):
            await secrets_fixture.put(template_id, f"whsec_{number}_meanwhile")

    async def rotate() -> list[Rotation]:
        return [await secrets_fixture.rotate() for _ in range(2)]

    _, rotations = await asyncio.gather(write(), rotate())

    assert [values[0] for values in await secrets_fixture.secrets()] == [
        f"whsec_{number}_meanwhile" for number in range(250)
    ]
    assert all(len(values) == 2 for values in await secrets_fixture.secrets())
    assert [rotation.left for rotation in rotations] == [0, 0]
    await secrets_fixture.rotate(secrets_fixture.file.read().first)
    assert [use.secrets for use in await secrets_fixture.uses()] == [501, 0, 0]


async def test_who_waits_for_a_drop_seals_with_what_it_leaves(secrets_fixture: SecretsFixture) -> None:
    template_id = secrets_fixture.templates[0]
    async with secrets_fixture.databases.worker.across_tenants() as tx:
        await template_admin_webhook_secrets.hold(tx)
        writing = asyncio.create_task(secrets_fixture.put(template_id, "whsec_behind"))
        async with asyncio.timeout(30):
            while not await tx.fetch(WAITING):
                pass
        secrets_fixture.file.write(
            secrets_fixture.file.read().with_first("new", bytes(32)).without(secrets_fixture.keyring.first)
        )
    await writing

    assert [use.secrets for use in await secrets_fixture.uses() if use.id == "new"] == [1]


async def test_a_sweep_leaves_what_is_just_written_to_the_next_one(secrets_fixture: SecretsFixture) -> None:
    async with secrets_fixture.databases.application.transaction(ESTATE) as writing:
        await writing.fetch(TAKE_ONE, secrets_fixture.templates[1])
        async with secrets_fixture.databases.worker.across_tenants() as tx:
            swept = await webhook_secrets.sweep(tx, before=NOW + timedelta(days=2), most=1000)
    async with secrets_fixture.databases.worker.across_tenants() as tx:
        later = await webhook_secrets.sweep(tx, before=NOW + timedelta(days=2), most=1000)

    assert (swept, later) == (124, 1)


async def test_a_rotation_that_was_cut_short_is_done_to_its_end(secrets_fixture: SecretsFixture) -> None:
    old = secrets_fixture.keyring.first
    # As one leaves it that was ended right behind its first step.
    keys = secrets_fixture.file.read()
    secrets_fixture.file.write(keys.with_first("new", bytes(32)))

    rotation = await secrets_fixture.rotate("new")

    assert rotation == Rotation("new", "new", resealed=376, left=0)
    await secrets_fixture.drop(old)
    assert [use.id for use in await secrets_fixture.uses()] == ["new"]
    assert len(await secrets_fixture.secrets()) == 250
    assert await secrets_fixture.audit("keys.drop") == [None, None]


async def test_a_key_is_brought_to_every_machine_before_it_seals(
    secrets_fixture: SecretsFixture, tmp_path: Path
) -> None:
    old = secrets_fixture.keyring.first
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    added = add_key(secrets_fixture.file)
    assert [use.id for use in await secrets_fixture.uses()] == [old, added]
    (elsewhere / "keys").write_bytes(secrets_fixture.file.path.read_bytes())
    other = load_keyring(elsewhere / "keys")
    await secrets_fixture.rotate(added)

    # The other machine has its file as it was copied, opens everything, and seals with the old key still.
    there = SigningKeys(secrets_fixture.databases.application.pool, other, lambda: NOW)
    assert (await there.current()).id == (await secrets_fixture.signing_keys.current()).id
    assert other.seal(b"", "")[1:].startswith(old.encode())


async def test_it_rejects_to_drop_what_is_needed(secrets_fixture: SecretsFixture) -> None:
    added = add_key(secrets_fixture.file)
    content = secrets_fixture.file.path.read_bytes()

    with pytest.raises(Conflict, match="is the key that seals"):
        await secrets_fixture.drop(secrets_fixture.keyring.first)
    with pytest.raises(NotFound, match="has no key"):
        await secrets_fixture.drop("nowhere")
    with pytest.raises(NotFound, match="has no key"):
        await secrets_fixture.rotate("nowhere")
    secrets_fixture.file.write(secrets_fixture.file.read().with_first(added, secrets_fixture.file.read().by_id[added]))
    with pytest.raises(Conflict, match="376 stored secrets are sealed"):
        await secrets_fixture.drop(content.decode().split()[0])
    assert await secrets_fixture.audit("keys.drop") == []


async def test_one_at_a_time_changes_the_file(secrets_fixture: SecretsFixture) -> None:
    with secrets_fixture.file.alone(), pytest.raises(KeysUnusable, match="Another command"):
        await secrets_fixture.rotate()


async def test_what_no_key_opens_is_left_and_told(secrets_fixture: SecretsFixture) -> None:
    old = secrets_fixture.keyring.first
    secrets_fixture.file.write(secrets_fixture.file.read().with_first("new", bytes(32)).without(old))

    rotation = await secrets_fixture.rotate("new")

    assert (rotation.resealed, rotation.left) == (0, 376)
    assert [(use.id, use.is_there, use.secrets) for use in await secrets_fixture.uses()] == [
        ("new", True, 0),
        (old, False, 376),
    ]
