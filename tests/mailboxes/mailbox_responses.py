# SPDX-License-Identifier: Apache-2.0
"""A mailbox as the service answers it, for tests that write its answers down."""

from tests.client.scripted_server import answer

ID, OTHER = "9d5b2166-3c67-4675-8389-0dec13bf4a2a", "5b1f0a52-7a0e-4f0b-8a55-0f6f5b7f2f11"
BODY: dict[str, object] = {"name": "basel", "displayName": "Basel", "capacity": 4}
MAILBOX = {
    **BODY,
    "id": ID,
    "type": "room",
    "primarySmtpAddress": "basel@rooms.estate.example",
    "templateId": OTHER,
    "templateSource": "default",
    "permissions": {},
    "capacityUnit": "people",
    "provisioningState": "queued",
    "requestId": OTHER,
    "error": None,
    "warnings": [],
    "warningReasons": [],
    "createdAt": "2026-11-20T09:30:00.000Z",
    "createdBy": {"type": "user", "id": OTHER, "displayName": "Ada"},
    "updatedAt": "2026-11-20T09:30:00.000Z",
}
# The answer to a POST.
ACCEPTED = answer({**MAILBOX, "tenantId": OTHER, "approvalRequired": False}, 202)
