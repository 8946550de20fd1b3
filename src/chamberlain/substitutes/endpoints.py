# SPDX-License-Identifier: Apache-2.0
"""Name, read and withdraw the substitute of the caller."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import format_time
from chamberlain.core.fields import Shape
from chamberlain.core.ids import UserId
from chamberlain.core.validation import Reader
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.request import Call
from chamberlain.http.resource import CACHE, edit_of, removed
from chamberlain.http.responses import NO_STORE, Answer
from chamberlain.http.wire import Time
from chamberlain.substitutes.models import MOST_DAYS, Naming, OwnSubstitutions, Represented
from chamberlain.substitutes.service import SubstituteService


class SubstituteBody(Shape, frozen=True, kw_only=True):
    """A user to name as substitute for some days from now."""

    user_id: UUID
    days: Annotated[int, Meta(ge=1, le=MOST_DAYS)]


class SubstitutedUser(Struct, rename="camel", frozen=True):
    """The other user of a substitution, and its end.

    The name is empty if the directory does not answer.
    """

    user_id: UUID
    display_name: str
    until: Time


class Substitutions(Struct, rename="camel", frozen=True):
    """Your substitute, or null, and the approvers for whom you decide."""

    substitute: SubstitutedUser | None
    decides_for: tuple[SubstitutedUser, ...]


SUBSTITUTE = Reader(SubstituteBody)


async def read(substitutes: SubstituteService, call: Call[None]) -> Answer:
    """Read the substitute of the caller."""
    return _shown(await substitutes.read(call.caller))


async def name(substitutes: SubstituteService, call: Call[SubstituteBody]) -> Answer:
    """Name the substitute of the caller."""
    until = substitutes.now() + timedelta(days=call.body.days)
    naming = Naming(UserId(call.body.user_id), until)
    return _shown(await substitutes.name(call.caller, naming, edit_of(call)))


async def withdraw(substitutes: SubstituteService, call: Call[None]) -> Answer:
    """Withdraw the substitute of the caller."""
    await substitutes.withdraw(call.caller, edit_of(call))
    return removed()


def _shown(found: OwnSubstitutions) -> Answer:
    substitute = None if found.substitute is None else _user(found.substitute)
    body = Substitutions(substitute, tuple(map(_user, found.decides_for)))
    return Answer(200, json.encode(body), (NO_STORE,))


def _user(represented: Represented) -> SubstitutedUser:
    person = represented.person
    return SubstitutedUser(person.id, person.display_name, format_time(represented.until))


_TAG = "Requests"
ABOUT_READ = About(
    id="readSubstitute",
    tag=_TAG,
    summary="Read your substitute",
    description="Shows your substitute, and the approvers for whom you decide. Substitutions that have ended are not "
    "shown.",
)
ABOUT_NAME = About(
    id="nameSubstitute",
    tag=_TAG,
    summary="Name your substitute",
    description="The substitute decides on the requests that wait for you, and on new ones, for this number of days. "
    "You can decide as well; the first decision counts. A substitute decides neither on own requests nor on yours, and "
    "names no further substitute for you. If you are an approver as a member of a group, the other members decide, and "
    "your substitute does not. Naming another user replaces the substitute.",
    example={"userId": "be000000-0000-4000-8000-000000000002", "days": 14},
)
ABOUT_WITHDRAW = About(
    id="withdrawSubstitute",
    tag=_TAG,
    summary="Withdraw your substitute",
    description="From then on the substitute cannot decide for you. Without a substitute this does nothing.",
)
_EXAMPLE: Mapping[str, object] = {
    "substitute": {
        "userId": "be000000-0000-4000-8000-000000000002",
        "displayName": "Ben Okafor",
        "until": "2026-12-04T09:30:00.000Z",
    },
    "decidesFor": [],
}
READ = (Success(200, "Your substitutions.", Substitutions, CACHE, _EXAMPLE),)
NAMED = (Success(200, "Your substitutions as they are now.", Substitutions, CACHE, _EXAMPLE),)
WITHDRAWN = (Success(204, "You have no substitute."),)
CODES = ("notAdministrator", "databaseUnavailable", "overloaded")
NAME_CODES = ("notPossible", *CODES)

# fmt: off
ENDPOINTS = EndpointTable(SubstituteService, (
    Endpoint("GET", "/me/v1/substitute/", read, Operation.DECIDE_REQUEST, ABOUT_READ, READ, codes=CODES),
    Endpoint("PUT", "/me/v1/substitute/", name, Operation.DECIDE_REQUEST, ABOUT_NAME, NAMED, shape=SUBSTITUTE,
             codes=NAME_CODES),
    Endpoint("DELETE", "/me/v1/substitute/", withdraw, Operation.DECIDE_REQUEST, ABOUT_WITHDRAW, WITHDRAWN,
             codes=CODES),
))
# fmt: on
