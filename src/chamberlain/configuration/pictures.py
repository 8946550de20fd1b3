"""Pictures of tenants: as files describe them, and as they are, both in the words of the files."""

from collections.abc import Mapping
from typing import cast

import msgspec

from chamberlain.configuration.files import TenantEntry
from chamberlain.configuration.rules import Configured, Picture
from chamberlain.core.constraints_shape import Shape
from chamberlain.core.ids import TenantId
from chamberlain.core.json_stored import StoredDecoder
from chamberlain.core.values import Json
from chamberlain.guests.policies.schema import PolicyShape
from chamberlain.template_admin.documents import TemplateShape, kept_template
from chamberlain.tenants.schema import AdministratorsShape, TenantShape, from_tenant

_decode_policy = StoredDecoder(PolicyShape).decode


def wanted_picture(entry: TenantEntry) -> Picture:
    """What files ask for."""
    return _picture(entry.tenant, entry.templates, entry.policies)


def present_picture(configured: Configured) -> Picture:
    """What there is. Members that are newer than what is kept have their defaults."""
    return _picture(
        from_tenant(configured.tenant, configured.issuers),
        tuple(kept_template(each) for each in configured.templates),
        tuple(_decode_policy(each.content) for each in configured.policies),
    )


def _picture(
    tenant: TenantShape, templates: tuple[TemplateShape, ...] | None, policies: tuple[PolicyShape, ...] | None
) -> Picture:
    return Picture(
        tenant_id=TenantId(tenant.id),
        settings=_settings(tenant),
        templates=None if templates is None else tuple(_document(each) for each in templates),
        policies=None if policies is None else tuple(_document(each) for each in policies),
    )


def _settings(tenant: TenantShape) -> Mapping[str, Json]:
    """In one order where order means nothing, so that two that mean the same are the same."""
    own = tenant.administrators
    administrators = AdministratorsShape(users=tuple(sorted({*own.users})), groups=tuple(sorted({*own.groups})))
    issuers = tenant.issuers and tuple(sorted(tenant.issuers, key=lambda each: (each.issuer, each.tid or "")))
    settings = _document(msgspec.structs.replace(tenant, administrators=administrators, issuers=issuers))
    left_out = {"issuers"} if tenant.issuers is None else set()
    return {name: value for name, value in settings.items() if name not in left_out}


def _document(shape: Shape) -> dict[str, Json]:
    return cast("dict[str, Json]", msgspec.json.decode(msgspec.json.encode(shape)))
