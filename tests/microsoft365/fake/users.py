# SPDX-License-Identifier: Apache-2.0
"""Users: reads, membership, and the block of a sign-in."""

from collections.abc import Mapping
from typing import Final

from tests.microsoft365.fake.answers import NO_CONTENT, Answer, Call, GraphError, bad_request, denied, not_found
from tests.microsoft365.fake.membership import groups_of
from tests.microsoft365.fake.pages import answer_list, answer_object, selected
from tests.microsoft365.fake.tenant import LABELS, USERS, Tenant
from tests.microsoft365.fake.writes import Json, View

Parts = Mapping[str, str]

# Only `accountEnabled` with the permission for it (permission table, User.EnableDisableAccount.All).
_ENABLE: Final = frozenset({"User.EnableDisableAccount.All"})
_WRITE: Final = frozenset({"User.ReadWrite.All", "Directory.ReadWrite.All"})
_READ_ONLY: Final = frozenset({"id", "createdDateTime", "assignedPlans", "proxyAddresses", "userType"})


def list_users(tenant: Tenant, call: Call, _parts: Parts) -> Answer:
    """List users; filters and searches go to the index (user-list.md, aad-advanced-queries.md)."""
    check_activity(tenant, call)
    is_by_id = call.query.get("$filter", "").startswith("id ") and "$search" not in call.query
    view = tenant.index() if {"$filter", "$search"} & {*call.query} and not is_by_id else tenant.read()
    return answer_list(call, [user for _, user in view.items(USERS)], "user", "users")


def get_user(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Answer a user by id or user principal name (user-get.md)."""
    check_activity(tenant, call)
    user = find_user(tenant.read(), parts["user-id"])
    if "signInActivity" in selected(call) and user["id"] != parts["user-id"]:
        # Microsoft's answer 1311910: it needs the id of the user, not the name.
        raise bad_request("Get By Key only supports UserId and the key has to be a valid Guid", "BadRequest")
    return answer_object(call, user, "user", "users")


def check_activity(tenant: Tenant, call: Call) -> None:
    """Check the permission and the licence for `signInActivity` (resources/signinactivity.md)."""
    if "signInActivity" not in selected(call):
        return
    if "AuditLog.Read.All" not in call.principal.permissions:
        raise denied("Calling principal does not have required MSGraph permissions AuditLog.Read.All")
    if not tenant.is_premium:
        raise GraphError(
            403,
            "Authentication_RequestFromNonPremiumTenantOrB2CTenant",
            "Neither tenant is B2C or tenant doesn't have premium license",
        )


def find_user(view: View, key: str) -> Mapping[str, Json]:
    """Find a user by id or user principal name. Raises GraphError."""
    found: Mapping[str, Json] | None = view.get(USERS, key)
    if found is not None:
        return found
    for _, user in view.items(USERS):
        if str(user["userPrincipalName"]).lower() == key.lower():
            named: Mapping[str, Json] = user
            return named
    raise not_found(key)


def get_manager(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Answer the manager, or 404 without one (user-list-manager.md)."""
    view = tenant.read()
    user = find_user(view, parts["user-id"])
    manager = view.get(USERS, user.get("@manager") or "")
    if manager is None:
        raise not_found("manager")
    found = answer_object(call, manager, "user", "directoryObjects")
    return Answer(200, {"@odata.type": "#microsoft.graph.user", **found.body})


def list_licenses(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """List licences with their service plans (user-list-licensedetails.md)."""
    user = find_user(tenant.read(), parts["user-id"])
    plans = [
        {
            "servicePlanId": each["servicePlanId"],
            "servicePlanName": "TEAMS1",
            "provisioningStatus": "Success" if each["capabilityStatus"] == "Enabled" else "Disabled",
            "appliesTo": "User",
        }
        for each in user.get("assignedPlans", ())
    ]
    licenses = [{"id": "l1", "skuId": plans[0]["servicePlanId"], "skuPartNumber": "BUSINESS", "servicePlans": plans}]
    return answer_list(call, licenses if plans else [], "licenseDetails", f"users('{user['id']}')/licenseDetails")


def check_member_groups(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Return the given groups of which the user is a member, nested ones too (directoryobject-checkmembergroups.md)."""
    asked = (call.body or {}).get("groupIds")
    if not isinstance(asked, list):
        raise bad_request("Required parameter 'groupIds' is missing.")
    if len(asked) > 20:
        # "You can check up to a maximum of 20 groups per request."
        raise bad_request("The number of values in 'groupIds' exceeds the maximum of 20.")
    view = tenant.read()
    found = groups_of(view, str(find_user(view, parts["user-id"])["id"]))
    value = [each for each in asked if each in found]
    return Answer(200, {"@odata.context": f"{call.base}/$metadata#Collection(Edm.String)", "value": value})


def update_user(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Update a user (user-update.md)."""
    user = find_user(tenant.read(), parts["user-id"])
    changed = {name for name in call.body if "@" not in name}
    if changed & _READ_ONLY:
        raise bad_request(f"Property '{min(changed & _READ_ONLY)}' is read-only and cannot be set.")
    permissions = call.principal.permissions
    if not permissions & _WRITE and not (permissions & _ENABLE and changed <= {"accountEnabled"}):
        raise denied()
    find_user(tenant.latest(), str(user["id"]))
    tenant.change(USERS, str(user["id"]), **{name: call.body[name] for name in changed})
    return NO_CONTENT


def revoke_sessions(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Answer 200 with a Boolean (user-revokesigninsessions.md)."""
    user = find_user(tenant.latest(), str(find_user(tenant.read(), parts["user-id"])["id"]))
    tenant.change(USERS, str(user["id"]), **{"@sessionsRevokedAt": tenant.timestamp()})
    return Answer(200, {"@odata.context": f"{call.base}/$metadata#Edm.Boolean", "value": True})


def list_labels(tenant: Tenant, call: Call, _parts: Parts) -> Answer:
    """List the labels of the tenant (security-datasecurityandgovernance-list-sensitivitylabels.md)."""
    labels = [label for _, label in tenant.read().items(LABELS)]
    return answer_list(call, labels, "sensitivityLabel", "security/dataSecurityAndGovernance/sensitivityLabels")
