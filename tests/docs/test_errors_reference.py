# SPDX-License-Identifier: Apache-2.0
"""The page of errors and the code say the same, both ways."""

import re
import string
from http import HTTPStatus

import pytest

from chamberlain.core.reasons import SENTENCES
from chamberlain.http.problems import STATUSES
from tests.docs.codes import codes_of_faults, first_arguments, phrased
from tests.docs.pages import REFERENCE, ROOT, named, rows, section, statuses

pytestmark = pytest.mark.heavy

PAGE = REFERENCE / "errors.md"
SOURCE = ROOT / "src" / "chamberlain"
OF_FORM = "## In `errors`, of form (400)"
NOT_POSSIBLE = "## In `errors`, of what is not possible (422)"
VALUES = "## Values of a sentence"
REASONS = "## Reasons of waits and warnings"
OF_A_REQUEST = "## In the `error` of a request that failed"

# Faults of configuration files are shown without codes. Embedded products have errors of their own.
WITHOUT_CODES = ("embedded",)
# Where codes are listed, not given: the table of statuses, what the OpenAPI document promises, the family's drawing.
LISTS = ("http/problems.py", "http/openapi.py", "groups/endpoints.py", "requests/endpoints.py")


def test_it_works_for_every_code_on_top_of_a_document() -> None:
    given = statuses(section(PAGE, "## On top of a document"))

    assert given == dict(STATUSES)


def test_it_names_every_code_of_a_fault_and_no_other() -> None:
    of_form, not_possible = (set(named(section(PAGE, title))) for title in (OF_FORM, NOT_POSSIBLE))
    packages = [path for path in SOURCE.iterdir() if path.is_dir() and path.name not in WITHOUT_CODES]
    validation = "".join(path.read_text(encoding="utf-8") for path in (SOURCE / "core").glob("*.py"))
    found = codes_of_faults(*packages) | set(re.findall(r'"code": "(\w+)"', validation))

    assert not of_form & not_possible
    # Conflicts have a fault with their own code.
    assert of_form | not_possible == found - {
        code for code, status in STATUSES.items() if status == HTTPStatus.CONFLICT
    }


def test_it_names_every_value_of_every_code() -> None:
    documented = {
        re.findall(r"`(\w+)`", row[0])[0]: set(re.findall(r"`(\w+)`", row[1])) for row in rows(section(PAGE, VALUES))
    }
    found: dict[str, set[str]] = {}
    for each in phrased(SOURCE):
        if each.file.partition("/")[0] not in WITHOUT_CODES:
            for code in each.codes:
                found.setdefault(code, set()).update(each.values)

    # The validation of types, and the sizes of bodies, take their code from elsewhere.
    found["invalidText"].add("property")
    found |= {code: {"max", "unit"} for code in ("bodyTooLarge", "headTooLarge")}
    assert documented == {code: values for code, values in found.items() if values}


def test_it_names_every_reason_with_its_values() -> None:
    documented = {
        re.findall(r"`(\w+)`", row[0])[0]: re.findall(r"`(\w+)`", row[1]) for row in rows(section(PAGE, REASONS))
    }

    placeholders = {
        code: [name for _, name, _, _ in string.Formatter().parse(text) if name] for code, text in SENTENCES.items()
    }

    assert documented == placeholders


def test_a_sentence_holds_its_values_and_no_other_words() -> None:
    calls = list(phrased(SOURCE))

    wrong = [each for each in calls if each.templates and each.values not in each.placeholders]
    interpolated = {each.file for each in calls if each.is_interpolated}

    assert len(calls) > 80
    assert wrong == []
    # The rules of fields, which are constants, end these sentences.
    assert interpolated == {"core/validation.py", "core/time.py"}


def test_no_sentence_of_a_fault_is_written_beside_its_values() -> None:
    direct = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(r"(?<![\w.])Fault\([^)S]", path.read_text(encoding="utf-8"))
    }

    # They copy a fault.
    assert direct == {"http/wire.py", "http/request.py", "tenants/models.py", "configuration/sent.py"}


def test_it_names_every_code_of_a_failed_request_and_no_other() -> None:
    directory = "".join(text_of(f"embedded/directory/{noun}.py") for noun in ("groups", "guests", "mailboxes"))
    refused = set(re.findall(r'^ +"(\w+)": "(?:The|There|This) ', directory, re.MULTILINE))
    refused |= first_arguments(SOURCE / "embedded" / "directory", {"Refused"})
    # No request asks for the action of a policy: the sentence is in the finding.
    refused.remove("notAGuest")
    given_up = first_arguments(SOURCE / "requests", {"GiveUp"})
    # The directory may not answer a submission; then its refusal is found later.
    late = {"notPossible", "teamLicenseRequired", "templateNotAllowed"}

    assert set(named(section(PAGE, OF_A_REQUEST))) == refused | given_up | late


def text_of(name: str) -> str:
    return (SOURCE / name).read_text(encoding="utf-8")
