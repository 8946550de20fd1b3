# SPDX-License-Identifier: Apache-2.0
"""The page of mailboxes and the code say the same: properties, bounds, types, null, and every code."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cache
from http import HTTPStatus

import pytest
from msgspec import UNSET, inspect

from chamberlain.app.routes import ENDPOINTS
from chamberlain.core.errors import BodyInvalid
from chamberlain.core.validation import walk_types
from chamberlain.directory.mailboxes import MailboxType
from chamberlain.directory.models import unknown_people
from chamberlain.http.openapi import describe
from chamberlain.http.problems import STATUSES
from chamberlain.mailboxes.wire import MAILBOX, MailboxBody
from chamberlain.template_admin.documents import MAILBOX_TEMPLATE
from chamberlain.template_admin.models import kind_faults
from chamberlain.templates.mailbox_types import RESTRICTED, applicability_faults
from chamberlain.templates.rules import LOCAL_PART_LENGTH, default_faults, value_fault
from chamberlain.templates.schema import (
    MailboxTemplateBody,
    custom_field_faults,
    mailbox_domain_faults,
    mailbox_template_faults,
    naming_rule_faults,
)
from tests.docs.codes import codes_of_faults, codes_of_functions
from tests.docs.pages import REFERENCE, ROOT, named, rows, section
from tests.docs.schemas import Json, bound_of, properties, type_of
from tests.http.http_fixture import HttpFixture

PAGE = REFERENCE / "mailboxes.md"
SOURCE = ROOT / "src" / "chamberlain"
SENT, ADDED, TEMPLATES = "## Request body", "## Read-only properties", "## Templates"
HOW_TO = ("shared-mailbox", "equipment", "room", "mailbox-templates")
EQUIPMENT_TYPE = "metadata.equipmentType"
LEAST: Json = {"name": "a", "displayName": "A"}
LEAST_TEMPLATE: Json = {"kind": "room", "name": "A"}


@cache
def document() -> Json:
    """The OpenAPI document."""
    return describe(ENDPOINTS, HttpFixture().http())


def operations() -> Mapping[str, tuple[str, Json]]:
    """The operations on mailboxes and their templates by name, each with its path.

    Operations on webhooks are the same for templates of every kind. They are on the page of webhooks.
    """
    return {
        operation["operationId"]: (f"{method.upper()} {path}", operation)
        for path, methods in document()["paths"].items()
        if "/mail/v1/" in path and "/webhook/" not in path
        for method, operation in methods.items()
    }


def told(schema: str, *, without: Collection[str] = ()) -> dict[str, tuple[str, str]]:
    """Type and bound of each property of a schema."""
    found = {name: each for name, each in properties(document(), schema) if name.partition(".")[0] not in without}
    return {name: (type_of(document(), each), bound_of(document(), each)) for name, each in found.items()}


def nested(name: str, value: object) -> dict[str, object]:
    """An object with one property, which may lie in another one."""
    first, _, rest = name.partition(".")
    return {first: nested(rest, value)} if rest else {first: value}


def test_it_works_for_every_property_with_its_type_and_bound() -> None:
    documented = {named_in(row): (row[1], row[2]) for row in rows(section(PAGE, SENT))}
    # A key that the service itself knows has the values of all the others.
    values = "string or boolean", "up to 1024 characters"

    assert documented == {**told("MailboxBody"), EQUIPMENT_TYPE: values}
    assert told("MailboxBody")["metadata"][0].endswith(f" to {values[0]}")
    assert f"values {values[1]}," in told("MailboxBody")["metadata"][1]


def test_it_says_which_type_has_each_property() -> None:
    restricted = {each.name: each.type for each in RESTRICTED}

    for row in rows(section(PAGE, SENT)):
        name = named_in(row)
        only = restricted.get(name) or restricted.get(name.partition(".")[0])
        expected = ["yes" if only in (None, each) else "no" for each in MailboxType]
        assert row[3:6] == expected, name
        mark = f"A mark of {spoken(restricted[name])}." if name in restricted else None
        assert re.findall(r"A mark of [\w ]+\.", row[7]) == ([mark] if mark else []), name
    assert restricted.keys() <= {named_in(row) for row in rows(section(PAGE, SENT))}


def test_it_says_what_null_does() -> None:
    for row in rows(section(PAGE, SENT)):
        name = named_in(row)
        first, _, inner = name.partition(".")
        body = {**LEAST, **nested(name, None)}
        if row[6] == "refused":
            with pytest.raises(BodyInvalid):
                MAILBOX.read_value(body)
        else:
            without = {**LEAST, first: {}} if inner else {each: LEAST[each] for each in LEAST if each != name}
            assert row[6] == "not sent", name
            assert MAILBOX.read_value(body) == MAILBOX.read_value(without), name


def test_it_names_what_the_service_adds() -> None:
    added = {name: type_ for name, (type_, _) in told("AcceptedMailbox").items() if "." not in name}

    assert {named_in(row): row[1] for row in rows(section(PAGE, ADDED))} == {
        name: type_ for name, type_ in added.items() if name not in told("MailboxBody")
    }
    last = named(section(PAGE, ADDED))[-2:]
    assert set(last) == told("AcceptedMailbox").keys() - told("Mailbox").keys()


def test_it_names_the_filters_of_the_list() -> None:
    _, operation = operations()["listMailboxes"]
    queries = [each["name"] for each in operation["parameters"] if each.get("in") == "query"]

    assert named(section(PAGE, "## Filters of the list")) == queries


def test_it_names_every_property_of_a_template_with_its_type_and_bound() -> None:
    table = {named_in(row): row for row in rows(section(PAGE, TEMPLATES))}
    # Defaults are as properties of mailboxes are; a webhook is the same for templates of every kind.
    of_others = ("defaults", "webhook")
    expected = told("MailboxTemplateBody", without=of_others) | dict.fromkeys(of_others, ("object", ""))

    assert {name: (row[1], row[2]) for name, row in table.items()} == expected
    defaults, body = told("MailboxDefaultsShape"), told("MailboxBody")
    assert {name: body[name] for name in defaults} == defaults
    missing = {name for name in body.keys() - defaults.keys() if "." not in name}
    assert (
        missing == {"name", "displayName", "templateId", "alias"} <= set(re.findall(r"`(\w+)`", table["defaults"][4]))
    )


def test_it_says_which_properties_a_template_cannot_do_without() -> None:
    for row in rows(section(PAGE, TEMPLATES)):
        name = named_in(row)
        if "." not in name:
            body = {each: LEAST_TEMPLATE[each] for each in LEAST_TEMPLATE if each != name} | {name: None}
            assert is_refused(body) == (row[3] == "required"), name


def test_it_names_every_operation() -> None:
    table = rows(section(PAGE, "## Operations"))

    assert {named_in(row): row[1].strip("`") for row in table} == {
        name: where for name, (where, _) in operations().items()
    }


def test_it_names_every_code_on_top_and_who_gives_it() -> None:
    givers: dict[str, list[str]] = defaultdict(list)
    for name, (_, operation) in operations().items():
        for answer in operation["responses"].values():
            problem = answer.get("content", {}).get("application/problem+json", {"examples": {}})
            for code in problem["examples"]:
                givers[code].append(name)

    table = rows(section(PAGE, "## Codes of problem documents"))

    assert {named_in(row): (int(row[1]), givers_in(row[2])) for row in table} == {
        code: (STATUSES[code], set(names)) for code, names in givers.items()
    }


def test_it_names_every_code_in_errors_and_who_gives_it() -> None:
    of_form, not_possible = tables(section(PAGE, "## Codes in `errors`"))
    templates = SOURCE / "templates"
    asking = codes_of_faults(SOURCE / "mailboxes", templates / "mailbox_types.py", templates / "rules.py")
    asking -= {code for code, status in STATUSES.items() if status == HTTPStatus.CONFLICT}
    creating = codes_of_functions(
        mailbox_template_faults,
        mailbox_domain_faults,
        custom_field_faults,
        naming_rule_faults,
        applicability_faults,
        unknown_people,
        default_faults,
        value_fault,
    )
    replacing = creating | codes_of_functions(kind_faults)
    expected = {"createMailbox": asking, "createMailboxTemplate": creating, "replaceMailboxTemplate": replacing}

    assert {named_in(row) for row in of_form} == codes_of_form(MailboxBody) == codes_of_form(MailboxTemplateBody)
    assert {name: {named_in(row) for row in not_possible if name in givers_in(row[1])} for name in expected} == expected


def test_the_how_tos_show_every_code_in_errors() -> None:
    shown = "".join((ROOT / "docs" / "how-to" / f"{page}.md").read_text(encoding="utf-8") for page in HOW_TO)

    assert [code for code in named(section(PAGE, "## Codes in `errors`")) if f"`{code}`" not in shown] == []


def test_it_names_the_length_of_an_address() -> None:
    assert f"local part of more than {LOCAL_PART_LENGTH} characters" in PAGE.read_text(encoding="utf-8")


def codes_of_form(body: type) -> set[str]:
    """The codes of faults in a body of this type."""
    forms = list(walk_types(inspect.type_info(body)))
    codes = codes_of_faults(SOURCE / "core") - {"ruleInvalid"}
    extras = [form.extra for form in forms if isinstance(form, inspect.Metadata) and form.extra]
    codes |= {str(extra["code"]) for extra in extras if "code" in extra}
    fields = [field for form in forms if isinstance(form, inspect.StructType) for field in form.fields]
    # Only what may be left out and has no default refuses null.
    return codes if any(field.default is UNSET for field in fields) else codes - {"nullNotAllowed"}


def is_refused(body: Json) -> bool:
    try:
        MAILBOX_TEMPLATE.read_value(dict(body))
    except BodyInvalid:
        return True
    return False


def named_in(row: list[str]) -> str:
    """The name in the first cell of a row."""
    return row[0].strip("`")


def givers_in(cell: str) -> set[str]:
    return set(operations()) if cell == "all" else set(re.findall(r"`(\w+)`", cell))


def tables(text: str) -> list[list[list[str]]]:
    """Each table of a text."""
    return [found for part in text.split("\n\n") if (found := rows(part))]


def spoken(only: MailboxType) -> str:
    return {MailboxType.SHARED: "a shared mailbox", MailboxType.EQUIPMENT: "equipment", MailboxType.ROOM: "a room"}[
        only
    ]
