# SPDX-License-Identifier: Apache-2.0
"""Tenants in configuration files and in the API."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from chamberlain.auth.models import Issuer
from chamberlain.core.errors import BodyInvalid, Fault
from chamberlain.core.fields import ADDED_BY_THE_SERVICE, CONTROL, Domain, LowerDomain, ManyIds, Name, Shape, shaped
from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.core.json import parse_object
from chamberlain.core.validation import Reader
from chamberlain.directory.properties import DriftProperty, Treatment, treatment_faults
from chamberlain.tenants.models import Applicability, Limits, Tenant, TenantSettings

_ExtensionPrefix = Annotated[
    str, shaped("[A-Za-z][A-Za-z0-9_]{0,59}", "must be up to 60 letters, digits and _, a letter first")
]
# Keys are fetched over protected connections only (auth/issuers.py).
_IssuerAddress = Annotated[
    str,
    shaped(
        rf"(?:https://|http://(?:127\.0\.0\.1|localhost)[:/])[^\s{CONTROL}?#@]+",
        "must be an https address, or http on this machine",
        512,
    ),
]
_Treatments = Annotated[
    dict[DriftProperty, Treatment],
    Meta(max_length=100, extra_json_schema={"propertyNames": {"$ref": "#/components/schemas/DriftProperty"}}),
]
_Most = Annotated[int, Meta(ge=1, le=1_000_000)]
_Audience = Annotated[str, shaped(rf"[^\s{CONTROL}]+", "must be a text without spaces and control characters", 512)]


class AdministratorsShape(Shape, frozen=True, kw_only=True):
    """Administrators: users, and the members of groups."""

    users: ManyIds = ()
    groups: ManyIds = ()


class RepairShape(Shape, frozen=True, kw_only=True):
    """Repair of drift, and the treatment of single properties."""

    drift: bool = False
    properties: _Treatments = {}  # noqa: RUF012 - msgspec makes each its own.


class LimitsShape(Shape, frozen=True, kw_only=True):
    """Limits of the tenant; null means unlimited."""

    open_requests: _Most | None = None
    running_jobs: _Most | None = None
    requests_per_minute: _Most | None = None


class IssuerShape(Shape, frozen=True, kw_only=True):
    """An issuer of tokens for the tenant.

    `audiences` maps identifiers in `aud` to audiences.
    """

    issuer: _IssuerAddress
    tid: Name | None = None
    audiences: Annotated[Mapping[_Audience, _Audience], Meta(max_length=32)] = {}


class TenantShape(Shape, frozen=True, kw_only=True):
    """A tenant without its templates and policies.

    New addresses use the first domain by default. Issuers of None are omitted: the registered ones stay.
    """

    id: UUID
    name: Name
    domains: Annotated[tuple[LowerDomain, ...], Meta(min_length=1, max_length=1000)]
    administrators: AdministratorsShape = AdministratorsShape()
    repair: RepairShape = RepairShape()
    issuers: Annotated[tuple[IssuerShape, ...], Meta(max_length=32)] | None = None
    extension_prefix: _ExtensionPrefix = "chamberlain"
    applicability: Applicability = Applicability.REFUSE
    limits: LimitsShape = LimitsShape()


def to_tenant(shape: TenantShape, *, revision: int, suspended: bool) -> Tenant:
    """Convert a shape to a tenant."""
    return Tenant(
        id=TenantId(shape.id),
        revision=revision,
        name=shape.name,
        domains=shape.domains,
        administrator_users=frozenset(UserId(each) for each in shape.administrators.users),
        administrator_groups=frozenset(GroupId(each) for each in shape.administrators.groups),
        extension_prefix=shape.extension_prefix,
        suspended=suspended,
        limits=Limits(
            open_requests=shape.limits.open_requests,
            running_jobs=shape.limits.running_jobs,
            requests_per_minute=shape.limits.requests_per_minute,
        ),
        applicability=shape.applicability,
        repairs_drift=shape.repair.drift,
        repair_properties=shape.repair.properties,
    )


def repair_faults(shape: RepairShape, pointer: str) -> Iterator[Fault]:
    """Validate the treatments, which no type can.

    `pointer` is their place.
    """
    return treatment_faults(shape.properties, f"{pointer}/properties")


def to_issuers(shape: TenantShape) -> tuple[Issuer, ...]:
    """Return the issuers of a shape."""
    return tuple(
        Issuer(tenant_id=TenantId(shape.id), issuer=each.issuer, tid=each.tid, audiences=dict(each.audiences))
        for each in shape.issuers or ()
    )


def from_tenant(tenant: Tenant, issuers: Sequence[Issuer]) -> TenantShape:
    """Convert a tenant and its issuers to the shape of files."""
    limits = tenant.limits
    return TenantShape(
        id=tenant.id,
        name=tenant.name,
        domains=tenant.domains,
        administrators=AdministratorsShape(
            users=tuple(sorted(tenant.administrator_users)), groups=tuple(sorted(tenant.administrator_groups))
        ),
        repair=RepairShape(drift=tenant.repairs_drift, properties=dict(tenant.repair_properties)),
        issuers=tuple(IssuerShape(issuer=each.issuer, tid=each.tid, audiences=each.audiences) for each in issuers),
        extension_prefix=tenant.extension_prefix,
        applicability=tenant.applicability,
        limits=LimitsShape(
            open_requests=limits.open_requests,
            running_jobs=limits.running_jobs,
            requests_per_minute=limits.requests_per_minute,
        ),
    )


# Properties of the operator. Clients may send them back as read; they are ignored.
_OF_THE_OPERATOR = frozenset({"domains", "extensionPrefix", "limits", "issuers"})
_IGNORED = ADDED_BY_THE_SERVICE | _OF_THE_OPERATOR | {"id"}


class TenantBody(Shape, frozen=True, kw_only=True):
    """Settings of a tenant, from its administrators."""

    name: Name
    default_domain: Domain | None = None
    administrators: AdministratorsShape
    repair: RepairShape = RepairShape()
    applicability: Applicability = Applicability.REFUSE


class TenantReader(Reader[TenantBody]):
    """Reads a tenant of a request, without the properties of the operator."""

    def read(self, raw: bytes) -> TenantBody:
        """Parse and validate the body. Raises BodyInvalid with all faults, and Malformed."""
        sent = parse_object(raw)
        body = self.read_value({name: each for name, each in sent.items() if name not in _IGNORED})
        if faults := tuple(repair_faults(body.repair, "/repair")):
            raise BodyInvalid(faults)
        return body


TENANT = TenantReader(TenantBody)


def to_tenant_settings(body: TenantBody) -> TenantSettings:
    """Convert the body to settings.

    Domains become lower case.
    """
    return TenantSettings(
        name=body.name,
        default_domain=None if body.default_domain is None else body.default_domain.lower(),
        users=tuple(UserId(each) for each in body.administrators.users),
        groups=tuple(GroupId(each) for each in body.administrators.groups),
        repairs_drift=body.repair.drift,
        repair_properties=body.repair.properties,
        applicability=body.applicability,
    )
