# SPDX-License-Identifier: Apache-2.0
"""Plan and apply configuration documents over HTTP, for administrators."""

from collections.abc import Mapping

from msgspec import json

from chamberlain.auth.permissions import Operation
from chamberlain.configuration.rules import Plan
from chamberlain.configuration.sent import SentDocument
from chamberlain.configuration.service import TenantConfigurationService, digest_of
from chamberlain.configuration.wire import ConfigurationPlan, JsonDocumentReader, YamlDocumentReader, to_plan
from chamberlain.core.errors import Malformed
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.request import Call, Parameter, creating_act_of
from chamberlain.http.resource import CACHE, acted, listed
from chamberlain.http.responses import Answer


async def plan(configuration: TenantConfigurationService, call: Call[SentDocument]) -> Answer:
    """Plan the changes of a document."""
    return listed(_render(await configuration.plan(call.caller, call.body)))


async def apply(configuration: TenantConfigurationService, call: Call[SentDocument]) -> Answer:
    """Apply the changes of a document."""
    digest = call.query.get("digest")
    if digest is None:
        raise Malformed("invalidParameter", "The query parameter digest is missing. The plan of the document has it.")
    return acted(await configuration.apply(call.caller, call.body, digest, creating_act_of(call), _render))


def _render(found: Plan) -> bytes:
    return json.encode(to_plan(found, digest_of(found)))


_TAG = "Configuration"
_DOCUMENT = (
    "The body is a configuration file in JSON, or in YAML with `Content-Type: application/yaml`. It may have only the "
    "tenant of the token. Settings of the operator (`domains`, `issuers`, `limits`, `extensionPrefix`) stay and must "
    "not differ. Faults in YAML name the line. Each change needs the permission of the endpoint that makes it."
)
_EXAMPLE_DOCUMENT: Mapping[str, object] = {
    "tenants": [
        {
            "id": "e57a7e00-0000-4000-8000-000000000001",
            "name": "Example Estate",
            "domains": ["estate.example", "rooms.estate.example"],
            "administrators": {"users": ["ada00000-0000-4000-8000-000000000001"]},
            "assignments": [{"group": "All staff", "template": "No guests"}],
        }
    ]
}
_EXAMPLE: Mapping[str, object] = {
    "digest": "5f0c3a0d6f0d0b0f5d8f3a0e9a3b1c2d4e5f60718293a4b5c6d7e8f901234567",
    "counts": {"create": 1, "change": 0, "remove": 0},
    "changes": [
        {
            "verb": "create",
            "noun": "assignment",
            "tenantId": "e57a7e00-0000-4000-8000-000000000001",
            "id": "94000000-0000-4000-8000-000000000001",
            "name": "All staff",
            "before": None,
            "after": {"templateId": "7e000000-0000-4000-8000-000000000021"},
            "removes": False,
        }
    ],
}
ABOUT_PLAN = About(
    id="planConfiguration",
    tag=_TAG,
    summary="Plan a configuration",
    description=f"Writes nothing. {_DOCUMENT}",
    example=_EXAMPLE_DOCUMENT,
)
ABOUT_APPLY = About(
    id="applyConfiguration",
    tag=_TAG,
    summary="Apply a configuration",
    description="Makes all changes of the plan, or none. If the plan has another digest by now, the answer is 409 "
    f"`previewChanged`. {_DOCUMENT}",
    example=_EXAMPLE_DOCUMENT,
)
DIGEST = Parameter(
    "digest",
    {"type": "string", "minLength": 64, "maxLength": 64},
    "The digest of the plan.",
    required=True,
)
PLANNED = (Success(200, "The changes that the document would make.", ConfigurationPlan, CACHE, _EXAMPLE),)
APPLIED = (
    Success(
        200,
        "The changes that were made.",
        ConfigurationPlan,
        {**CACHE, "Idempotency-Replayed": "`true` if an earlier call with this key applied it."},
        _EXAMPLE,
    ),
)
PLAN_CODES = ("notAdministrator", "notFound", "invalidBody", "notPossible")
APPLY_CODES = (
    *PLAN_CODES,
    "previewChanged",
    "stateDoesNotAllow",
    "idempotencyKeyReused",
    "idempotencyKeyInProgress",
)

# fmt: off
ENDPOINTS = EndpointTable(TenantConfigurationService, (
    Endpoint("POST", "/admin/v1/configuration/plan/", plan, Operation.ADMINISTER_SERVICE, ABOUT_PLAN, PLANNED,
             shape=JsonDocumentReader(), codes=PLAN_CODES, yaml_shape=YamlDocumentReader()),
    Endpoint("POST", "/admin/v1/configuration/apply/", apply, Operation.ADMINISTER_SERVICE, ABOUT_APPLY, APPLIED,
             shape=JsonDocumentReader(), parameters=(DIGEST,), codes=APPLY_CODES, yaml_shape=YamlDocumentReader()),
))
# fmt: on
