# SPDX-License-Identifier: Apache-2.0
"""The sample directory of the conformance suite in fake tenants, with an application that may use all of Graph."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from chamberlain.core.ids import TenantId, UserId
from tests.directory.sample_directory import OTHER_TENANT, SECTION, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.clock import Clock
from tests.microsoft365.fake.tenant import USERS, Tenant
from tests.microsoft365.fake.writes import Json

APP: Final = UUID("a99c11e0-0000-4000-8000-000000000365")
SECRET: Final = "a secret of the sample application"
EXTENSION: Final = "chamberlain_group"
DOMAINS: Final[Mapping[TenantId, str]] = {TENANT: "estate.example", OTHER_TENANT: "other.example"}

# The permissions of all features of the Graph half.
PERMISSIONS: Final = (
    "User.Read.All",
    "GroupMember.Read.All",
    "Group.ReadWrite.All",
    "TeamMember.ReadWrite.All",
    "Channel.Create",
    "GroupSettings.ReadWrite.All",
    "User.EnableDisableAccount.All",
    "User.RevokeSessions.All",
    "AuditLog.Read.All",
    "SensitivityLabel.Read",
    "Sites.Read.All",
    "OrgContact.Read.All",
    "Application.Read.All",
    "Domain.Read.All",
)


def sample_fake(*, seed: int | None = None, clock: Clock | None = None) -> FakeMicrosoft365:
    """Return a fake with both sample tenants. A seed makes it hostile."""
    fake = FakeMicrosoft365(clock, seed)
    fake.add_app(str(APP), secret=SECRET)
    for tenant_id, domain in DOMAINS.items():
        tenant = fake.add_tenant(str(tenant_id), domain)
        fake.consent(tenant.id, str(APP), PERMISSIONS)
        load_sample(tenant)
    return fake


def guest_accounts(fake: FakeMicrosoft365) -> Mapping[UserId, bool]:
    """Return the guests of all tenants, and whether they can sign in."""
    found = [user for tenant in fake.tenants.values() for _, user in tenant.latest().items(USERS)]
    return {UserId(UUID(each["id"])): each["accountEnabled"] for each in found if each["userType"] == "Guest"}


def record_activity(fake: FakeMicrosoft365, user_id: UserId) -> datetime:
    """Record a sign-in of a user a while ago. All replicas have it."""
    at = (fake.clock() - timedelta(days=7)).replace(microsecond=0)
    for tenant in fake.tenants.values():
        user = tenant.latest().get(USERS, str(user_id))
        if user is not None:
            activity = {"lastSignInDateTime": tenant.timestamp(at)}
            tenant.log.put(USERS, str(user_id), {**user, "signInActivity": activity}, at=tenant.old)
    return at


def load_sample(tenant: Tenant) -> None:
    """Load the part of the sample directory that belongs to a tenant."""
    tenant.add_extension(EXTENSION, ("requestId", "templateId", "policyId", "siteId"), str(APP))
    for user in _section("users", tenant):
        _add_user(tenant, user)
    for group in _section("groups", tenant):
        _add_group(tenant, group)
    for site in _section("sites", tenant):
        _add_site(tenant, site)
    for label in _section("labels", tenant):
        tenant.add_label(label["id"], label["displayName"])


def _section(name: str, tenant: Tenant) -> list[dict[str, Any]]:
    found = SECTION[name]
    assert isinstance(found, list)
    return [each for each in found if each["tenant"] == tenant.id]


def _add_user(tenant: Tenant, user: Mapping[str, Json]) -> None:
    names = ("displayName", "userPrincipalName", "mail", "department", "preferredLanguage", "userType")
    plans = [plan for each in user.get("licenses", ()) for plan in each["servicePlans"]]
    teams = [each for each in plans if each["servicePlanName"].startswith("TEAMS")]
    properties = {name: user[name] for name in names if name in user}
    if "manager" in user:
        properties["@manager"] = user["manager"]
    tenant.add_user(user["id"], has_teams=bool(teams), **properties)
    if any(each.get("provisioningStatus") == "Disabled" for each in teams):
        # resources/assignedplan.md: a plan that is not enabled.
        [plan] = tenant.latest().get(("users",), user["id"])["assignedPlans"]
        changed = [{**plan, "capabilityStatus": "Deleted"}]
        tenant.add_user(user["id"], **{**properties, "assignedPlans": changed})


def _add_group(tenant: Tenant, group: Mapping[str, Json]) -> None:
    names = ("displayName", "mailNickname", "mail", "mailEnabled", "groupTypes", "membershipRule", "visibility")
    properties = {name: group[name] for name in names if name in group}
    if "Unified" in group.get("groupTypes", ()):
        properties = {"visibility": "Private", "securityEnabled": False, **properties, "mailEnabled": True}
        mail = properties.setdefault("mail", f"{group['mailNickname']}@{tenant.domain}")
        properties["proxyAddresses"] = [f"SMTP:{mail}"]
    owner_ids, member_ids = group.get("owners", ()), group.get("members", ())
    tenant.add_group(group["id"], owner_ids=owner_ids, member_ids=member_ids, **properties)
    if "channels" in group:
        tenant.add_team(group["id"], group["channels"])


def _add_site(tenant: Tenant, site: Mapping[str, Json]) -> None:
    """Add a site, and its mark on the security group."""
    group_id, collection = site["securityGroupId"], tenant.new_id()
    host = site["webUrl"].split("/")[2]
    tenant.add_site(
        f"{host},{collection},{tenant.new_id()}",
        displayName=site["displayName"],
        name=site["webUrl"].rpartition("/")[2],
        webUrl=site["webUrl"],
        **{"@sharingCapability": site.get("sharingCapability")},
    )
    group = {**tenant.group(group_id), EXTENSION: {"siteId": collection}}
    tenant.log.put(("groups",), group_id, group, at=tenant.old)
