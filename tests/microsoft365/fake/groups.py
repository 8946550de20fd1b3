# SPDX-License-Identifier: Apache-2.0
"""Groups: reads, creation, upsert by unique name, updates and deletion."""

import re
from collections.abc import Mapping
from typing import Any, Final

from tests.microsoft365.fake.answers import (
    NO_CONTENT,
    Answer,
    Call,
    GraphError,
    bad_request,
    conflict,
    denied,
    not_found,
)
from tests.microsoft365.fake.extensions import extension_names, merge_extension
from tests.microsoft365.fake.membership import (
    already_added,
    check_references,
    find_group,
    find_to_write,
    is_valid_rule,
    put_references,
    read_bound,
)
from tests.microsoft365.fake.pages import GROUP_DEFAULT, answer_list, answer_object, project
from tests.microsoft365.fake.tenant import DELETED, GROUPS, LABELS, USERS, Tenant, members, new_group, owners
from tests.microsoft365.fake.writes import Json, View

Parts = Mapping[str, str]
Object = Mapping[str, Json]

# "Required when you create the group" (group-post-groups.md).
_REQUIRED: Final = ("displayName", "mailEnabled", "mailNickname", "securityEnabled")
# "Can't be set in the initial POST request"; each in a PATCH of its own, and with delegated permissions only
# (group-upsert.md, group-update.md).
_ALONE: Final = frozenset(
    {"allowExternalSenders", "autoSubscribeNewMembers", "hideFromAddressLists", "hideFromOutlookClients",
     "isSubscribedByMail", "unseenCount"}
)  # fmt: skip
# "Read-only" in resources/group.md.
_READ_ONLY: Final = frozenset(
    {"id", "mail", "proxyAddresses", "createdDateTime", "deletedDateTime", "renewedDateTime", "securityIdentifier",
     "resourceProvisioningOptions", "onPremisesSyncEnabled", "expirationDateTime"}
)  # fmt: skip
_FIXED: Final = frozenset({"mailEnabled", "groupTypes"})
# "ASCII 0 - 127 except @ () \ [] " ; : <> , SPACE", at most 64 (group-post-groups.md).
_NICKNAME: Final = re.compile(r'[^@()\\\[\]";:<>, \x00-\x1f\x7f-\U0010ffff]{1,64}')
_LABELLERS: Final = frozenset({"Group.ManageProtection.All", "Group.ReadWrite.All", "Directory.ReadWrite.All"})
_READ_USERS: Final = frozenset(
    {"User.Read.All", "User.ReadWrite.All", "Directory.Read.All", "Directory.ReadWrite.All", "Group.ReadWrite.All"}
)


def list_groups(tenant: Tenant, call: Call, _parts: Parts) -> Answer:
    """List groups; filters and searches go to the index (group-list.md, aad-advanced-queries.md)."""
    text = call.query.get("$filter", "")
    is_by_id = text.startswith("id ") and "$search" not in call.query
    view = tenant.index() if (text or "$search" in call.query) and not is_by_id else tenant.read()
    return answer_list(call, [group for _, group in view.items(GROUPS)], "group", "groups")


