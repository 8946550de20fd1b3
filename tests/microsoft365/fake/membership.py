# SPDX-License-Identifier: Apache-2.0
"""Members and owners of groups: reads, references, and membership rules."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from tests.microsoft365.fake.answers import (
    NO_CONTENT,
    Answer,
    Call,
    GraphError,
    bad_request,
    denied,
    missing_reference,
    not_found,
)
from tests.microsoft365.fake.pages import answer_list
from tests.microsoft365.fake.tenant import BOUND, GROUPS, USERS, Tenant, members, owners
from tests.microsoft365.fake.writes import Json, View

Parts = Mapping[str, str]
Object = Mapping[str, Json]

_REFERENCE: Final = re.compile(
    r"https?://[^/]+/v1\.0/(?:(?:users|directoryObjects|groups)/([^/']+)|users\('([^/']+)'\))/?"
)
_CLAUSE: Final = re.compile(r"\(?\s*user\.(\w+)\s+-(eq|ne)\s+\"([^\"]*)\"\s*\)?")
# A limit of one request, members and owners together (group-post-members.md, example 2; group-post-groups.md).
MOST_REFERENCES: Final = 20
MOST_OWNERS: Final = 100


def find_group(view: View, group_id: str) -> Object:
    """Find a group. Raises GraphError."""
    found: Object | None = view.get(GROUPS, group_id)
    if found is None:
        raise not_found(group_id)
    return found


def find_to_write(tenant: Tenant, group_id: str) -> Object:
    """Find a group that a replica knows, in its present state. Raises GraphError."""
    find_group(tenant.read(), group_id)
    return find_group(tenant.latest(), group_id)


def is_dynamic(group: Object) -> bool:
    return "DynamicMembership" in group.get("groupTypes", ())


def list_members(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """List direct members, each with its type (group-list-members.md)."""
    return _answer(tenant, call, parts, transitive=False, only_users=False)


def list_member_users(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """List direct members that are users, by a cast (group-list-members.md)."""
    return _answer(tenant, call, parts, transitive=False, only_users=True)


def list_transitive_users(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """List members of nested groups too (group-list-transitivemembers.md)."""
    return _answer(tenant, call, parts, transitive=True, only_users=True)


def list_owners(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """List owners, each with its type (group-list-owners.md)."""
    view = tenant.read()
    found = _objects(view, view.keys(owners(str(find_group(view, parts["group-id"])["id"]))))
    return answer_list(call, found, "user", "directoryObjects", typed=True)


def list_owner_users(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """List owners that are users, by a cast (group-list-owners.md)."""
    view = tenant.read()
    found = _objects(view, view.keys(owners(str(find_group(view, parts["group-id"])["id"]))))
    return answer_list(call, found, "user", "users", is_cast=True)


def _answer(tenant: Tenant, call: Call, parts: Parts, *, transitive: bool, only_users: bool) -> Answer:
    # A filter is answered by the index (aad-advanced-queries.md).
    view = tenant.index() if "$filter" in call.query else tenant.read()
    group = find_group(view, parts["group-id"])
    ids = transitive_members(view, group) if transitive else direct_members(view, group)
    found = _objects(view, ids)
    if only_users:
        users = [each for each in found if each["@kind"] == "user"]
        return answer_list(call, users, "user", "users", is_cast=True)
    if "$filter" in call.query and not call.is_advanced:
        raise bad_request("Filter needs the advanced parameters.", "Request_UnsupportedQuery")
    return answer_list(call, found, "directoryObject", "directoryObjects", typed=True)


def _objects(view: View, ids: Iterable[str]) -> list[Object]:
    found: list[Object] = []
    for each in ids:
        if (user := view.get(USERS, each)) is not None:
            # Members and owners have no sign-in activity (microsoft-graph-docs-contrib issue 5049).
            found.append({**user, "@kind": "user", "signInActivity": None})
        elif (group := view.get(GROUPS, each)) is not None:
            found.append({**group, "@kind": "group"})
    return found


def direct_members(view: View, group: Object) -> list[str]:
    """List the members of a group, or the users that its rule selects."""
    if not is_dynamic(group):
        return view.keys(members(str(group["id"])))
    rule = str(group.get("membershipRule", ""))
    return [user_id for user_id, user in view.items(USERS) if _selects(rule, user)]


def _selects(rule: str, user: Object) -> bool:
    """Evaluate the simple rules of tests: comparisons joined by -and, or by -or."""
    joined, test = ("-or", any) if " -or " in rule else ("-and", all)
    clauses = [_CLAUSE.fullmatch(part.strip()) for part in rule.split(f" {joined} ")]
    if any(each is None for each in clauses):
        return False
    found = [each for each in clauses if each is not None]
    return test((str(user.get(each[1]) or "").lower() == each[3].lower()) == (each[2] == "eq") for each in found)


def is_valid_rule(rule: str) -> bool:
    """Check the form of a rule: brackets, and a property of a user or device."""
    return rule.count("(") == rule.count(")") and re.search(r"\b(user|device)\.\w+\s+-\w+", rule) is not None


def transitive_members(view: View, group: Object) -> list[str]:
    """List the members of a group and of the groups in it. Cycles are possible."""
    found: dict[str, None] = {}
    waiting = [group]
    seen = {group["id"]}
    while waiting:
        for each in direct_members(view, waiting.pop()):
            found[each] = None
            inner = view.get(GROUPS, each)
            if inner is not None and each not in seen:
                seen.add(each)
                waiting.append(inner)
    return [each for each in found if each != group["id"]]


def groups_of(view: View, user_id: str) -> set[str]:
    """Return the groups of which a user is a direct or nested member."""
    return {group_id for group_id, group in view.items(GROUPS) if user_id in transitive_members(view, group)}


def read_references(urls: Json) -> list[str]:
    """Read the ids of references. Raises GraphError for anything that is no absolute address of an object."""
    found = []
    for url in urls if isinstance(urls, list) else [urls]:
        match = _REFERENCE.fullmatch(str(url))
        if match is None:
            raise bad_request(f"Invalid URL format specified in reference: '{url}'.")
        found.append(match[1] or match[2])
    if len(set(found)) < len(found):
        # contoso-airlines-teams-sample issue 1.
        raise bad_request(f"Object '{found[-1]}' can only be present once as an add/remove change.")
    return found


def read_bound(body: Mapping[str, Json]) -> dict[str, list[str]]:
    """Read the bound owners and members of a body. Both relations are collections."""
    bound = {}
    for relation in ("owners", "members"):
        urls = body.get(f"{relation}@odata.bind", [])
        if not isinstance(urls, list):
            raise bad_request(f"An array is expected for '{relation}@odata.bind'.", "BadRequest")
        bound[relation] = read_references(urls)
    if sum(map(len, bound.values())) > MOST_REFERENCES:
        raise bad_request(f"The number of relationships exceeds the maximum of {MOST_REFERENCES}.")
    return bound


def resolve(tenant: Tenant, view: View, object_id: str) -> Object:
    """Find an object to refer to: in no replica (404), or not in this one yet (400, [S2])."""
    for table in (USERS, GROUPS):
        found: Object | None = view.get(table, object_id)
        if found is not None:
            return found
    if any(tenant.latest().get(table, object_id) is not None for table in (USERS, GROUPS)):
        raise missing_reference()
    raise not_found(object_id)


def already_added(relation: str) -> GraphError:
    """Return the error of pnpframework pull request 139."""
    return bad_request(
        f"One or more added object references already exist for the following modified properties: '{relation}'."
    )


def check_references(tenant: Tenant, group: Object, relation: str, ids: Iterable[str]) -> None:
    """Check members or owners before they are added. Raises GraphError."""
    view, ids = tenant.read(), list(ids)
    if relation == "members" and is_dynamic(group) and ids:
        # microsoft-graph-docs issue 9556, CIPP issue 468.
        raise denied()
    for each in ids:
        found = resolve(tenant, view, each)
        if relation == "owners" and "groupTypes" in found:
            raise bad_request("A group cannot be an owner of a group.")
    latest, table = tenant.latest(), _table(group, relation)
    count = len(latest.keys(table)) + len(ids)
    if relation == "owners" and count > MOST_OWNERS:
        # Reported by another program, with this text.
        raise GraphError(
            403,
            "Directory_QuotaExceeded",
            f"Unable to perform operation as '{count}' would exceed the maximum quota count '{MOST_OWNERS}' for "
            "forward-link 'owners'.",
        )
    if any(latest.get(table, each) is not None for each in ids):
        raise already_added(relation)


def put_references(tenant: Tenant, group: Object, relation: str, ids: Iterable[str]) -> None:
    """Add checked members or owners."""
    for each in ids:
        tenant.log.put(_table(group, relation), each, BOUND)


def _table(group: Object, relation: str) -> tuple[str, str]:
    return members(str(group["id"])) if relation == "members" else owners(str(group["id"]))


def add_references(tenant: Tenant, group: Object, relation: str, ids: Iterable[str]) -> None:
    """Add members or owners, all or none (group-post-members.md, example 2)."""
    ids = list(ids)
    check_references(tenant, group, relation, ids)
    put_references(tenant, group, relation, ids)


def add_member(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Add one member (group-post-members.md, example 1)."""
    group = find_to_write(tenant, parts["group-id"])
    add_references(tenant, group, "members", read_references(call.body["@odata.id"]))
    return NO_CONTENT


