# SPDX-License-Identifier: Apache-2.0
"""Graph v1.0 of the fake: what every request passes before and after its operation."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, TypeAlias

from tests.microsoft365.fake.answers import Answer, Call, ConnectionLost, GraphError, bad_request, denied
from tests.microsoft365.fake.extensions import extension_names
from tests.microsoft365.fake.faults import CONNECTION_FAULTS, Fault
from tests.microsoft365.fake.limits import Counted, Limits, Verdict
from tests.microsoft365.fake.pages import selected
from tests.microsoft365.fake.routes import ROUTES, find_route, has_path
from tests.microsoft365.fake.tenant import USERS, Tenant
from tests.microsoft365.fake.tokens import unauthenticated
from tests.microsoft365.permissions import LABELS_ONLY, sufficient
from tests.microsoft365.recorder import Exchange, Operation, description

Json: TypeAlias = Any

# A property of a schema extension in a filter.
_EXTENSION: Final = re.compile(r"\b(\w+_\w+)/\w+")
# The operation is done, and its answer does not arrive.
_AFTERWARDS: Final = frozenset({Fault.GATEWAY_TIMEOUT, Fault.LOST_ANSWER})
_LIST_OPTIONS: Final = frozenset({"$filter", "$orderby", "$search", "$top", "$skiptoken", "$skip", "$count"})


@dataclass
class Graph:
    """Answers calls of all tenants."""

    limits: Limits

    def answer(self, tenant: Tenant, call: Call) -> Answer:
        """Answer a call, or a part of a batch. Raises ConnectionLost."""
        more: dict[str, str] = {}
        ids = _ids(tenant, call)
        try:
            found = find_route(call.method, call.path)
            if found is None:
                raise _unknown(call)
            operation, parts = found
            more = self._count(tenant, call, operation)
            fault = self._fault(tenant, call)
            described = description(is_strict=True).find(call.method, call.path)
            assert described is not None, operation
            _check_permissions(call, operation)
            _check_request(tenant, call, described)
            answer = ROUTES[operation](tenant, call, parts)
        except GraphError as error:
            answer, fault = _error(tenant, ids, error), None
        if fault is Fault.LOST_ANSWER:
            raise ConnectionLost
        if fault is Fault.GATEWAY_TIMEOUT:
            answer = _error(tenant, ids, GraphError(504, "UnknownError", ""))
        return answer.with_headers({**more, **ids})

    def _count(self, tenant: Tenant, call: Call, operation: str) -> dict[str, str]:
        """Count a call against the limits. Returns the headers of throttling-limits.md, "Additional headers"."""
        body = call.body if isinstance(call.body, dict) else {}
        counted = Counted(
            operation,
            call.path,
            call.query,
            call.principal.app,
            tenant.id,
            sum(1 for _ in tenant.latest().items(USERS)) if tenant.size is None else tenant.size,
            has_extension=any("_" in name and "@" not in name for name in body),
        )
        verdict = self.limits.take(counted)
        if verdict.refused_by is not None:
            raise _throttled(tenant, call, verdict)
        headers = {} if verdict.units is None else {"x-ms-resource-unit": str(verdict.units)}
        if verdict.share > 0.8:
            headers["x-ms-throttle-limit-percentage"] = f"{verdict.share:.2f}"
        return headers

    @staticmethod
    def _fault(tenant: Tenant, call: Call) -> Fault | None:
        """Draw a fault. Raises those that happen before the operation."""
        possible = frozenset(_BEFORE) | _AFTERWARDS
        fault = tenant.faults.draw(
            call.method, call.path, among=possible - CONNECTION_FAULTS if call.is_part else possible
        )
        if fault is None or fault in _AFTERWARDS:
            return fault
        status, code, message, delay = _BEFORE[fault]
        if fault is Fault.TOKEN_REVOKED:
            raise unauthenticated(message)
        headers = {"Retry-After": _delay(tenant, call, timedelta(seconds=delay))} if delay else {}
        raise GraphError(status, code, message, headers=headers)


# Status, code, message and seconds of Retry-After. 429: microsoft-graph-docs-contrib issue 1975.
_BEFORE: Final[Mapping[Fault, tuple[int, str, str, int]]] = {
    Fault.THROTTLED: (429, "TooManyRequests", "Too many requests.", 7),
    Fault.THROTTLED_WITHOUT_DELAY: (429, "TooManyRequests", "Too many requests.", 0),
    Fault.UNAVAILABLE: (503, "ServiceUnavailable", "Service is temporarily unavailable.", 12),
    Fault.UNAVAILABLE_WITHOUT_DELAY: (503, "serviceNotAvailable", "The service is not available.", 0),
    Fault.TOKEN_REVOKED: (401, "InvalidAuthenticationToken", "Continuous access evaluation resulted in challenge.", 0),
}


def _throttled(tenant: Tenant, call: Call, verdict: Verdict) -> GraphError:
    """Return 429 with the headers of throttling-limits.md, "Throttled responses requests"."""
    assert verdict.refused_by is not None
    is_write = verdict.refused_by.key[0].startswith("writes")
    scope = f"Tenant_Application/{'Write' if is_write else 'ReadWrite'}/{call.principal.app}/{tenant.id}"
    return GraphError(
        429,
        "TooManyRequests",
        "Too many requests.",
        headers={
            "Retry-After": _delay(tenant, call, verdict.wait),
            "x-ms-throttle-scope": scope,
            "x-ms-throttle-information": "WriteLimitExceeded" if is_write else "ResourceUnitLimitExceeded",
        },
    )


def _delay(tenant: Tenant, call: Call, wait: timedelta) -> str:
    """Return seconds. In a batch they are decimals in some tenants (microsoft-graph-docs issue 3877)."""
    if call.is_part and tenant.has_decimal_delays:
        return f"{wait.total_seconds():.3f}"
    return str(max(1, math.ceil(wait.total_seconds())))


def _unknown(call: Call) -> GraphError:
    if has_path(call.path):
        # json-batching.md, part 4 of the example.
        return GraphError(405, "Request_BadRequest", "Specified HTTP method is not allowed for the request target.")
    if description(is_strict=True).find(call.method, call.path) is not None:
        raise NotImplementedError(f"The fake has no {call.method} {call.path} yet.")
    segment = call.path.rpartition("/")[2]
    return bad_request(f"Resource not found for the segment '{segment}'.", "BadRequest")


def _check_permissions(call: Call, operation: str) -> None:
    """Check the permissions of the token. Raises GraphError 403."""
    allowed = sufficient(operation, is_delegated=call.principal.is_delegated)
    if isinstance(call.body, dict) and {*call.body} == {"assignedLabels"}:
        allowed |= {LABELS_ONLY}
    if not call.principal.permissions & allowed:
        raise denied()


def _check_request(tenant: Tenant, call: Call, described: Operation) -> None:
    """Hold the request against the description. Raises GraphError 400."""
    if call.body is None and "requestBody" in described.described and call.method != "POST":
        raise bad_request("Empty Payload. JSON content expected.", "BadRequest")
    if call.body is not None and "application/json" not in call.headers.get("content-type", ""):
        raise bad_request("A JSON body needs the header Content-Type: application/json.", "BadRequest")
    if call.body is not None and not isinstance(call.body, dict):
        raise bad_request("Unable to read JSON request payload.", "BadRequest")
    exchange = Exchange(call.method, call.path, call.query, call.body, 204, None)
    problems = description(is_strict=True).problems(exchange)
    if problems:
        raise bad_request(problems[0], "BadRequest")
    _check_options(tenant, call, described)


def _check_options(tenant: Tenant, call: Call, described: Operation) -> None:
    if "content" not in described.described["responses"]["2XX"]:
        return
    known, is_list = description(is_strict=True).properties(described)
    for name in [*selected(call), *_EXTENSION.findall(call.query.get("$filter", ""))]:
        if name not in known and name not in extension_names(tenant):
            raise bad_request(f"Could not find a property named '{name}'.", "BadRequest")
    if not is_list and _LIST_OPTIONS & {*call.query}:
        raise bad_request(f"Query option '{min(_LIST_OPTIONS & {*call.query})}' is not allowed here.", "BadRequest")


def _error(tenant: Tenant, ids: Mapping[str, str], error: GraphError) -> Answer:
    """Return an error in Graph's form (errors.md), with the ids of the request."""
    inner = {"date": tenant.now().strftime("%Y-%m-%dT%H:%M:%S"), **ids}
    details = {"details": list(error.details)} if error.details else {}
    body = {"error": {"code": error.code, "message": error.message, **details, "innerError": inner}}
    return Answer(error.status, body, dict(error.headers))


def _ids(tenant: Tenant, call: Call) -> dict[str, str]:
    request_id = tenant.new_id()
    return {"request-id": request_id, "client-request-id": call.headers.get("client-request-id", request_id)}


def refused_early(tenant: Tenant | None, error: GraphError) -> Answer:
    """Return the error of a request without a valid token or body."""
    date = tenant.now().strftime("%Y-%m-%dT%H:%M:%S") if tenant is not None else "2026-11-27T08:00:00"
    inner = {"date": date}
    return Answer(
        error.status, {"error": {"code": error.code, "message": error.message, "innerError": inner}}, error.headers
    )


def as_part(call: Call, **changes: Any) -> Call:  # noqa: ANN401  Fields of a call.
    """Return a part of a batch, with the caller of the batch."""
    return replace(call, is_part=True, **changes)
