# SPDX-License-Identifier: Apache-2.0
"""The list of requests. Administrators may see all of the tenant."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeVar
from urllib.parse import urlencode

from starlette.responses import Response

from chamberlain.console.days import read_day, start_of_day, zone_named
from chamberlain.console.shown import GROUP_KINDS, MAILBOX_KINDS
from chamberlain.console.visit import Visit
from chamberlain.console.words import N_
from chamberlain.core.paging import PageWanted
from chamberlain.http.cursors import Cursors
from chamberlain.requests.models import RequestFilter, RequestKind, RequestState
from chamberlain.requests.service import RequestService

PATH: Final = "/console/requests/"
PAGE_SIZE: Final = 25
# The bounds of `q` of the API.
_LONGEST_TEXT: Final = 256
# Longer texts are neither days nor names of time zones.
_LONGEST_DAY: Final = 32
_LONGEST_ZONE: Final = 64
NO_DAY: Final = N_("Enter a day, such as 2026-03-31.")
WRONG_ORDER: Final = N_("Choose a day that is not before the first one.")
_CONTROL: Final = re.compile(r"[\u0000-\u001f\u007f-\u009f]+")

Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of the list. Values that are no choice filter nothing.

    `first` and `last` are days as they were sent, of the time zone `zone`. `faults` are messages by parameter.
    """

    everyone: bool
    state: RequestState | None
    kind: RequestKind | None
    text: str
    first: str
    last: str
    zone: str
    since: datetime | None = None
    until: datetime | None = None
    faults: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_any(self) -> bool:
        """Return whether the list is filtered."""
        return bool(self.state or self.kind or self.text or self.has_days)

    @property
    def has_days(self) -> bool:
        """Return whether a day was sent."""
        return bool(self.first or self.last)

    @property
    def query(self) -> Mapping[str, str]:
        """Return the parameters of the address."""
        values = {"of": "all" if self.everyone else "", "state": self.state, "kind": self.kind, "q": self.text}
        if self.has_days:
            values |= {"from": self.first, "to": self.last, "zone": self.zone}
        return {name: str(value) for name, value in values.items() if value}


async def show_requests(visit: Visit) -> Response:
    """Show a page of the list, newest first."""
    filters = _read_filters(visit)
    cursors, place = Cursors(visit.console.sessions.keyring), _place(visit, filters)
    cursor = visit.request.query_params.get("cursor")
    wanted = PageWanted(PAGE_SIZE, None if cursor is None else cursors.open(cursor, place))
    chosen = RequestFilter(
        state=filters.state,
        kind=filters.kind,
        mine=not filters.everyone,
        prefix=filters.text or None,
        since=filters.since,
        until=filters.until,
    )
    page = await visit.service(RequestService).list(visit.caller, chosen, wanted)
    query = filters.query
    return visit.render(
        "requests.html",
        400 if filters.faults else 200,
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
    filters = Filters(
        everyone=query.get("of") == "all" and visit.is_administrator,
        state=_choice(RequestState, query.get("state")),
        kind=_choice(RequestKind, query.get("kind")),
        text=_text(query.get("q", ""), _LONGEST_TEXT),
        first=_text(query.get("from", ""), _LONGEST_DAY),
        last=_text(query.get("to", ""), _LONGEST_DAY),
        zone=_text(query.get("zone", ""), _LONGEST_ZONE),
    )
    return _with_days(filters)


def _with_days(filters: Filters) -> Filters:
    """Read the days. The last one counts up to its end."""
    zone = zone_named(filters.zone)
    first, last = read_day(filters.first), read_day(filters.last)
    faults = {"from": NO_DAY} if filters.first and first is None else {}
    if filters.last and last is None:
        faults["to"] = NO_DAY
    if first is not None and last is not None and last < first:
        faults["to"] = WRONG_ORDER
    if faults:
        return replace(filters, faults=faults)
    return replace(
        filters,
        since=None if first is None else start_of_day(first, zone),
        until=None if last is None else start_of_day(last + timedelta(days=1), zone),
    )


def _text(value: str, longest: int) -> str:
    return _CONTROL.sub(" ", value).strip()[:longest]


def _choice(choices: type[Choice], value: str | None) -> Choice | None:
    return next((each for each in choices if each == value), None)


def _place(visit: Visit, filters: Filters) -> str:
    """Return the list with its filters, for which a cursor is encrypted."""
    return f"{visit.caller.tenant_id} {visit.caller.id} {_address(filters.query)}"


def _address(query: Mapping[str, str]) -> str:
    return f"{PATH}?{urlencode(query)}" if query else PATH
