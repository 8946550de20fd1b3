# SPDX-License-Identifier: Apache-2.0
"""Schema extensions: their registration, and values on groups."""

import re
from collections.abc import Mapping
from typing import Any, Final

from tests.microsoft365.fake.answers import NO_CONTENT, Answer, Call, bad_request, denied, not_found
from tests.microsoft365.fake.pages import answer_list
from tests.microsoft365.fake.tenant import DOMAINS, SCHEMAS, Tenant
from tests.microsoft365.fake.writes import Json

Parts = Mapping[str, str]

# "A verified domain under .com, .net, .gov, .edu or .org" (resources/schemaextension.md).
_TOP_LEVEL: Final = ("com", "net", "gov", "edu", "org")
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
_TARGETS: Final = frozenset(
    {"AdministrativeUnit", "Contact", "Device", "Event", "Group", "Message", "Organization", "Post", "TodoTask",
     "TodoTaskList", "User"}
)  # fmt: skip
_TYPES: Final = frozenset({"Binary", "Boolean", "DateTime", "Integer", "String"})
# "InDevelopment to Available, and Available to Deprecated" (resources/schemaextension.md).
_STATES: Final = frozenset({("InDevelopment", "Available"), ("Available", "Deprecated"), ("Deprecated", "Available")})


def extension_names(tenant: Tenant) -> frozenset[str]:
    return frozenset(tenant.latest().keys(SCHEMAS))


def merge_extension(tenant: Tenant, name: str, present: Json, value: Json) -> Json:
    """Merge values into an extension; null removes one, or all (extensibility-overview.md, "Update or delete")."""
    if value is None:
        return None
    known = {each["name"] for each in tenant.latest().get(SCHEMAS, name)["properties"]}
    if not isinstance(value, Mapping):
        raise bad_request(f"Invalid value specified for property '{name}'.", "BadRequest")
    for each, text in value.items():
        if each not in known or not isinstance(text, str | None):
            raise bad_request(f"Invalid value specified for property '{each}' of '{name}'.", "BadRequest")
    return {**dict.fromkeys(sorted(known)), **(present or {}), **value}


def list_extensions(tenant: Tenant, call: Call, _parts: Parts) -> Answer:
    """List schema extensions (schemaextension-list.md)."""
    found = [each for _, each in tenant.read().items(SCHEMAS)]
    if text := call.query.get("$filter"):
        # schemaextension-list.md: `$filter=id eq '…'`.
        match = re.fullmatch(r"id eq '([^']*)'", text)
        if match is None:
            raise bad_request("Invalid filter clause", "BadRequest")
        found = [each for each in found if each["id"] == match[1]]
    bare = Call(call.method, call.path, {}, call.headers, None, call.principal, call.base)
    return answer_list(bare, found, "schemaExtension", "schemaExtensions")


def create_extension(tenant: Tenant, call: Call, _parts: Parts) -> Answer:
    """Register a schema extension (schemaextension-post-schemaextensions.md)."""
    body: Mapping[str, Any] = call.body
    if not call.principal.is_delegated and "Directory.ReadWrite.All" not in call.principal.permissions:
        # schemaextension-post-schemaextensions.md: an application needs Directory.ReadWrite.All.
        raise denied()
    for each in ("id", "description", "targetTypes", "properties"):
        if not body.get(each):
            raise bad_request(f"A value is required for property '{each}'.")
    _check_definition(body)
    name = _assigned_name(tenant, str(body["id"]))
    if name in extension_names(tenant):
        raise bad_request("An extension with this id already exists.")
    kept = {each: body[each] for each in ("description", "targetTypes", "properties")}
    extension = {"id": name, **kept, "owner": body.get("owner", call.principal.app), "status": "InDevelopment"}
    tenant.log.put(SCHEMAS, name, extension)
    tenant.record("schemaExtension", name, name)
    return Answer(201, {"@odata.context": f"{call.base}/$metadata#schemaExtensions/$entity", **extension})


def _check_definition(body: Mapping[str, Any]) -> None:
    if not {*body.get("targetTypes", ())} <= _TARGETS:
        raise bad_request("Invalid value specified for property 'targetTypes'.")
    if any(each.get("type") not in _TYPES or not each.get("name") for each in body.get("properties", ())):
        raise bad_request("Invalid value specified for property 'properties'.")


def _assigned_name(tenant: Tenant, asked: str) -> str:
    """Return the id: `<domain>_<name>` for a verified domain, else `ext<8 characters>_<name>`."""
    prefix, _, name = asked.rpartition("_")
    domains = [key.partition(".") for key, each in tenant.latest().items(DOMAINS) if each["isVerified"]]
    if prefix and any(first == prefix and rest in _TOP_LEVEL for first, _, rest in domains):
        return asked
    if prefix:
        raise bad_request(
            f"Your organization must own the namespace {prefix} as a part of one of the verified domains."
        )
    return f"ext{''.join(tenant.random.choices(_LETTERS, k=8))}_{name}"


def update_extension(tenant: Tenant, call: Call, parts: Parts) -> Answer:
    """Add properties or targets, or go to the next state (schemaextension-update.md: additive updates only)."""
    name = parts["schemaExtension-id"]
    present = tenant.latest().get(SCHEMAS, name)
    if present is None:
        raise not_found(name)
    body: Mapping[str, Any] = call.body
    if body.get("owner", call.principal.app) != present["owner"]:
        raise denied()
    _check_definition(body)
    for each in ("properties", "targetTypes"):
        if each in body and any(one not in body[each] for one in present[each]):
            raise bad_request(f"Values of '{each}' cannot be removed.")
    status = body.get("status", present["status"])
    if status != present["status"] and (present["status"], status) not in _STATES:
        raise bad_request("Invalid value specified for property 'status'.")
    tenant.change(SCHEMAS, name, **{each: body[each] for each in body if "@" not in each})
    return NO_CONTENT
