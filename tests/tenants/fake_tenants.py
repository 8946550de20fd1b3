# SPDX-License-Identifier: Apache-2.0
"""The tenant of the caller in memory, for tests of the API."""

from dataclasses import replace
from uuid import UUID

from chamberlain.auth.models import Caller, Edit, Issuer, require_match
from chamberlain.core.ids import TenantId, UserId
from chamberlain.tenants.models import Limits, Tenant, TenantRecord, TenantSettings, changed
from chamberlain.tenants.service import TenantService
from tests.template_admin.fake_templates import MADE_AT

TENANT_ID = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
ADMINISTRATOR = UserId(UUID("ada00000-0000-4000-8000-000000000001"))


def estate() -> TenantRecord:
    """The example estate, with a registered issuer."""
    tenant = Tenant(
        id=TENANT_ID,
        revision=1,
        name="Example Estate",
        domains=("estate.example", "rooms.estate.example"),
        administrator_users=frozenset({ADMINISTRATOR}),
        administrator_groups=frozenset(),
        extension_prefix="chamberlain",
        suspended=False,
        limits=Limits(open_requests=100),
    )
    issuer = Issuer(tenant_id=TENANT_ID, issuer="https://id.example/v2.0", tid=None, audiences={"api": "https://api.x"})
    return TenantRecord(tenant, (issuer,), MADE_AT, MADE_AT)


class FakeTenants(TenantService):
    """Keeps the tenant in memory. Every method raises `refusal` once it is set."""

    def __init__(self) -> None:
        self.record = estate()
        self.refusal: Exception | None = None

    async def read(self, caller: Caller) -> TenantRecord:
        assert caller.tenant_id == TENANT_ID
        if self.refusal is not None:
            raise self.refusal
        return self.record

    async def replace(self, caller: Caller, settings: TenantSettings, edit: Edit) -> TenantRecord:
        before = await self.read(caller)
        require_match(before.etag, edit, "tenant")
        after = replace(changed(before.tenant, settings), revision=before.tenant.revision + 1)
        self.record = replace(before, tenant=after)
        return self.record
