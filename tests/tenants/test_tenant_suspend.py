# SPDX-License-Identifier: Apache-2.0
"""A suspended tenant is not served, nothing of it goes, and everything goes on when it is resumed."""

from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.app.identity import issuer_finder
from chamberlain.auth.issuers import IssuerKeys
from chamberlain.auth.verifier import Verifier
from chamberlain.core.errors import NotFound, Unauthenticated
from chamberlain.core.ids import TenantId
from chamberlain.queue import jobs as queue_jobs
from chamberlain.tenant_admin.service import TenantOperations
from chamberlain.tenants import records as tenant_records
from tests.auth.issuer import make_key, run_issuer, sign
from tests.configuration.test_configuration_plan import DOMAINS, with_first
from tests.databases import Databases
from tests.estates import (
    ADA,
    ESTATE,
    NOBODY,
    OPERATOR,
    OTHER_GROUP,
    OTHER_HOUSE,
    TRACE,
    ZOE,
    Estate,
    apply,
    caller_of,
    changed_estate,
    rows,
)
from tests.events.configuration_events import stored_events

AUDIT = "SELECT action, payload -> 'before' ->> 'suspended' FROM chamberlain.audit WHERE action ~ 'sus|res' ORDER BY 1"


class Clock:
    """Shows what the test wants."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def pass_a_minute(self) -> None:
        self._now += timedelta(seconds=61)

    def claims(self, issuer: str) -> dict[str, object]:
        """A token for Ada, by an identity platform that names audiences by identifiers."""
        moment = int(self._now.timestamp())
        return {
            "iss": issuer, "tid": "t1", "aud": "4f1c", "oid": str(ADA), "sub": str(ADA), "azp": "c", "idtyp": "user",
            "scp": "collab/App.ReadWrite.All", "iat": moment, "nbf": moment, "exp": moment + 3600,
        }  # fmt: skip


async def suspend(databases: Databases, tenant_id: TenantId = ESTATE) -> bool:
    """Whether it was suspended before."""
    before = await TenantOperations(databases.worker).suspend(tenant_id, actor=OPERATOR, trace_id=TRACE)
    return before.suspended


async def resume(databases: Databases, tenant_id: TenantId = ESTATE) -> bool:
    before = await TenantOperations(databases.worker).resume(tenant_id, actor=OPERATOR, trace_id=TRACE)
    return before.suspended


async def test_it_works(estate: Estate) -> None:
    assert not await suspend(estate.databases)

    states = {tenant.id: tenant.suspended for tenant in await TenantOperations(estate.databases.worker).list()}
    assert states == {ESTATE: True, OTHER_HOUSE: False}
    assert await estate.rows(AUDIT) == [("tenant.suspend", "false")]
    ((type_, data),) = await stored_events(estate.databases)
    assert (type_, data["tenant"]) == ("tenant.changed", {"id": str(ESTATE), "name": "Example Estate"})
    assert (data["change"], data["properties"]) == ("replaced", ["suspended"])
    assert data["changedBy"] == {"type": "system", "id": None, "displayName": "Test"}


async def test_twice_is_as_once(estate: Estate) -> None:
    await suspend(estate.databases)
    assert await suspend(estate.databases)

    assert await resume(estate.databases)
    assert not await resume(estate.databases)

    assert await estate.rows(AUDIT) == [("tenant.resume", "true"), ("tenant.suspend", "false")]


async def test_it_rejects_a_tenant_that_is_not_there(databases: Databases) -> None:
    for attempt in (suspend(databases, TenantId(NOBODY)), resume(databases, TenantId(NOBODY))):
        with pytest.raises(NotFound, match="tenant list"):
            await attempt


async def test_its_jobs_rest_and_go_on(estate: Estate) -> None:
    ours = await estate.request("Ours")
    await suspend(estate.databases)
    theirs = await estate.request("Theirs", caller=caller_of(ZOE, OTHER_HOUSE), templateId=str(OTHER_GROUP))

    async with estate.databases.worker.across_tenants() as tx:
        depth = await queue_jobs.measure(tx)
    await estate.work()

    assert depth.due == 1
    assert (await estate.record(theirs.request_id, OTHER_HOUSE)).state == "succeeded"
    assert (await estate.record(ours.request_id)).state == "queued"

    await resume(estate.databases)
    await estate.work()

    assert (await estate.record(ours.request_id)).state == "succeeded"


async def test_nothing_new_is_accepted_even_with_a_token_that_was_proven_before(estate: Estate) -> None:
    await estate.request("Before")
    await suspend(estate.databases)
    before = await estate.counts()

    # This process remembers the tenant as it was.
    with pytest.raises(Unauthenticated):
        await estate.request("After")
    assert await estate.counts() == before

    await resume(estate.databases)
    await estate.request("Again")


async def test_tokens_are_refused_within_a_minute_and_accepted_again(databases: Databases) -> None:
    key = make_key("k")
    async with run_issuer() as issuer:
        issuer.keys.append(key)
        await apply(databases, changed_estate())
        registered = {"issuer": issuer.address, "tid": "t1", "audiences": {"4f1c": "https://api.estate.example"}}
        clock = Clock()
        keys = IssuerKeys(clock.now)
        find = issuer_finder(databases.application, None)
        verifier = Verifier(frozenset({"https://api.estate.example"}), find, keys, clock.now)
        token = f"Bearer {sign(clock.claims(issuer.address), key)}"
        with pytest.raises(Unauthenticated):
            await verifier.verify(token)

        await apply(databases, with_first({"domains": DOMAINS, "issuers": [registered]}))
        assert (await verifier.verify(token)).tenant_id == ESTATE

        await suspend(databases)
        clock.pass_a_minute()
        with pytest.raises(Unauthenticated):
            await verifier.verify(token)

        await resume(databases)
        assert (await verifier.verify(token)).id == ADA

        await apply(databases, with_first({"domains": DOMAINS, "issuers": []}))
        clock.pass_a_minute()
        with pytest.raises(Unauthenticated):
            await verifier.verify(token)
        await keys.close()


async def test_tokens_of_a_suspended_tenant_never_speak_for_another_of_the_same_issuer(databases: Databases) -> None:
    await apply(databases, changed_estate())
    for tenant_id, tid in ((ESTATE, "tid-a"), (OTHER_HOUSE, None)):
        await rows(
            databases,
            "INSERT INTO chamberlain.issuer (tenant_id, issuer, tid) VALUES ($1, 'https://shared.example', $2)",
            tenant_id,
            tid,
        )

    async def whose(tid: str | None) -> TenantId | None:
        found = await tenant_records.find_issuer(databases.application, "https://shared.example", tid)
        return None if found is None else found.tenant_id

    before = [await whose(tid) for tid in ("tid-a", None, "tid-c")]
    await suspend(databases)

    assert before == [ESTATE, OTHER_HOUSE, None]
    assert [await whose(tid) for tid in ("tid-a", None, "tid-c")] == [None, OTHER_HOUSE, None]


async def test_applying_files_neither_suspends_nor_resumes(estate: Estate) -> None:
    await suspend(estate.databases)

    await apply(estate.databases, with_first({"domains": DOMAINS, "name": "Renamed"}))

    async with estate.databases.worker.across_tenants() as tx:
        tenant = await tenant_records.find(tx, ESTATE)
    assert tenant is not None
    assert (tenant.name, tenant.suspended) == ("Renamed", True)
