# SPDX-License-Identifier: Apache-2.0
import asyncio
from uuid import uuid4

import pytest

from chamberlain.embedded.identity import hashing
from chamberlain.embedded.identity.clients import Account, Client, find_clients
from chamberlain.embedded.identity.errors import TemporarilyUnavailable
from chamberlain.embedded.identity.hashing import PasswordVerifier, hash_secrets
from chamberlain.embedded.identity.load import load, set_passwords, upgrade_clients, without_password
from chamberlain.embedded.identity.sign_in import find_by_password
from chamberlain.embedded.identity.throttling import password_subjects
from tests.databases import Databases
from tests.embedded.identity.estate import (
    ADA,
    AUTOMATION,
    CLIENTS,
    OTHER_TENANT,
    TENANT,
    ZOE,
    IdentityServer,
    load_estate,
)

# The format of an earlier version.
OLD_FORM = "scrypt$16384$8$1$QUJDREVGR0hJSktMTU5PUA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="


async def test_it_works(server: IdentityServer) -> None:
    assert await without_password(server.worker, [ADA, ZOE]) == [ADA, ZOE]

    await set_passwords(server.worker, [ADA, ZOE], {ADA.address: "päss wörd"})

    assert await without_password(server.worker, [ADA, ZOE]) == [ZOE]
    assert await find_by_password(server.platform, TENANT, ADA.address, "päss wörd") == ADA
    for tenant_id, address, password in (
        (TENANT, ADA.address, "pass word"),
        (TENANT, ADA.address, ""),
        (OTHER_TENANT, ADA.address, "päss wörd"),
        (OTHER_TENANT, ZOE.address, ""),
        (TENANT, "nobody\x00", "päss wörd"),
    ):
        assert await find_by_password(server.platform, tenant_id, address, password) is None


async def test_throttling_and_sign_in_fold_addresses_alike(server: IdentityServer) -> None:
    eli = Account(id=uuid4(), tenant=TENANT, address="Eli.Kim@estate.example", display_name="Eli")
    await load(server.worker, accounts=[eli])
    await set_passwords(server.worker, [eli], {eli.address: "right"})

    async def finds(address: str) -> bool:
        return await find_by_password(server.platform, TENANT, address, "right") == eli

    assert await finds("ELI.KIM@ESTATE.EXAMPLE")
    # The database folds this letter to i and would find Eli, but throttling counts two addresses.
    assert password_subjects("el\u0130.kim@estate.example", "") != password_subjects(eli.address, "")
    assert not await finds("el\u0130.kim@estate.example")
    # Both fold this letter to k.
    assert password_subjects("eli.\u212aim@estate.example", "") == password_subjects(eli.address, "")
    assert await finds("eli.\u212aim@estate.example")


async def test_a_new_password_ends_sessions(server: IdentityServer) -> None:
    await server.worker.execute(
        "INSERT INTO identity.sessions (digest, tenant_id, account_id, created_at, used_at, ends_at)"
        " VALUES ('\\x01', $1, $2, now(), now(), now())",
        TENANT,
        ADA.id,
    )

    await set_passwords(server.worker, [ADA], {})

    assert await without_password(server.worker, [ADA]) == [ADA]
    assert await server.worker.fetchval("SELECT count(*) FROM identity.sessions") == 0


async def test_hashes_of_equal_passwords_differ() -> None:
    hashes = await hash_secrets({1: "same", 2: "same"})

    assert hashes[1] != hashes[2]
    checker = PasswordVerifier()
    assert [await checker.is_right("same", each) for each in hashes.values()] == [True, True]


@pytest.mark.heavy
async def test_it_limits_waiting_requests() -> None:
    (stored,) = (await hash_secrets({1: "right"})).values()
    checker = PasswordVerifier()

    answers = await asyncio.gather(*(checker.is_right("right", stored) for _ in range(70)), return_exceptions=True)

    assert answers.count(True) == 64
    assert sum(isinstance(answer, TemporarilyUnavailable) for answer in answers) == 6


@pytest.mark.parametrize("stored", [None, "", OLD_FORM])
async def test_it_rejects_every_password_without_a_valid_hash(stored: str | None) -> None:
    assert not await PasswordVerifier().is_right("", stored)


async def test_an_old_hash_is_replaced(databases: Databases) -> None:
    await load_estate(databases)
    await databases.worker.pool.execute("UPDATE identity.clients SET secret_hash = $1, redirect_uris = '{}'", OLD_FORM)
    asked: list[str] = []

    def secret_of(client: Client) -> str:
        asked.append(client.name)
        return "the secret in the file"

    await upgrade_clients(databases.worker.pool, CLIENTS, secret_of)
    await upgrade_clients(databases.worker.pool, CLIENTS, secret_of)

    assert asked == ["automation"]
    clients = {client.id: client for client in await find_clients(databases.application.pool, TENANT)}
    stored = clients[AUTOMATION].secret_hash
    assert stored is not None
    assert hashing.is_client_secret_hash(stored)
    assert hashing.verify_client_secret("the secret in the file", stored)
    assert [client.redirect_uris for client in clients.values()] == [(), ("http://localhost",)]
