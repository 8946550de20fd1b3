# SPDX-License-Identifier: Apache-2.0
"""Every code of a closed set has texts of its own in every language."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum
from functools import cache
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from chamberlain.auth.models import Actor, ActorType
from chamberlain.console import labels
from chamberlain.console.faults import TEXTS as FAULTS
from chamberlain.console.faults import UNKNOWN, fault_text
from chamberlain.console.fields import MEMBER_SHIP_TYPES, PERMISSION_LEVELS
from chamberlain.console.reasons import ERRORS, REASONS, error_text, reason_text
from chamberlain.console.refusals import REFUSALS, refusal_heading, refusal_text
from chamberlain.console.rendering import PAGES, environment
from chamberlain.console.texts import EVENTS, TEXTS, event_text
from chamberlain.console.words import LANGUAGES, Plural, load_catalogue
from chamberlain.core.errors import BodyInvalid, Conflict, Fault, NotPossible, Refusal
from chamberlain.core.ids import UserId
from chamberlain.core.reasons import SENTENCES, Cause, Reason, shown_reason
from chamberlain.core.sentences import Values, Word
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.mailboxes import MailboxType, PermissionLevel
from chamberlain.directory.models import NamedPerson
from chamberlain.directory.steps import Step
from chamberlain.http.problems import STATUSES
from chamberlain.mailboxes.wire import MAILBOX
from chamberlain.requests.models import (
    ApprovalMode,
    ApprovalRecord,
    ApprovalState,
    Decision,
    DecisionOutcome,
    RequestError,
    RequestKind,
    RequestState,
    StepState,
)
from chamberlain.requests.rules import Action, not_now
from chamberlain.templates.models import TemplateKind
from tests.console.times import AT
from tests.docs.codes import Phrased, first_arguments, phrased
from tests.docs.pages import ROOT

pytestmark = pytest.mark.pure

SOURCE = ROOT / "src" / "chamberlain"
# Their errors are not those of the service.
EMBEDDED = "embedded"
# A dry run lists a limit that is reached among its conflicts. Errors of a body have those of parameters beside them.
COPIED = {"quotaExceeded", "invalidParameter", "unknownParameter"}
# Rejections of reads, mails, adoptions and actions of policies.
OF_NO_REQUEST = {"addressRefused", "cursorUnknown", "filterNotSupported", "gone", "mailRefused", "notAGuest"}
EXAMPLES: Mapping[str, Word] = {
    "choices": ("red", "green"),
    "characters": ("<", ">"),
    "guests": ("Ada", "Ben"),
    "types": ("room", "shared"),
    "properties": ("capacity",),
    "kind": "room",
    "type": "room",
    "wanted": "team",
    "unit": "characters",
    **dict.fromkeys(
        ("min", "max", "actual", "count", "first", "position", "days", "times", "more", "level", "megabytes"), 7
    ),
}
ADA, BEN, CLEO = (NamedPerson(UserId(UUID(int=number)), name) for number, name in enumerate(("Ada", "Ben", "Cleo")))
each_language = pytest.mark.parametrize("language", sorted(LANGUAGES))


@cache
def fault_calls() -> tuple[Phrased, ...]:
    """All calls of the service that make faults."""
    return tuple(each for package in packages() for each in phrased(package) if each.is_fault)


def packages() -> Iterator[Path]:
    return (path for path in SOURCE.iterdir() if path.is_dir() and path.name != EMBEDDED)


def examples(names: frozenset[str]) -> Values:
    return {name: EXAMPLES.get(name, f"<{name}>") for name in names}


def is_written(language: str, text: str) -> bool:
    """Whether a text is not empty, and is no generic one."""
    return bool(text) and "%(" not in text and text != load_catalogue(language).gettext(UNKNOWN)


def test_it_works_for_every_code_of_a_fault() -> None:
    validation = "".join(path.read_text(encoding="utf-8") for path in (SOURCE / "core").glob("*.py"))
    found = {code for call in fault_calls() for code in call.codes} | set(re.findall(r'"code": "(\w+)"', validation))

    assert FAULTS.keys() == found | COPIED


@each_language
def test_every_fault_of_the_source_has_a_text(language: str) -> None:
    for call in fault_calls():
        for code in call.codes:
            for pointer in ("", "/name", "/templateId", "/userId"):
                text = fault_text(language, Fault(pointer, code, "", examples(call.values)))
                assert is_written(language, text), f"{call.file}:{call.line} {code}"


def test_every_kind_of_a_wrong_type_has_its_text() -> None:
    expected = ("true or false", "a string", "a whole number", "an array", "an object", "a string or true or false")
    faults = [Fault("/name", "wrongType", "", {"property": "name", "expected": each}) for each in expected]

    assert len({fault_text("de", each) for each in faults}) == 4


@pytest.mark.parametrize(
    ("capacity", "text"),
    [
        ("many", "Enter a whole number of at least 0."),
        (-1, "Enter a whole number of at least 0."),
        (2**31, "Enter a whole number from 0 to 2,147,483,647."),
    ],
)
def test_texts_of_numbers_have_the_bounds_that_help(capacity: object, text: str) -> None:
    with pytest.raises(BodyInvalid) as caught:
        MAILBOX.read(msgspec.json.encode({"name": "a", "displayName": "A", "capacity": capacity}))

    assert [fault_text("en", each) for each in caught.value.faults] == [text]


def test_texts_of_small_numbers_have_both_bounds() -> None:
    hints: Values = {"min": 1, "max": 999}
    faults = [
        Fault("/capacity", "wrongType", "", {"expected": "a whole number"}, hints),
        Fault("/capacity", "outOfBounds", "", {"min": 1}, hints),
        Fault("/capacity", "outOfBounds", "", {"max": 999}, hints),
    ]

    assert {fault_text("en", each) for each in faults} == {"Enter a whole number from 1 to 999."}


def test_hints_are_not_in_responses() -> None:
    with pytest.raises(BodyInvalid) as caught:
        MAILBOX.read(b'{"name": "a", "displayName": "A", "capacity": "many"}')

    (fault,) = caught.value.faults
    assert (dict(fault.hints), sorted(fault.values)) == (
        {"min": 0, "max": 2_147_483_647},
        ["actual", "expected", "property"],
    )


@each_language
def test_every_reason_has_a_text(language: str) -> None:
    assert REASONS.keys() == SENTENCES.keys()
    for code, sentence in SENTENCES.items():
        reason = shown_reason(None, Cause(code, examples(frozenset(re.findall(r"\{(\w+)\}", sentence)))))
        assert reason is not None
        assert is_written(language, reason_text(language, reason)), code
        # The words of a directory stay. Only an administrator can use those of a broken connection.
        is_broken = REASONS[code] == REASONS["connectionBroken"]
        assert "<problem>" in reason_text(language, reason) or "{problem}" not in sentence or is_broken, code


def test_a_reason_of_another_version_keeps_its_sentence() -> None:
    assert reason_text("de", Reason("Wait for it.", "ofTomorrow", {})) == "Wait for it."
    assert reason_text("de", Reason("Wait for it.")) == "Wait for it."


def test_every_error_of_a_request_has_a_text() -> None:
    directory = SOURCE / EMBEDDED / "directory"
    nouns = "".join(
        (directory / f"{noun}.py").read_text(encoding="utf-8") for noun in ("groups", "guests", "mailboxes")
    )
    found = set(re.findall(r'^ +"(\w+)": "(?:The|There|This) ', nouns, re.MULTILINE))
    found |= first_arguments(directory, {"Refused"}) | first_arguments(SOURCE, {"GiveUp", "Rejected"})
    # Checks that the directory did not answer at the submission.
    found |= {"notPossible", "teamLicenseRequired", "templateNotAllowed"}
    # Refusals of Microsoft 365 without a reason of their own.
    found |= {"refusedByDirectory"}

    assert ERRORS.keys() == found - OF_NO_REQUEST
    for code in ERRORS:
        error = RequestError(Step.CREATE_GROUP, code, "Internal.")
        assert "Internal" not in error_text("de", error), code


def test_the_error_of_a_request_has_its_faults() -> None:
    faults = tuple(Fault(f"/owners/{place}", "userUnknown", "", {"user": str(place)}) for place in range(3))
    error = RequestError(Step.CHECK_PEOPLE, "notPossible", "", faults)

    assert error_text("en", error).count(fault_text("en", faults[0])) == 1


@each_language
def test_every_refusal_has_a_heading_and_a_next_step(language: str) -> None:
    assert REFUSALS.keys() == STATUSES.keys()
    for code in REFUSALS:
        refusal = Refusal(code, "The internal sentence.")
        refusal.values = {"max": 30}
        texts = (refusal_heading(language, refusal), refusal_text(language, refusal))
        assert all(is_written(language, each) and "internal" not in each for each in texts), code


def test_a_refused_action_names_the_state() -> None:
    text = refusal_text("de", not_now(Action.APPROVE, RequestState.CANCELLED))

    assert labels.state_label("de", RequestState.CANCELLED) in text


def test_a_refusal_of_a_body_says_the_faults() -> None:
    fault = Fault("/name", "nameTaken", "", {"name": "Atrium"})

    texts = {refusal_text("en", each) for each in (NotPossible([fault]), BodyInvalid([fault]), Conflict.at(fault))}

    assert texts == {fault_text("en", fault)}


@pytest.mark.parametrize(
    ("table", "closed_set"),
    [
        (labels.STATES, RequestState),
        (labels.STEPS, Step),
        (labels.STEP_STATES, StepState),
        (labels.APPROVAL_STATES, ApprovalState),
        (EVENTS, RequestState),
    ],
)
def test_every_member_of_a_closed_set_has_a_label(table: Mapping[object, str], closed_set: type[Enum]) -> None:
    assert table.keys() == set(closed_set)


def test_every_kind_has_a_label() -> None:
    assert labels.KINDS.keys() == {*RequestKind, *TemplateKind, *MailboxType}


def test_every_option_of_a_closed_set_has_a_label() -> None:
    assert {each.value for each in MEMBER_SHIP_TYPES} == {str(int(each)) for each in MemberShipType}
    assert {each.value for each in PERMISSION_LEVELS} == set(PermissionLevel)


def test_every_text_of_a_table_is_translated() -> None:
    german = load_catalogue("de").messages
    tables = (REASONS, ERRORS, EVENTS, labels.STATES, labels.KINDS, labels.STEPS)

    texts = [text for table in tables for text in table.values()]
    texts += [text for explained in REFUSALS.values() for text in explained]
    assert [text for text in texts if (text.one if isinstance(text, Plural) else text) not in german] == []


@each_language
def test_entries_of_a_timeline_are_written(language: str) -> None:
    levels = [ApprovalRecord(1, mode, state, approvers=(ADA, BEN)) for mode in ApprovalMode for state in ApprovalState]

    texts = [event_text(language, each) for each in (*levels, *RequestState)]

    assert all(is_written(language, text) for text in texts)


def test_a_level_waits_for_those_who_have_not_decided() -> None:
    level = ApprovalRecord(1, ApprovalMode.ALL, ApprovalState.PENDING, approvers=(ADA, BEN))
    decided = replace(level, decisions=(decision(CLEO, on_behalf_of=ADA),))

    texts = [event_text("en", each) for each in (level, decided)]

    assert [[name in text for name in ("Ada", "Ben")] for text in texts] == [[True, True], [False, True]]


@each_language
def test_a_decision_of_a_substitute_names_both(language: str) -> None:
    texts = {outcome: event_text(language, decision(CLEO, outcome, on_behalf_of=ADA)) for outcome in DecisionOutcome}

    assert all("Cleo" in text and "Ada" in text for text in texts.values())
    assert len(set(texts.values())) == len(DecisionOutcome)


def decision(
    by: NamedPerson, outcome: DecisionOutcome = DecisionOutcome.APPROVED, *, on_behalf_of: NamedPerson | None = None
) -> Decision:
    return Decision(Actor(ActorType.USER, by.id, by.display_name), outcome, None, AT, on_behalf_of)


def test_templates_have_all_texts_as_filters() -> None:
    found = environment("de").from_string("{{ state|state_label }}, {{ number|write_number }}, {{ step|step_label }}")

    written = found.render(state=RequestState.SUCCEEDED, number=1000, step=Step.CREATE_GROUP)

    assert written == "Fertig, 1.000, Gruppe anlegen"


def test_templates_use_all_filters() -> None:
    used = {
        name for path in PAGES.glob("*.html") for name in re.findall(r"\|\s*(\w+)", path.read_text(encoding="utf-8"))
    }

    assert TEXTS.keys() - used == set()
