# SPDX-License-Identifier: Apache-2.0
"""Deletion of expired rows: at most a hundred, by an index."""

from datetime import UTC, datetime

import pytest

from chamberlain.embedded.identity import authorization_codes, device_authorization, refresh_tokens, session, throttling
from tests.databases import Databases
from tests.embedded.identity.estate import ADA, CLI, TENANT, load_estate
from tests.postgres import connected
from tests.query_plans import rows_looked_at

NUMBER = 20_000
# $1 tenant, $2 account, $3 client, $4 number. Half of all expired days ago.
ROWS = """
WITH made AS (
    SELECT $1::uuid AS tenant, $2::uuid AS account, $3::uuid AS client, sha256(n::text::bytea) AS digest,
        now() + CASE WHEN n % 2 = 1 THEN interval '1 day' ELSE interval '-3 days' END + n * interval '1 ms' AS ends_at
    FROM generate_series(1, $4::integer) n
)
"""
FILL = {
    "sessions": """
        INSERT INTO identity.sessions (digest, tenant_id, account_id, created_at, used_at, ends_at)
        SELECT digest, tenant, account, now(), now(), ends_at FROM made
    """,
    "attempts": """
        INSERT INTO identity.sign_in_attempts (kind, subject, failures, first_at, ends_at)
        SELECT 'account', digest, 1, now(), ends_at FROM made
    """,
    "refresh tokens": """
        INSERT INTO identity.refresh_tokens (
            tenant_id, family_id, client_id, account_id, scope, auth_time, digests, created_at, ends_at
        )
        SELECT tenant, gen_random_uuid(), client, account, '', now(), '{}', now(), ends_at FROM made
    """,
    "codes": """
        INSERT INTO identity.authorization_codes (
            tenant_id, digest, client_id, account_id, redirect_uri, scope, code_challenge, auth_time, ends_at
        )
        SELECT tenant, digest, client, account, '', '', '', now(), ends_at FROM made
    """,
    "codes of devices": """
        INSERT INTO identity.device_codes (
            tenant_id, digest, user_code_digest, client_id, scope, account_id, interval_seconds, ends_at
        )
        SELECT tenant, digest, digest, client, '', account, 5, ends_at FROM made
    """,
}
SWEEPS = {
    "sessions": session.REMOVE_ENDED,
    "attempts": throttling.REMOVE_EXPIRED,
    "refresh tokens": refresh_tokens.REMOVE_ENDED,
    "codes": authorization_codes.REMOVE_ENDED,
    "codes of devices": device_authorization.REMOVE_ENDED,
}


@pytest.mark.parametrize("kept", SWEEPS)
async def test_it_uses_an_index(databases: Databases, kept: str) -> None:
    await load_estate(databases)
    async with databases.worker.across_tenants() as tx:
        await tx.execute(ROWS + FILL[kept], TENANT, ADA.id, CLI, NUMBER)
    async with connected(databases.addresses.owner) as connection:
        await connection.execute("ANALYZE")
    # Throttling counters have no tenant.
    of_tenant = () if kept == "attempts" else (TENANT,)

    async with databases.worker.across_tenants() as tx:
        looked_at = await rows_looked_at(tx, SWEEPS[kept], *of_tenant, datetime.now(UTC))

    assert 100 <= looked_at <= 300
