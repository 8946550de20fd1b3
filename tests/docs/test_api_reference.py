# SPDX-License-Identifier: Apache-2.0
"""The page of the API and the tables of endpoints say the same."""

import re
from datetime import UTC, datetime
from uuid import UUID

import pytest
from msgspec import inspect

from chamberlain.app.routes import ENDPOINTS
from chamberlain.auth.models import ActorType, Caller
from chamberlain.auth.permissions import Operation, ScopePrefixes, is_for_any_token, require
from chamberlain.core.errors import Forbidden
from chamberlain.core.ids import ClientId, TenantId
from chamberlain.http import endpoints as http_endpoints
from chamberlain.http.openapi import describe
from tests.docs.pages import REFERENCE, named, rows, section
from tests.http.http_fixture import HttpFixture

PAGE = REFERENCE / "api.md"
PREFIX = "https://api.example.org"


def test_it_works_for_every_endpoint_and_no_other() -> None:
    described = describe(ENDPOINTS, HttpFixture().http())
    table = [*ENDPOINTS, *http_endpoints.endpoints(lambda: described).endpoints]
    served = {f"{each.method} {together(each.path)}" for each in table}

    documented = named(section(PAGE, "## Endpoints"))
    assert (set(documented), len(documented)) == (served, len(served))


def together(path: str) -> str:
    """Write paths that differ in their last part only as one."""
    for part, name in (("problems", "code"), ("docs", "page"), ("assets", "file")):
        path = re.sub(f"^/{part}/.*", f"/{part}/{{{name}}}", path)
    return path


def test_it_names_the_permissions_that_each_asks_for() -> None:
    documented = {row[0].strip("`"): row[1] for row in rows(section(PAGE, "## Endpoints"))}

    for endpoint in ENDPOINTS:
        says = documented[f"{endpoint.method} {endpoint.path}"]
        if endpoint.operation is None:
            assert says == "none"
            continue
        if is_for_any_token(endpoint.operation):
            assert says == "any token of a user or an application"
            continue
        refusals = [refusal_of(kind, endpoint.operation) for kind in (ActorType.USER, ActorType.APPLICATION)]
        wanted = {name.removeprefix(f"{PREFIX}/") for refusal in refusals for name in refusal.sufficient}
        assert set(re.findall("`([^`]+)`", says)) == wanted
        is_for_users = "applicationNotSupported" in {refusal.code for refusal in refusals}
        assert is_for_users == ("applications: not supported" in says)


def test_it_names_the_statuses_of_success() -> None:
    documented = {row[0].strip("`"): row[2] for row in rows(section(PAGE, "## Endpoints"))}

    for endpoint in ENDPOINTS:
        expected = ", ".join(str(answer.status) for answer in endpoint.answers)
        assert documented[f"{endpoint.method} {endpoint.path}"] == expected


def test_it_names_every_property_of_a_group() -> None:
    (shape,) = [endpoint.shape for endpoint in ENDPOINTS if endpoint.path == "/collab/v1/groups/"]
    assert shape is not None
    form = inspect.type_info(shape.type)
    assert isinstance(form, inspect.StructType)

    assert named(section(PAGE, "### POST /collab/v1/groups/")) == [field.encode_name for field in form.fields]


def refusal_of(kind: ActorType, operation: Operation) -> Forbidden:
    """The error for a caller without any permission, which names the sufficient ones."""
    id_ = UUID("ada00000-0000-4000-8000-000000000001")
    expires_at = datetime(2026, 11, 20, tzinfo=UTC)
    stranger = Caller(TenantId(id_), kind, id_, ClientId("tests"), frozenset(), expires_at)
    with pytest.raises(Forbidden) as refused:
        require(stranger, operation, ScopePrefixes(PREFIX, PREFIX))
    return refused.value
