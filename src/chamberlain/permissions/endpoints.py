# SPDX-License-Identifier: Apache-2.0
"""Endpoint that reports held, used and needed permissions."""

from msgspec import json

from chamberlain.auth.permissions import Operation
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.request import Call
from chamberlain.http.resource import CACHE
from chamberlain.http.responses import NO_STORE, Answer
from chamberlain.permissions.service import PermissionService
from chamberlain.permissions.wire import PermissionReport, to_report


async def report(permissions: PermissionService, call: Call[None]) -> Answer:
    """Report the permissions of the tenant."""
    return Answer(200, json.encode(to_report(await permissions.report(call.caller))), (NO_STORE,))


ABOUT = About(
    id="reportPermissions",
    tag="Operation",
    summary="Report held, used and needed permissions",
    description="Which permissions the tokens of each caller had in the last 30 days, which of them allowed a call, "
    "and which did not. `directory` has the permissions that the templates and policies of the tenant need in "
    "Microsoft 365. Calls count within seconds. Callers without a successful call are not listed.",
)
_SCOPE = "https://api.estate.example/"
REPORTED = (
    Success(
        200,
        "The report.",
        PermissionReport,
        headers=CACHE,
        example={
            "callers": [
                {
                    "kind": "application",
                    "id": "c11e0000-0000-4000-8000-000000000002",
                    "displayName": "automation",
                    "held": [
                        f"{_SCOPE}admin/Collab.Config.ReadWrite.All",
                        f"{_SCOPE}admin/Mail.Manage.ReadWrite.All",
                    ],
                    "used": [
                        {
                            "permission": f"{_SCOPE}admin/Mail.Manage.ReadWrite.All",
                            "lastUsedAt": "2026-11-20T09:30:00.000Z",
                            "count": 1204,
                        }
                    ],
                    "unused": [f"{_SCOPE}admin/Collab.Config.ReadWrite.All"],
                }
            ],
            "callersTruncated": False,
            "directory": [
                {
                    "permission": "TeamMember.ReadWrite.All",
                    "neededBy": [
                        {
                            "kind": "template",
                            "id": "7e000000-0000-4000-8000-000000000012",
                            "name": "Project team",
                        }
                    ],
                }
            ],
        },
    ),
)
CODES = ("notAdministrator", "databaseUnavailable", "overloaded")

# fmt: off
ENDPOINTS = EndpointTable(PermissionService, (
    Endpoint("GET", "/admin/v1/permissions/report/", report, Operation.ADMINISTER_SERVICE, ABOUT, REPORTED,
             codes=CODES),
))
# fmt: on
