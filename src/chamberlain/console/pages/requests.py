# SPDX-License-Identifier: Apache-2.0
"""The list of requests. Administrators may see all of the tenant."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar
from urllib.parse import urlencode

from starlette.responses import Response

from chamberlain.console.shown import GROUP_KINDS, MAILBOX_KINDS
from chamberlain.console.visit import Visit
from chamberlain.core.paging import PageWanted
from chamberlain.http.cursors import Cursors
from chamberlain.requests.models import RequestFilter, RequestKind, RequestState
from chamberlain.requests.service import RequestService

PATH: Final = "/console/requests/"
PAGE_SIZE: Final = 25
# The bounds of `q` of the API.
_LONGEST_TEXT: Final = 256
_CONTROL: Final = re.compile(r"[\u0000-\u001f\u007f-\u009f]+")

Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of the list. Values that are no choice filter nothing."""

    everyone: bool
    state: RequestState | None
    kind: RequestKind | None
    text: str

    @property
    def is_any(self) -> bool:
        """Return whether the list is filtered."""
        return bool(self.state or self.kind or self.text)

    @property
    def query(self) -> Mapping[str, str]:
        """Return the parameters of the address."""
        values = {"of": "all" if self.everyone else "", "state": self.state, "kind": self.kind, "q": self.text}
        return {name: str(value) for name, value in values.items() if value}


async def show_requests(visit: Visit) -> Response:
    """Show a page of the list, newest first."""
    filters = _read_filters(visit)
    cursors, place = Cursors(visit.console.sessions.keyring), _place(visit, filters)
    cursor = visit.request.query_params.get("cursor")
    wanted = PageWanted(PAGE_SIZE, None if cursor is None else cursors.open(cursor, place))
    chosen = RequestFilter(
        state=filters.state, kind=filters.kind, mine=not filters.everyone, prefix=filters.text or None
    )
    page = await visit.service(RequestService).list(visit.caller, chosen, wanted)
    query = filters.query
    return visit.render(
        "requests.html",
        views=page.items,
        filters=filters,
        states=tuple(RequestState),
        kinds=[each for each in RequestKind if visit.is_administrator or each in MAILBOX_KINDS | GROUP_KINDS],
        may_see_all=visit.is_administrator,
        first=None if cursor is None else _address(query),
        next=None if page.next is None else _address({**query, "cursor": cursors.seal(page.next, place)}),
    )


def _read_filters(visit: Visit) -> Filters:
    query = visit.request.query_params
    return Filters(
        everyone=query.get("of") == "all" and visit.is_administrator,
        state=_choice(RequestState, query.get("state")),
        kind=_choice(RequestKind, query.get("kind")),
        text=_CONTROL.sub(" ", query.get("q", "")).strip()[:_LONGEST_TEXT],
    )


def _choice(choices: type[Choice], value: str | None) -> Choice | None:
    return next((each for each in choices if each == value), None)


def _place(visit: Visit, filters: Filters) -> str:
    """Return the list with its filters, for which a cursor is encrypted."""
    return f"{visit.caller.tenant_id} {visit.caller.id} {_address(filters.query)}"


def _address(query: Mapping[str, str]) -> str:
    return f"{PATH}?{urlencode(query)}" if query else PATH