def add_owner(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Add one owner (group-post-owners.md)."""
    group = find_to_write(tenant, parts["group-id"])
    add_references(tenant, group, "owners", read_references(call.body["@odata.id"]))
    return NO_CONTENT


def remove_member(tenant: Tenant, _call: Call, parts: Parts) -> Answer:
    """Remove a member (group-delete-members.md); not one that a rule selects (CIPP issue 468)."""
    group = find_to_write(tenant, parts["group-id"])
    if is_dynamic(group):
        raise denied()
    table, object_id = members(str(group["id"])), parts["directoryObject-id"]
    if tenant.latest().get(table, object_id) is None:
        raise not_found(object_id)
    tenant.log.remove(table, object_id)
    return NO_CONTENT


def remove_owner(tenant: Tenant, _call: Call, parts: Parts) -> Answer:
    """Remove an owner, but the last one (group-delete-owners.md)."""
    group = find_to_write(tenant, parts["group-id"])
    table, object_id = owners(str(group["id"])), parts["directoryObject-id"]
    present = tenant.latest().keys(table)
    if object_id not in present:
        raise not_found(object_id)
    if len(present) == 1:
        # "The last owner (a user object) of the group cannot be removed" (group-delete-owners.md).
        raise bad_request("The group must have at least one owner, hence this owner cannot be removed.")
    tenant.log.remove(table, object_id)
    return NO_CONTENT
