# SPDX-License-Identifier: Apache-2.0
"""Endpoint that reads the caller."""

from msgspec import json

from chamberlain.auth.permissions import Operation
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.request import Call
from chamberlain.http.resource import CACHE
from chamberlain.http.responses import NO_STORE, Answer
from chamberlain.me.service import MeService
from chamberlain.me.wire import Me, to_me


async def read(me: MeService, call: Call[None]) -> Answer:
    """Read the caller."""
    return Answer(200, json.encode(to_me(await me.read(call.caller))), (NO_STORE,))


ABOUT = About(
    id="readMe",
    tag="Me",
    summary="Read the caller of the token",
    description="The name, tenant and language of the user or the application, and the number of requests that wait "
    "for your decision. It ends at 100.",
)
READ = (
    Success(
        200,
        "The caller.",
        Me,
        headers=CACHE,
        example={
            "kind": "user",
            "id": "da7a0000-0000-4000-8000-000000000004",
            "displayName": "Dara Lindqvist",
            "mail": "dara@estate.example",
            "tenantId": "e57a7e00-0000-4000-8000-000000000001",
            "tenantName": "Example Estate",
            "administrator": False,
            "language": None,
            "toDecide": 2,
        },
    ),
)
CODES = ("databaseUnavailable", "overloaded")

# fmt: off
ENDPOINTS = EndpointTable(MeService, (
    Endpoint("GET", "/me/v1/", read, Operation.READ_ME, ABOUT, READ, codes=CODES),
))
# fmt: on
