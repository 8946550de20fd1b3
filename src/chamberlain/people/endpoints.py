# SPDX-License-Identifier: Apache-2.0
"""Endpoint that finds people of the directory."""

from msgspec import Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.directory.models import LEAST_LETTERS
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.request import Call, Parameter
from chamberlain.http.resource import CACHE, listed
from chamberlain.http.responses import Answer
from chamberlain.people.rules import LONGEST_TEXT, MOST_FOUND, MOST_SEARCHES
from chamberlain.people.service import PeopleService
from chamberlain.people.wire import FoundPerson, encode_person


class FoundPeople(Struct, rename="camel", frozen=True):
    """The first people by name.

    There is one page only: `nextCursor` is null.
    """

    items: tuple[FoundPerson, ...]
    next_cursor: str | None


async def find(people: PeopleService, call: Call[None]) -> Answer:
    """Find people by typed text."""
    found = await people.find(call.caller, call.query.get("q", ""))
    return listed(json.encode(FoundPeople(tuple(map(encode_person, found)), None)))


ABOUT = About(
    id="findPeople",
    tag="People",
    summary="Find people while their name is typed",
    description=f"Returns at most {MOST_FOUND} users of the tenant, by name. Each word of `q` is the beginning of a "
    "word of the display name, or of the mail address or the user name. Mailboxes and users who cannot sign in are not "
    f"found. A user may search {MOST_SEARCHES} times a minute.",
)
PARAMETERS = (
    Parameter(
        "q",
        {"type": "string", "minLength": LEAST_LETTERS, "maxLength": LONGEST_TEXT},
        f"The typed text. A word of it has at least {LEAST_LETTERS} letters.",
        required=True,
    ),
)
FOUND = (
    Success(
        200,
        "The people.",
        FoundPeople,
        headers=CACHE,
        example={
            "items": [
                {
                    "id": "be000000-0000-4000-8000-000000000002",
                    "displayName": "Ben Okafor",
                    "mail": "ben@estate.example",
                    "department": "Sales",
                    "isGuest": False,
                }
            ],
            "nextCursor": None,
        },
    ),
)
CODES = ("invalidParameter", "notAdministrator", "rateExceeded", "databaseUnavailable", "overloaded")

# fmt: off
ENDPOINTS = EndpointTable(PeopleService, (
    Endpoint("GET", "/directory/v1/people/", find, Operation.FIND_PEOPLE, ABOUT, FOUND, parameters=PARAMETERS,
             codes=CODES),
))
# fmt: on
