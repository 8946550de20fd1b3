# SPDX-License-Identifier: Apache-2.0
"""Calls lookups of Graph for a tenant whose directory is elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import uuid4

import asyncpg

from chamberlain.app.directory import found_together
from chamberlain.app.lookups import PortReader
from chamberlain.directory.port import Lookups
from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.graph.remote import LookupServer, Reader
from chamberlain.embedded.directory.graph.server import Access, Request
from tests.directory.sample_directory import TENANT

ROOT = "http://127.0.0.1/graph"


@dataclass(frozen=True, slots=True)
class LookupCalls:
    """Calls the Graph surface for a tenant."""

    server: LookupServer

    async def get(self, path: str, **options: str) -> Mapping[str, Any]:
        """Return the JSON of an answer. Options are those of the query, without the dollar sign."""
        query = urlencode({f"${name}": value for name, value in options.items()})
        headers = {b"consistencylevel": b"eventual"} if "count" in options else {}
        access = Access(TENANT, frozenset({"Directory.Read.All"}))
        answer = await self.server.answer(access, Request("GET", f"/v1.0{path}", query.encode(), headers))
        return cast("Mapping[str, Any]", answer)

    async def ids(self, path: str, **options: str) -> list[str]:
        """Return the ids of a list, of all its pages."""
        answer = await self.get(path, **options)
        ids = [each["id"] for each in answer["value"]]
        while (link := answer.get("@odata.nextLink")) is not None:
            assert link.startswith(f"{ROOT}/v1.0{path}?")
            named = {name.removeprefix("$"): value for name, value in parse_qsl(urlsplit(link).query)}
            answer = await self.get(path, **named)
            ids += [each["id"] for each in answer["value"]]
        return ids

    async def group_of(
        self, request_id: object, *, extension: str = "chamberlain_group"
    ) -> Sequence[Mapping[str, Any]]:
        """Return the groups with the mark of a request."""
        answer = await self.get("/groups", filter=f"{extension}/requestId eq '{request_id}'")
        return cast("Sequence[Mapping[str, Any]]", answer["value"])


def table_lookups(pool: Pool) -> LookupCalls:
    """Look up in the tables of the embedded directory."""
    return LookupCalls(_server(pool, None))


def port_lookups(lookups: Lookups) -> LookupCalls:
    """Look up through the port of another directory. The pool opens no connection, so that no table is read."""
    pool = asyncpg.create_pool("postgresql://127.0.0.1:1/none", min_size=0)
    return LookupCalls(_server(pool, PortReader(lookups, TENANT)))


def _server(pool: Pool, reader: Reader | None) -> LookupServer:
    async def refused(code: str) -> None:
        raise AssertionError(code)

    async def authenticate(authorization: str | None) -> Access:
        raise AssertionError(authorization)

    return LookupServer(
        pool,
        refused=refused,
        reader=reader,
        find_groups=found_together(pool),
        graph_url=ROOT,
        authenticate=authenticate,
        now=lambda: datetime(2026, 11, 20, 9, 30, tzinfo=UTC),
        new_request_id=uuid4,
    )
