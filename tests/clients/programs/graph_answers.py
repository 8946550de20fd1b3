# SPDX-License-Identifier: Apache-2.0
"""A program that reads recorded answers of Graph by the vendor's models, and lists members that they do not know."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from kiota_serialization_json.json_parse_node import JsonParseNode

# The model of each operation's answer: a module below msgraph.generated, and its class.
LISTS = {
    "GET /users": "user",
    "GET /contacts": "org_contact",
    "GET /domains": "domain",
    "GET /organization": "organization",
    "GET /groups": "group",
    "GET /directory/deletedItems/microsoft.graph.group": "group",
    "GET /groups/{group-id}/members": "directory_object",
    "GET /groups/{group-id}/members/microsoft.graph.user": "user",
    "GET /groups/{group-id}/transitiveMembers/microsoft.graph.user": "user",
    "GET /groups/{group-id}/owners": "directory_object",
    "GET /groups/{group-id}/owners/microsoft.graph.user": "user",
    "GET /groups/{group-id}/settings": "group_setting",
    "GET /groupSettings": "group_setting",
    "GET /groupSettingTemplates": "group_setting_template",
    "GET /groups/{group-id}/team/channels": "channel",
    "GET /teams/{team-id}/channels": "channel",
    "GET /teams/{team-id}/members": "conversation_member",
    "GET /schemaExtensions": "schema_extension",
    "GET /security/dataSecurityAndGovernance/sensitivityLabels": "sensitivity_label",
    "GET /users/{user-id}/licenseDetails": "license_details",
}
OBJECTS = {
    "GET /users/{user-id}": "user",
    "GET /users/{user-id}/manager": "directory_object",
    "POST /groups": "group",
    "GET /groups/{group-id}": "group",
    "GET /groups(uniqueName='{uniqueName}')": "group",
    "PATCH /groups(uniqueName='{uniqueName}')": "group",
    "POST /groups/{group-id}/settings": "group_setting",
    "GET /groups/{group-id}/sites/{site-id}": "site",
    "GET /sites/{site-id}": "site",
    "PUT /groups/{group-id}/team": "team",
    "GET /groups/{group-id}/team": "team",
    "GET /teams/{team-id}": "team",
    "POST /teams/{team-id}/channels": "channel",
    "POST /teams/{team-id}/members": "conversation_member",
    "POST /schemaExtensions": "schema_extension",
}
OTHERS = {
    "GET /groups/delta": ("groups.delta.delta_get_response", "DeltaGetResponse"),
    "GET /users/delta": ("users.delta.delta_get_response", "DeltaGetResponse"),
    "POST /teams/{team-id}/members/add": ("teams.item.members.add.add_post_response", "AddPostResponse"),
    "POST /users/{user-id}/checkMemberGroups": (
        "users.item.check_member_groups.check_member_groups_post_response",
        "CheckMemberGroupsPostResponse",
    ),
    "POST /users/{user-id}/revokeSignInSessions": (
        "users.item.revoke_sign_in_sessions.revoke_sign_in_sessions_post_response",
        "RevokeSignInSessionsPostResponse",
    ),
}
ERROR = ("models.o_data_errors.o_data_error", "ODataError")


def model(operation: str, status: int) -> Any:  # noqa: ANN401  A class of the SDK.
    """Return the class of an answer."""
    if status >= 400:
        module, name = ERROR
    elif operation in LISTS:
        module, name = (
            f"models.{LISTS[operation]}_collection_response",
            camel(f"{LISTS[operation]}_collection_response"),
        )
    elif operation in OBJECTS:
        module, name = f"models.{OBJECTS[operation]}", camel(OBJECTS[operation])
    else:
        module, name = OTHERS[operation]
    return getattr(import_module(f"msgraph.generated.{module}"), name)


def camel(name: str) -> str:
    return "".join(word.title() for word in name.split("_"))


def unknown(found: object) -> Iterator[str]:
    """List the members in `additional_data` that are neither an annotation nor an extension."""
    if isinstance(found, list):
        for each in found:
            yield from unknown(each)
    elif is_dataclass(found) and not isinstance(found, type):
        for name in getattr(found, "additional_data", None) or {}:
            if "@" not in name and "_" not in name:
                yield f"{type(found).__name__}.{name}"
        for field in fields(found):
            if field.name not in {"additional_data", "backing_store"}:
                yield from unknown(getattr(found, field.name, None))


def shape(answer: object) -> object:
    """Return the names and types of an answer, at every depth."""
    if isinstance(answer, dict):
        return frozenset((name, value if name == "@odata.type" else shape(value)) for name, value in answer.items())
    if isinstance(answer, list):
        return frozenset(map(shape, answer))
    return type(answer).__name__


def main() -> None:
    said: dict[str, Any] = {"answers": 0, "operations": [], "unknown": {}}
    shapes = set()
    for file in sorted(Path(os.environ["ANSWERS"]).glob("*.jsonl")):
        for line in filter(None, file.read_text(encoding="utf-8").split("\n")):
            read = json.loads(line)
            # Tests have most answers hundreds of times, with other values.
            key = (read["operation"], read["status"], shape(read["answer"]))
            if key in shapes:
                continue
            shapes.add(key)
            found = JsonParseNode(read["answer"]).get_object_value(model(read["operation"], read["status"]))
            names = {*said["unknown"].get(read["operation"], ()), *unknown(found)}
            said["answers"] += 1
            if read["status"] < 400 and read["operation"] not in said["operations"]:
                said["operations"].append(read["operation"])
            if names:
                said["unknown"][read["operation"]] = sorted(names)
    sys.stdout.write(json.dumps(said) + "\n")


main()