def get_group(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Answer a group (group-get.md)."""
    return answer_object(call, find_group(tenant.read(), parts["group-id"]), "group", "groups")


def get_by_unique_name(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Answer a group by its alternate key (group-get.md, [S1])."""
    name = parts["uniqueName"]
    group = find_unique(tenant.read(), name)
    if group is None:
        raise not_found(name)
    return answer_object(call, group, "group", "groups")


def find_unique(view: View, name: str) -> Object | None:
    return next((group for _, group in view.items(GROUPS) if group.get("uniqueName") == name), None)


def list_deleted(tenant: Tenant, call: Call, _parts: Parts) -> Answer:
    """List the recycle bin (directory-deleteditems-list.md)."""
    return answer_list(call, [group for _, group in tenant.read().items(DELETED)], "group", "groups")


def create_group(tenant: Tenant, call: Call, _parts: Parts) -> Answer:
    """Create a group (group-post-groups.md)."""
    return _create(tenant, call, call.body.get("uniqueName"))


def upsert_group(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Create or update by the alternate key (group-upsert.md). The key is unique in all replicas."""
    name = parts["uniqueName"]
    if call.body.get("uniqueName", name) != name:
        raise bad_request("The value of 'uniqueName' differs from the key of the request.")
    found = find_unique(tenant.latest(), name)
    if found is not None:
        _update(tenant, call, found, is_upsert=True)
        return NO_CONTENT
    if "create-if-missing" not in call.headers.get("prefer", ""):
        # "Required for upsert behavior, otherwise the request is treated as an update operation."
        raise not_found(name)
    return _create(tenant, call, name)


def _create(tenant: Tenant, call: Call, unique_name: str | None) -> Answer:
    body = call.body
    _check_new(tenant, call, body)
    bound = read_bound(body)
    if any(bound.values()) and not call.principal.permissions & _READ_USERS:
        # group-upsert.md: an app with Group.Create needs at least User.Read.All for users as owners or members.
        raise denied()
    _check_unique(tenant, body, unique_name)
    if tenant.most_groups is not None and len(tenant.latest().keys(GROUPS)) >= tenant.most_groups:
        # The text is that of active-directory-dotnet-graphapi-console issue 45.
        message = "The directory object quota limit for the Tenant has been exceeded."
        raise GraphError(403, "Directory_QuotaExceeded", message)
    group_id = tenant.new_id()
    group = {**new_group(tenant, tenant.now()), **_written(tenant, {}, body), "id": group_id, "uniqueName": unique_name}
    if body["mailEnabled"]:
        address = f"{body['mailNickname']}@{tenant.domain}"
        group |= {"mail": address, "proxyAddresses": [f"SMTP:{address}"]}
    if "Unified" in group["groupTypes"]:
        group["visibility"] = body.get("visibility") or "Public"
    for relation, ids in bound.items():
        check_references(tenant, group, relation, ids)
    for relation, ids in bound.items():
        put_references(tenant, group, relation, ids)
    tenant.log.put(GROUPS, group_id, group)
    tenant.record("group", group_id, unique_name)
    if "Unified" in group["groupTypes"] and bound["owners"]:
        # Without owners, the site is not created automatically (group-upsert.md, "Important").
        tenant.provision_site(group)
    context = {"@odata.context": f"{call.base}/$metadata#groups/$entity"}
    # Example 1 of group-upsert.md returns the unique name.
    return Answer(201, {**context, **project(group, "group", (*GROUP_DEFAULT, "uniqueName"))})


def _check_new(tenant: Tenant, call: Call, body: Mapping[str, Any]) -> None:
    missing = [name for name in _REQUIRED if body.get(name) is None]
    if missing:
        raise bad_request(f"A value is required for property '{missing[0]}' of resource 'Group'.")
    if _ALONE & {*body}:
        raise bad_request(f"Property '{min(_ALONE & {*body})}' cannot be set when the group is created.")
    types = body.get("groupTypes", [])
    if not {*types} <= {"Unified", "DynamicMembership"}:
        raise bad_request("Invalid value specified for property 'groupTypes' of resource 'Group'.")
    if body["mailEnabled"] != ("Unified" in types):
        # A mail-enabled group that is not unified is managed in Exchange (resources/groups-overview.md).
        raise bad_request("The service does not currently support writes of mail-enabled groups.")
    if "DynamicMembership" in types and not body.get("membershipRule"):
        raise bad_request("A value is required for property 'membershipRule' of resource 'Group'.")
    _check_values(tenant, call, body)


def _check_values(tenant: Tenant, call: Call, body: Mapping[str, Any]) -> None:
    if _READ_ONLY & {*body}:
        raise bad_request(f"Property '{min(_READ_ONLY & {*body})}' is read-only and cannot be set.")
    name = body.get("displayName", "x")
    if not name or len(name) > 256:
        raise bad_request("Invalid value specified for property 'displayName' of resource 'Group'.")
    if "mailNickname" in body and not _NICKNAME.fullmatch(body["mailNickname"] or ""):
        raise bad_request("Invalid value specified for property 'mailNickname' of resource 'Group'.")
    if body.get("visibility") not in {None, "Private", "Public", "HiddenMembership"}:
        raise bad_request("Invalid value specified for property 'visibility' of resource 'Group'.")
    if body.get("membershipRule") and not is_valid_rule(body["membershipRule"]):
        raise bad_request("The dynamic membership rule is not valid.", "InvalidDynamicMembershipRule")
    if "assignedLabels" in body:
        _check_labels(tenant, call, body["assignedLabels"])


def _check_labels(tenant: Tenant, call: Call, labels: Json) -> None:
    """Labels need a delegated token ([S3])."""
    if not call.principal.is_delegated or not call.principal.permissions & _LABELLERS:
        raise denied()
    for each in labels:
        if tenant.latest().get(LABELS, each.get("labelId") or "") is None:
            raise bad_request("Invalid value specified for property 'assignedLabels' of resource 'Group'.")


def _check_unique(tenant: Tenant, body: Mapping[str, Any], unique_name: str | None, but: str | None = None) -> None:
    """Check unique values at the source. Deleted groups keep their address, and here their unique name (V15)."""
    latest = tenant.latest()
    others = [each for table in (GROUPS, DELETED) for key, each in latest.items(table) if key != but]
    if unique_name is not None and any(each.get("uniqueName") == unique_name for each in others):
        raise conflict("uniqueName")
    nickname = str(body.get("mailNickname", "")).lower()
    if not nickname or not body.get("mailEnabled", True):
        return
    if any(each["mailEnabled"] and str(each.get("mailNickname", "")).lower() == nickname for each in others):
        raise conflict("mailNickname")
    address = f"smtp:{nickname}@{tenant.domain}".lower()
    users = (user for _, user in latest.items(USERS))
    if any(address in map(str.lower, user.get("proxyAddresses", ())) for user in users):
        raise conflict("proxyAddresses")


def update_group(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Update a group in its present state (group-update.md)."""
    group = find_to_write(tenant, parts["group-id"])
    if "owners@odata.bind" in call.body:
        # Only members can be bound by PATCH (group-post-members.md, group-post-owners.md).
        raise bad_request("The request is currently not supported on the targeted entity set", "BadRequest")
    _update(tenant, call, group)
    # group-update.md: 200 for the properties with a PATCH of their own.
    return Answer(200) if _ALONE & {*call.body} else NO_CONTENT


def _update(tenant: Tenant, call: Call, group: Object, *, is_upsert: bool = False) -> None:
    body = call.body
    alone = _ALONE & {*body}
    if alone:
        if {*body} - alone:
            raise bad_request(f"Property '{min(alone)}' must be updated in a request of its own.")
        if not call.principal.is_delegated:
            raise denied()
    _check_values(tenant, call, body)
    for name in _FIXED & {*body}:
        if body[name] != group.get(name):
            raise bad_request(f"Property '{name}' of an existing group cannot be changed.")
    if "uniqueName" in body and group.get("uniqueName") not in {None, body["uniqueName"]}:
        # It can be set once ([S17]).
        raise bad_request("Property 'uniqueName' is immutable.")
    renamed = body.get("uniqueName") if group.get("uniqueName") is None else None
    _check_unique(tenant, body, renamed, but=str(group["id"]))
    written = _written(tenant, group, body)
    _bind(tenant, body, group, is_upsert=is_upsert)
    if written != group:
        tenant.log.put(GROUPS, str(group["id"]), written)


def _bind(tenant: Tenant, body: Mapping[str, Any], group: Object, *, is_upsert: bool) -> None:
    """Bind members, and owners in an upsert. An upsert refuses bound ones, or ignores them, as the seed says (V1)."""
    bound = read_bound(body)
    latest, new = tenant.latest(), {}
    for relation, ids in bound.items():
        table = members(str(group["id"])) if relation == "members" else owners(str(group["id"]))
        new[relation] = [each for each in ids if latest.get(table, each) is None]
        if new[relation] != ids and not (is_upsert and not tenant.refuses_bound_again):
            raise already_added(relation)
        check_references(tenant, group, relation, new[relation])
    for relation, ids in new.items():
        put_references(tenant, group, relation, ids)


def _written(tenant: Tenant, group: Object, body: Mapping[str, Any]) -> dict[str, Json]:
    """Return a group with the values of a body."""
    written = dict(group)
    for name, value in body.items():
        if name in extension_names(tenant):
            written[name] = merge_extension(tenant, name, group.get(name), value)
        elif "_" in name:
            raise bad_request(f"The property '{name}' does not exist on type 'microsoft.graph.group'.", "BadRequest")
        elif name == "assignedLabels":
            labels = tenant.latest()
            written[name] = [
                {"labelId": each["labelId"], "displayName": labels.get(LABELS, each["labelId"])["name"]}
                for each in value
            ]
        elif "@" not in name:
            written[name] = value
    return written


def delete_group(tenant: Tenant, _call: Call, parts: Parts) -> Answer:
    """Delete a group (group-delete.md)."""
    group = find_to_write(tenant, parts["group-id"])
    tenant.delete_group(str(group["id"]))
    return NO_CONTENT
