# SPDX-License-Identifier: Apache-2.0
"""Operations of Graph that the published description (published/README.md) does not include.

The names and types are those of the description. The methods, bodies and permissions are those of Microsoft's reference
pages: user-post-users, user-delete, user-post-manager, user-delete-manager and user-assignlicense (version 1.0).
"""

from collections.abc import Mapping
from typing import Any

# Parsed JSON of any form, as in the description.
Json = Any


def _schema(name: str) -> Json:
    return {"$ref": f"#/components/schemas/microsoft.graph.{name}"}


def _content(schema: Json) -> Json:
    return {"content": {"application/json": {"schema": schema}}}


def _operation(*permissions: str, sent: Json = None, answered: Json = None) -> Json:
    return {
        **({} if sent is None else {"requestBody": _content(sent)}),
        "responses": {"2XX": {} if answered is None else _content(answered)},
        "x-ms-permissions": {"Application": list(permissions)},
    }


_USERS = ("User.ReadWrite.All*", "Directory.ReadWrite.All")
_REFERENCE: Json = {
    "type": "object",
    "required": ["@odata.id"],
    "properties": {"@odata.id": {"type": "string", "format": "uri"}},
    "additionalProperties": False,
}
_LICENSES: Json = {
    "type": "object",
    "required": ["addLicenses", "removeLicenses"],
    "properties": {
        "addLicenses": {"type": "array", "items": _schema("assignedLicense.sent")},
        "removeLicenses": {"type": "array", "items": {"type": "string", "format": "uuid"}},
    },
    "additionalProperties": False,
}

FURTHER_OPERATIONS: Mapping[str, Mapping[str, Json]] = {
    "/users": {"post": _operation(*_USERS, sent=_schema("user.sent"), answered=_schema("user"))},
    "/users/{user-id}": {"delete": _operation("User.DeleteRestore.All*", *_USERS)},
    "/users/{user-id}/manager/$ref": {
        "put": _operation(*_USERS, sent=_REFERENCE),
        "delete": _operation(*_USERS),
    },
    "/users/{user-id}/assignLicense": {
        "post": _operation("LicenseAssignment.ReadWrite.All*", *_USERS, sent=_LICENSES, answered=_schema("user")),
    },
}
