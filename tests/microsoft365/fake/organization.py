# SPDX-License-Identifier: Apache-2.0
"""The organization, its domains, contacts and sites."""

import re
from collections.abc import Mapping

from tests.microsoft365.fake.answers import Answer, Call, GraphError
from tests.microsoft365.fake.membership import find_group
from tests.microsoft365.fake.pages import answer_list, answer_object
from tests.microsoft365.fake.tenant import CONTACTS, DOMAINS, SITES, Tenant
from tests.microsoft365.fake.writes import Json

Parts = Mapping[str, str]


def get_organization(tenant: Tenant, call: Call, _parts: Parts) -> Answer:
    """List the one organization (organization-list.md)."""
    verified = [
        {
            "name": name,
            "isDefault": each["isDefault"],
            "isInitial": each["isInitial"],
            "type": "Managed",
            "capabilities": "Email",
        }
        for name, each in tenant.read().items(DOMAINS)
    ]
    found = {"id": tenant.id, "displayName": tenant.domain, "tenantType": "AAD", "verifiedDomains": verified}
    return answer_list(call, [found], "organization", "organization")


def list_domains(tenant: Tenant, call: Call, _parts: Parts) -> Answer:
    """List domains (domain-list.md)."""
    more = {"authenticationType": "Managed", "isAdminManaged": True, "isRoot": True, "supportedServices": ["Email"]}
    found = [{**more, **each} for _, each in tenant.read().items(DOMAINS)]
    return answer_list(call, found, "domain", "domains")


def list_contacts(tenant: Tenant, call: Call, _parts: Parts) -> Answer:
    """List contacts (orgcontact-list.md)."""
    view = tenant.index() if "$filter" in call.query else tenant.read()
    return answer_list(call, [each for _, each in view.items(CONTACTS)], "orgContact", "contacts")


def get_site(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Answer a site by its id, or by its collection alone (resources/site.md: host, site collection, web)."""
    asked = parts["site-id"]
    for _, site in tenant.read().items(SITES):
        if site["id"] == asked or site["id"].split(",")[1:2] == [asked]:
            return answer_object(call, _plain(site), "site", "sites")
    if asked == "root":
        host = f"{tenant.domain.partition('.')[0]}.sharepoint.com"
        root: Json = {
            "id": f"{host},{tenant.id},{tenant.id}",
            "displayName": "Root",
            "webUrl": f"https://{host}",
            "root": {},
        }
        return answer_object(call, root, "site", "sites")
    raise _not_found()


def get_group_site(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Answer the site of a group, once it is provisioned."""
    group = find_group(tenant.read(), parts["group-id"])
    site = tenant.teams().get(SITES, str(group["id"]))
    if site is None or not re.fullmatch(r"root|[^/]*", parts["site-id"]):
        raise _not_found()
    return answer_object(call, _plain(site), "site", "sites")


def _plain(site: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in site.items() if not name.startswith("@")}


def _not_found() -> GraphError:
    # errors.md: itemNotFound.
    return GraphError(404, "itemNotFound", "The resource could not be found.")
