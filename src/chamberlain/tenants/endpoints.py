# SPDX-License-Identifier: Apache-2.0
"""Read and replace the tenant, for its administrators."""

from collections.abc import Mapping
from uuid import UUID

from msgspec import Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import format_time
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.request import Call
from chamberlain.http.resource import IF_MATCH, VERSIONED, edit_of, shown
from chamberlain.http.responses import Answer
from chamberlain.http.wire import Time
from chamberlain.tenants.models import Applicability, TenantRecord
from chamberlain.tenants.schema import (
    TENANT,
    AdministratorsShape,
    IssuerShape,
    LimitsShape,
    RepairShape,
    TenantBody,
    to_tenant_settings,
)
from chamberlain.tenants.service import TenantService


class Tenant(Struct, rename="camel", frozen=True):
    """A tenant: the settings of its administrators and of the operator."""

    id: UUID
    name: str
    default_domain: str
    administrators: AdministratorsShape
    repair: RepairShape
    applicability: Applicability
    domains: tuple[str, ...]
    extension_prefix: str
    limits: LimitsShape
    issuers: tuple[IssuerShape, ...]
    created_at: Time
    updated_at: Time


async def read(tenants: TenantService, call: Call[None]) -> Answer:
    """Read the caller's tenant."""
    return _shown(await tenants.read(call.caller))


async def replace(tenants: TenantService, call: Call[TenantBody]) -> Answer:
    """Replace the settings of the caller's tenant."""
    return _shown(await tenants.replace(call.caller, to_tenant_settings(call.body), edit_of(call)))


def _shown(record: TenantRecord) -> Answer:
    return shown(json.encode(_tenant(record)), record.etag)


def _tenant(record: TenantRecord) -> Tenant:
    tenant, limits = record.tenant, record.tenant.limits
    return Tenant(
        id=tenant.id,
        name=tenant.name,
        default_domain=tenant.default_domain,
        administrators=AdministratorsShape(
            users=tuple(sorted(tenant.administrator_users)), groups=tuple(sorted(tenant.administrator_groups))
        ),
        repair=RepairShape(drift=tenant.repairs_drift, properties=dict(tenant.repair_properties)),
        applicability=tenant.applicability,
        domains=tenant.domains,
        extension_prefix=tenant.extension_prefix,
        limits=LimitsShape(
            open_requests=limits.open_requests,
            running_jobs=limits.running_jobs,
            requests_per_minute=limits.requests_per_minute,
        ),
        issuers=tuple(
            IssuerShape(issuer=each.issuer, tid=each.tid, audiences=each.audiences) for each in record.issuers
        ),
        created_at=format_time(record.created_at),
        updated_at=format_time(record.updated_at),
    )


_TAG = "Tenant"

ABOUT_READ = About(
    id="readTenant",
    tag=_TAG,
    summary="Read the tenant",
    description="It includes the settings of the operator: domains, issuers with their audiences, limits, and the "
    "prefix of "
    "extension attributes.",
)
ABOUT_REPLACE = About(
    id="replaceTenant",
    tag=_TAG,
    summary="Replace the settings of the tenant",
    description="Replaces all settings. `administrators` is required: one of them has to exist in the directory, "
    "else the "
    "answer is 422 `noAdministrator`. Properties of the operator (`domains`, `issuers`, `limits`, "
    "`extensionPrefix`) and of the service (`id`, `createdAt`, `updatedAt`) are ignored, so you can send back the "
    "tenant as you read it.",
    example={
        "name": "Example Estate",
        "defaultDomain": "estate.example",
        "administrators": {"users": ["ada00000-0000-4000-8000-000000000001"], "groups": []},
        "repair": {"drift": True, "properties": {"group.displayName": "ignored"}},
        "applicability": "refuse",
    },
)
_EXAMPLE: Mapping[str, object] = {
    "id": "e57a7e00-0000-4000-8000-000000000001",
    "name": "Example Estate",
    "defaultDomain": "estate.example",
    "administrators": {"users": ["ada00000-0000-4000-8000-000000000001"], "groups": []},
    "repair": {"drift": False, "properties": {}},
    "applicability": "refuse",
    "domains": ["estate.example", "rooms.estate.example"],
    "extensionPrefix": "chamberlain",
    "limits": {"openRequests": None, "runningJobs": None, "requestsPerMinute": None},
    "issuers": [
        {
            "issuer": "https://localhost:8366/identity/e57a7e00-0000-4000-8000-000000000001/v2.0",
            "tid": "e57a7e00-0000-4000-8000-000000000001",
            "audiences": {},
        }
    ],
    "createdAt": "2026-11-20T09:00:00.000Z",
    "updatedAt": "2026-11-20T09:00:00.000Z",
}

READ = (Success(200, "The tenant.", Tenant, VERSIONED, _EXAMPLE),)
REPLACED = (Success(200, "The tenant as it is now.", Tenant, VERSIONED, _EXAMPLE),)
READ_CODES = ("notAdministrator", "notFound")
REPLACE_CODES = ("notAdministrator", "notFound", "etagStale", "notPossible", "overloaded")

# fmt: off
ENDPOINTS = EndpointTable(TenantService, (
    Endpoint("GET", "/admin/v1/tenant/", read, Operation.ADMINISTER_SERVICE, ABOUT_READ, READ, codes=READ_CODES),
    Endpoint("PUT", "/admin/v1/tenant/", replace, Operation.ADMINISTER_SERVICE, ABOUT_REPLACE, REPLACED, shape=TENANT,
             headers=(IF_MATCH,), codes=REPLACE_CODES),
))
# fmt: on
