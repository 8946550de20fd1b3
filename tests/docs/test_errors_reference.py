"""The page of errors and the code say the same, both ways."""

import re

from chamberlain.app.routes import ENDPOINTS
from chamberlain.http.openapi import codes_of
from chamberlain.http.problems import STATUSES
from tests.docs.codes import codes_of_faults, first_arguments
from tests.docs.pages import REFERENCE, ROOT, named, section, statuses

PAGE = REFERENCE / "errors.md"
SOURCE = ROOT / "src" / "chamberlain"
OF_FORM = "## In `errors`, of form (400)"
NOT_POSSIBLE = "## In `errors`, of what is not possible (422)"
NOT_YET = "## Not given yet"
OF_A_REQUEST = "## In the `error` of a request that failed"

# Faults of configuration files are shown without codes. Embedded products have errors of their own.
WITHOUT_CODES = ("configuration", "embedded")
# Where codes are listed, not given: the table of statuses, what the OpenAPI document promises, the family's drawing.
LISTS = ("http/problems.py", "http/openapi.py", "groups/endpoints.py", "requests/endpoints.py")


def test_it_works_for_every_code_on_top_of_a_document() -> None:
    given = statuses(section(PAGE, "## On top of a document"))
    reserved = statuses(section(PAGE, NOT_YET))

    assert not given.keys() & reserved.keys()
    assert {**given, **reserved} == dict(STATUSES)


def test_it_names_every_code_of_a_fault_and_no_other() -> None:
    of_form, not_possible = (set(named(section(PAGE, title))) for title in (OF_FORM, NOT_POSSIBLE))
    packages = [path for path in SOURCE.iterdir() if path.is_dir() and path.name not in WITHOUT_CODES]
    validation = "".join(path.read_text(encoding="utf-8") for path in (SOURCE / "core").glob("*.py"))
    found = codes_of_faults(*packages) | set(re.findall(r'"code": "(\w+)"', validation))

    assert not of_form & not_possible
    assert of_form | not_possible == found


def test_it_names_every_code_of_a_failed_request_and_no_other() -> None:
    directory = "".join(text_of(f"embedded/directory/{noun}.py") for noun in ("groups", "guests", "mailboxes"))
    refused = set(re.findall(r'^ +"(\w+)": "(?:The|There|This) ', directory, re.MULTILINE))
    refused |= first_arguments(SOURCE / "embedded" / "directory", {"Refused"})
    # `BadRule` is a kind of Refused that hands its one code on.
    refused |= set(re.findall(r'super\(\).__init__\("(\w+)"', text_of("embedded/directory/errors.py")))
    # No request asks for the action of a policy: the sentence is in the finding.
    refused.remove("notAGuest")
    given_up = first_arguments(SOURCE / "requests", {"GiveUp"})
    # The directory may not answer a submission; then its refusal is found later.
    late = {"notPossible", "teamLicenseRequired", "templateNotAllowed"}

    assert set(named(section(PAGE, OF_A_REQUEST))) == refused | given_up | late


def test_what_is_not_given_yet_is_raised_by_nobody_or_promised_by_no_endpoint() -> None:
    reserved = statuses(section(PAGE, NOT_YET))
    promised = {code for endpoint in ENDPOINTS for code in codes_of(endpoint)}
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).as_posix() not in LISTS
    )

    assert [code for code in reserved if code in promised and f'"{code}"' in source] == []


def text_of(name: str) -> str:
    return (SOURCE / name).read_text(encoding="utf-8")
