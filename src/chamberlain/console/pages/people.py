# SPDX-License-Identifier: Apache-2.0
"""People for the picker of forms, as JSON."""

from starlette.responses import JSONResponse, Response

from chamberlain.console.refusals import refusal_text
from chamberlain.console.rendering import HEADERS
from chamberlain.console.visit import Visit
from chamberlain.core.errors import Malformed, Refusal
from chamberlain.directory.models import Person
from chamberlain.http.problems import kind_of, retry_after
from chamberlain.people.rules import LONGEST_TEXT
from chamberlain.people.service import PeopleService


async def find_people(visit: Visit) -> Response:
    """Find people by typed text.

    A text that is too short finds none.
    """
    text = visit.request.query_params.get("q", "").strip()[:LONGEST_TEXT]
    try:
        found = await visit.service(PeopleService).find(visit.caller, text)
    except Malformed:
        found = ()
    except Refusal as refusal:
        content = {"people": [], "message": refusal_text(visit.language, refusal)}
        seconds = retry_after(refusal)
        headers = HEADERS if seconds is None else {**HEADERS, "Retry-After": str(seconds)}
        return JSONResponse(content, kind_of(type(refusal)).status, headers=headers)
    return JSONResponse({"people": [_entry(each) for each in found], "message": ""}, headers=HEADERS)


def _entry(person: Person) -> dict[str, str]:
    details = filter(None, (person.properties.get("department"), person.mail))
    return {
        "id": str(person.id),
        "name": person.display_name,
        "mail": person.mail or "",
        "detail": " · ".join(details),
    }
