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
class Vault:
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
async def vault(databases: Databases, tmp_path: Path) -> Vault:
    """One with more secrets than are sealed at once, half of which have another one beside them."""
    await open_estate(databases)
    templates = [TemplateId(UUID(int=uuid4().int)) for _ in range(250)]
    async with databases.worker.across_tenants() as tx:
        await tx.execute(ADD_TEMPLATES, ESTATE, templates)
    keyring = load_keyring(tmp_path / "keys")
    signing_keys = SigningKeys(databases.application.pool, keyring, lambda: NOW)
    vault = Vault(databases, KeysFile(tmp_path / "keys"), keyring, signing_keys, templates)
    await signing_keys.current()
    for number, template_id in enumerate(templates):
        await vault.put(template_id, f"whsec_{number}")
        if number % 2:
            await vault.put(template_id, f"whsec_{number}_newer")
    return vault


async def test_it_works(vault: Vault) -> None:
    old = vault.keyring.first
    before = await vault.secrets()

    rotation = await vault.rotate()

    # 250 secrets, the older ones of half of them, and one signing key.
    assert rotation == Rotation(old, rotation.after, resealed=376, left=0)
    assert await vault.uses() == [
        KeyUse(rotation.after, is_there=True, seals=True, secrets=376),
        KeyUse(old, is_there=True, seals=False, secrets=0),
    ]
    assert await vault.secrets() == before
    assert await vault.audit("keys.rotate") == [f'{{"sealsWith":"{old}"}}'] * 2
    # The process that was running seals with it, and another one opens the signing keys with it.
    other = SigningKeys(vault.databases.application.pool, load_keyring(vault.file.path), lambda: NOW)
    assert (await other.current()).id == (await vault.signing_keys.current()).id
    assert vault.keyring.seal(b"", "")[1:].startswith(rotation.after.encode())


async def test_nothing_is_lost_of_what_is_written_meanwhile(vault: Vault) -> None:
    async def write() -> None:
        for number, template_id in enumerate(vault.templates):
            await vault.put(template_id, f"whsec_{number}_meanwhile")

    async def rotate() -> list[Rotation]:
        return [await vault.rotate() for _ in range(2)]

    _, rotations = await asyncio.gather(write(), rotate())

    assert [values[0] for values in await vault.secrets()] == [f"whsec_{number}_meanwhile" for number in range(250)]
    assert all(len(values) == 2 for values in await vault.secrets())
    assert [rotation.left for rotation in rotations] == [0, 0]
    await vault.rotate(vault.file.read().first)
    assert [use.secrets for use in await vault.uses()] == [501, 0, 0]


async def test_who_waits_for_a_drop_seals_with_what_it_leaves(vault: Vault) -> None:
    template_id = vault.templates[0]
    async with vault.databases.worker.across_tenants() as tx:
        await template_admin_webhook_secrets.hold(tx)
        writing = asyncio.create_task(vault.put(template_id, "whsec_behind"))
        async with asyncio.timeout(30):
            while not await tx.fetch(WAITING):
                pass
        vault.file.write(vault.file.read().with_first("new", bytes(32)).without(vault.keyring.first))
    await writing

    assert [use.secrets for use in await vault.uses() if use.id == "new"] == [1]


async def test_a_sweep_leaves_what_is_just_written_to_the_next_one(vault: Vault) -> None:
    async with vault.databases.application.transaction(ESTATE) as writing:
        await writing.fetch(TAKE_ONE, vault.templates[1])
        async with vault.databases.worker.across_tenants() as tx:
            swept = await webhook_secrets.sweep(tx, before=NOW + timedelta(days=2), most=1000)
    async with vault.databases.worker.across_tenants() as tx:
        later = await webhook_secrets.sweep(tx, before=NOW + timedelta(days=2), most=1000)

    assert (swept, later) == (124, 1)


async def test_a_rotation_that_was_cut_short_is_done_to_its_end(vault: Vault) -> None:
    old = vault.keyring.first
    # As one leaves it that was ended right behind its first step.
    keys = vault.file.read()
    vault.file.write(keys.with_first("new", bytes(32)))

    rotation = await vault.rotate("new")

    assert rotation == Rotation("new", "new", resealed=376, left=0)
    await vault.drop(old)
    assert [use.id for use in await vault.uses()] == ["new"]
    assert len(await vault.secrets()) == 250
    assert await vault.audit("keys.drop") == [None, None]


async def test_a_key_is_brought_to_every_machine_before_it_seals(vault: Vault, tmp_path: Path) -> None:
    old = vault.keyring.first
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    added = add_key(vault.file)
    assert [use.id for use in await vault.uses()] == [old, added]
    (elsewhere / "keys").write_bytes(vault.file.path.read_bytes())
    other = load_keyring(elsewhere / "keys")
    await vault.rotate(added)

    # The other machine has its file as it was copied, opens everything, and seals with the old key still.
    there = SigningKeys(vault.databases.application.pool, other, lambda: NOW)
    assert (await there.current()).id == (await vault.signing_keys.current()).id
    assert other.seal(b"", "")[1:].startswith(old.encode())


async def test_it_rejects_to_drop_what_is_needed(vault: Vault) -> None:
    added = add_key(vault.file)
    content = vault.file.path.read_bytes()

    with pytest.raises(Conflict, match="is the key that seals"):
        await vault.drop(vault.keyring.first)
    with pytest.raises(NotFound, match="has no key"):
        await vault.drop("nowhere")
    with pytest.raises(NotFound, match="has no key"):
        await vault.rotate("nowhere")
    vault.file.write(vault.file.read().with_first(added, vault.file.read().by_id[added]))
    with pytest.raises(Conflict, match="376 stored secrets are sealed"):
        await vault.drop(content.decode().split()[0])
    assert await vault.audit("keys.drop") == []


async def test_one_at_a_time_changes_the_file(vault: Vault) -> None:
    with vault.file.alone(), pytest.raises(KeysUnusable, match="Another command"):
        await vault.rotate()


async def test_what_no_key_opens_is_left_and_told(vault: Vault) -> None:
    old = vault.keyring.first
    vault.file.write(vault.file.read().with_first("new", bytes(32)).without(old))

    rotation = await vault.rotate("new")

    assert (rotation.resealed, rotation.left) == (0, 376)
    assert [(use.id, use.is_there, use.secrets) for use in await vault.uses()] == [
        ("new", True, 0),
        (old, False, 376),
    ]
