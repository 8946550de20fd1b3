# SPDX-License-Identifier: Apache-2.0
"""`/organization`, `/domains`, setting templates, labels and contacts: the tenant itself."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID, uuid5

from chamberlain.embedded.directory.graph.calls import Call, Row, Shape
from chamberlain.embedded.directory.graph.options import read_options
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

_PAGE_OPTIONS = frozenset({"$select", "$top"})

# Templates of Microsoft 365 with their well-known ids: for single groups, and for all groups of a tenant.
GUEST_TEMPLATE_ID: Final = "08d542b9-071f-4e16-94b0-74abb372e3d9"
GUEST_TEMPLATE_NAME: Final = "Group.Unified.Guest"
_TENANT_TEMPLATE_ID: Final = "62375ab9-6b52-47ed-826b-58e47e0e304b"
_TENANT_TEMPLATE_NAME: Final = "Group.Unified"
_GUESTS_ALLOWED: Final = "AllowToAddGuests"


async def list_domains(call: Call) -> Shape:
    """List the domains of the tenant's own users.

    The domain with the most users is the default.
    """
    read_options(call.query_string)
    return {
        "@odata.context": f"{call.root}/$metadata#domains",
        "value": [
            {
                "authenticationType": "Managed",
                "availabilityStatus": None,
                "id": domain,
                "isAdminManaged": True,
                "isDefault": place == 0,
                "isInitial": place == 0,
                "isRoot": True,
                "isVerified": True,
                "supportedServices": ["Email"],
            }
            for place, domain in enumerate(await _domains(call))
        ],
    }


async def list_organization(call: Call) -> Shape:
    """List the tenant, with its domains.

    The directory has no name of a tenant; the default domain is in its place.
    """
    options = read_options(call.query_string, known=_PAGE_OPTIONS)
    domains = await _domains(call)
    organization: Shape = {
        "id": str(call.tenant_id),
        "displayName": domains[0] if domains else None,
        "tenantType": "AAD",
        "createdDateTime": None,
        "assignedPlans": [],
        "businessPhones": [],
        "verifiedDomains": [
            {"capabilities": "Email", "isDefault": place == 0, "isInitial": place == 0, "name": name, "type": "Managed"}
            for place, name in enumerate(domains)
        ],
    }
    if options.select is not None:
        organization = {name: organization[name] for name in options.select if name in organization}
    return {"@odata.context": f"{call.root}/$metadata#organization", "value": [organization]}


async def _domains(call: Call) -> Sequence[str]:
    async with call.connected() as connection:
        rows = await connection.fetch(SQL["domains"], call.tenant_id)
    return [row["domain"] for row in rows]


async def list_setting_templates(call: Call) -> Shape:
    """List the templates of group settings that this directory has."""
    read_options(call.query_string)
    templates = ((GUEST_TEMPLATE_ID, GUEST_TEMPLATE_NAME), (_TENANT_TEMPLATE_ID, _TENANT_TEMPLATE_NAME))
    return {
        "@odata.context": f"{call.root}/$metadata#groupSettingTemplates",
        "value": [
            {
                "id": template_id,
                "deletedDateTime": None,
                "displayName": name,
                "description": "Settings of guests in groups",
                "values": [
                    {
                        "name": _GUESTS_ALLOWED,
                        "type": "System.Boolean",
                        "defaultValue": "true",
                        "description": "Owners may add guests.",
                    }
                ],
            }
            for template_id, name in templates
        ],
    }


async def list_tenant_settings(call: Call) -> Shape:
    """List the guest settings of the tenant.

    Empty while the default applies.
    """
    read_options(call.query_string)
    async with call.connected() as connection:
        row = await connection.fetchrow(SQL["guest_default"], call.tenant_id)
    return {
        "@odata.context": f"{call.root}/$metadata#groupSettings",
        "value": [] if row is None else [_tenant_settings(call.tenant_id, is_allowed=row["allow_to_add_guests"])],
    }


def _tenant_settings(tenant_id: UUID, *, is_allowed: bool) -> Shape:
    return {
        # A tenant has at most one object of settings, so the id is derived from that of the tenant.
        "id": str(uuid5(tenant_id, _TENANT_TEMPLATE_NAME)),
        "displayName": _TENANT_TEMPLATE_NAME,
        "templateId": _TENANT_TEMPLATE_ID,
        "values": [{"name": _GUESTS_ALLOWED, "value": "true" if is_allowed else "false"}],
    }


async def list_labels(call: Call) -> Shape:
    """List the sensitivity labels of the tenant."""
    read_options(call.query_string)
    async with call.connected() as connection:
        rows = await connection.fetch(SQL["labels"], call.tenant_id)
    context = f"{call.root}/$metadata#security/dataSecurityAndGovernance/sensitivityLabels"
    return {"@odata.context": context, "value": [_label(row, place) for place, row in enumerate(rows)]}


def _label(row: Row, place: int) -> Shape:
    return {
        "id": row["id"],
        "name": row["display_name"],
        "displayName": row["display_name"],
        "description": None,
        "priority": place,
        "isDefault": False,
        "isScopedToUser": True,
        "hasProtection": False,
    }


async def list_contacts(call: Call) -> Shape:
    """List the contacts of the tenant. This directory has none."""
    read_options(call.query_string, known=frozenset({"$filter", "$select", "$top"}))
    return {"@odata.context": f"{call.root}/$metadata#contacts", "value": []}
