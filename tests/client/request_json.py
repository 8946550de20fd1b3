# SPDX-License-Identifier: Apache-2.0
"""JSON of a request."""

ID = "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10"
_WHEN = "2026-11-20T09:30:00.000Z"


def summary(state: str) -> dict[str, object]:
    """Return a request of lists and timelines."""
    return {
        "requestId": ID,
        "tenantId": ID,
        "approvalRequired": False,
        "kind": "group",
        "state": state,
        "displayName": "A",
        "template": {"id": ID, "name": "Project group"},
        "waiting": None,
        "blocked": None,
        "error": None,
        "warnings": [],
        "warningReasons": [],
        "result": None,
        "actions": [],
        "createdAt": _WHEN,
        "createdBy": {"type": "user", "id": ID, "displayName": "Ada"},
        "updatedAt": _WHEN,
        "finishedAt": None,
    }


def request(state: str) -> dict[str, object]:
    """Return a whole request."""
    return {**summary(state), "body": {"displayName": "A"}, "steps": [], "approvals": []}
