# SPDX-License-Identifier: Apache-2.0
"""The lookups of Graph for a tenant whose directory is elsewhere.

Clients find the result of a request by them, and the users whom a request names. Everything else is at the address of
that directory.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, Protocol
from urllib.parse import unquote

from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import Broken, Unreachable
from chamberlain.embedded.directory.graph import groups, relations, users
from chamberlain.embedded.directory.graph.calls import Answer, Call, MethodNotAllowed, NotThere, Row
from chamberlain.embedded.directory.graph.paging import Listing, Page, Query
from chamberlain.embedded.directory.graph.routes import Handler, Route, find_route
from chamberlain.embedded.directory.graph.server import Access, GraphServer, Request
from chamberlain.embedded.directory.remote import refusals

_GROUPS: Final = "/v1.0/groups"
_GROUP: Final = "/v1.0/groups/{id}"
_OWNERS: Final = "/v1.0/groups/{id}/owners"
_MEMBERS: Final = "/v1.0/groups/{id}/members"
_USERS: Final = "/v1.0/users"
_USER: Final = "/v1.0/users/{id}"
_LOOKUP: Final = re.compile(r"[$]filter=[A-Za-z0-9]+_group/requestId[ +]eq[ +]")
# The command line finds a user by mail address, user name or display name.
_FIND_USER: Final = re.compile(
    r"[$]filter=(?:(?:mail|userPrincipalName|displayName)[ +]eq[ +]|startswith\(displayName,)"
)


class Reader(Protocol):
    """Reads the groups and users of a directory that has no tables.

    Rows have the columns of the tables, but for licences and own properties. Raises NotThere, BadQuery and Unreachable.
    """

    async def groups(self, call: Call, query: Query) -> Page:
        """Read a page of groups."""
        ...

    async def group(self, call: Call) -> Row:
        """Read the group in the path."""
        ...

    async def related(self, call: Call, relation: relations.Relation, query: Query) -> Page:
        """Read a page of the owners or members of the group."""
        ...

    async def users(self, call: Call, listing: Listing, query: Query) -> Page:
        """Read a page of users."""
        ...

    async def user(self, call: Call) -> Row:
        """Read the user in the path."""
        ...


class LookupServer(GraphServer):
    """Serves the lookups of users, and of groups with owners and members.

    They are read from the database of `pool`, or with a `reader`. `refused` is called with the code of a refused
    connection. Unless `is_usable`, every lookup is refused for now.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        refused: Callable[[str], Awaitable[None]],
        is_usable: bool = True,
        reader: Reader | None = None,
        **options: Any,  # noqa: ANN401 - those of the server.
    ) -> None:
        super().__init__(pool, **options)
        self._refused = refused
        self._is_usable = is_usable
        self._handlers = {} if reader is None else _handlers(reader)

    async def answer(self, access: Access, request: Request) -> Answer:
        """Answer a call. Raises the faults of the server."""
        if not _is_served(request):
            raise NotThere(
                "Request_ResourceNotFound",
                "The directory of this tenant is elsewhere. This server has the lookup of groups by requestId, groups "
                "by id with their owners and members, and users by id, mail address or name only. Ask the directory of "
                "the tenant for the rest.",
            )
        if not self._is_usable:
            raise Unreachable("The connection to the directory is broken.")
        try:
            with refusals():
                return await super().answer(access, request)
        except Broken as error:
            await self._refused(error.code)
            raise Unreachable("The connection to the directory is broken.") from error

    def _handler(self, route: Route) -> Handler:
        return self._handlers.get(route.path_format, route.handler)


def _handlers(reader: Reader) -> Mapping[str, Handler]:
    """Return the handlers of all lookups, by path."""
    handlers: Mapping[str, Handler] = {
        _GROUPS: partial(groups.list_groups, read=reader.groups),
        _GROUP: partial(groups.get_group, read=reader.group),
        _OWNERS: partial(relations.list_related, relation=relations.OWNERS, read=reader.related),
        _MEMBERS: partial(relations.list_related, relation=relations.MEMBERS, read=reader.related),
        _USERS: partial(users.list_users, read=reader.users),
        _USER: partial(users.get_user, read=reader.user),
    }
    return {path: partial(_without_details, handler) for path, handler in handlers.items()}


async def _without_details(handler: Handler, call: Call) -> Answer:
    return await handler(replace(call, has_details=False))


def _is_served(request: Request) -> bool:
    try:
        route, _ = find_route(request.method, request.path, is_writable=False)
    except (NotThere, MethodNotAllowed):
        return False
    query = unquote(request.query_string.decode("latin-1"))
    if route.path_format == _GROUPS:
        return _LOOKUP.search(query) is not None
    if route.path_format == _USERS:
        return _FIND_USER.search(query) is not None
    return route.path_format in {_GROUP, _OWNERS, _MEMBERS, _USER}
