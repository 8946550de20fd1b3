# SPDX-License-Identifier: Apache-2.0
"""The lookups of Graph for the directory in another database.

Clients find the result of a request by them, and the users whom a request names. Everything else is at the address of
that directory.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import unquote

from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import Broken, Unreachable
from chamberlain.embedded.directory.graph.calls import Answer, NotThere
from chamberlain.embedded.directory.graph.server import Access, GraphServer, Request
from chamberlain.embedded.directory.remote import refusals

_ID: Final = r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"
_GROUP: Final = re.compile(rf"/v1\.0/groups/{_ID}(?:/(?:owners|members))?")
_LOOKUP: Final = re.compile(r"[$]filter=[A-Za-z0-9]+_group/requestId[ +]eq[ +]")
_USER: Final = re.compile(rf"/v1\.0/users/{_ID}")
# The command line finds a user by mail address, user name or display name.
_FIND_USER: Final = re.compile(
    r"[$]filter=(?:(?:mail|userPrincipalName|displayName)[ +]eq[ +]|startswith\(displayName,)"
)


class LookupServer(GraphServer):
    """Serves the lookups of users, and of groups with owners and members.

    `refused` is called with the code of a refused connection. Unless `is_usable`, every lookup is refused for now.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        refused: Callable[[str], Awaitable[None]],
        is_usable: bool = True,
        **options: Any,  # noqa: ANN401 - those of the server.
    ) -> None:
        super().__init__(pool, **options)
        self._refused = refused
        self._is_usable = is_usable

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


def _is_served(request: Request) -> bool:
    if request.method not in {"GET", "HEAD"}:
        return False
    query = unquote(request.query_string.decode("latin-1"))
    match request.path:
        case "/v1.0/groups":
            return _LOOKUP.search(query) is not None
        case "/v1.0/users":
            return _FIND_USER.search(query) is not None
        case path:
            return (_GROUP.fullmatch(path) or _USER.fullmatch(path)) is not None
